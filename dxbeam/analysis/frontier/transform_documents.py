"""Measures what settings leave of documents, as Beam transforms: one task as for the frontier.

It is a file next to transform.py because it needs scikit-learn, and is loaded only where
documents are asked for.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import apache_beam as beam
import numpy as np
from apache_beam import pvalue

from dxbeam.analysis.frontier.document_utility import (
    DocumentUtility,
    Labelled,
    document_utility,
    task_baseline,
)
from dxbeam.analysis.frontier.plan import SETTINGS, Task
from dxbeam.analysis.frontier.read_texts import release_texts
from dxbeam.analysis.measure.transform import Searching, SharedSearch, spread
from dxbeam.mechanisms.sampling.resampling import RankResampling
from dxbeam.space.search.neighbors import Ids
from dxbeam.transforms.progress import Progress

__all__ = ["MeasureDocuments", "task_baseline"]

_WORDS_AT_ONCE = 2_500

_DOCUMENTS = 2  # apart in the seed from the words that are attacked and the pairs that are learnt


class MeasureDocuments(beam.PTransform):
    """Releases documents: PCollection[Task] -> PCollection[tuple[tuple, DocumentUtility]].

    An element for each task without rank resampling and with each c, under (task's number, c).

    Args:
      documents: PCollection of one: a list of ``Labelled``, in any order.
      search: of the vocabulary.
      seed: of the noise.
    """

    def __init__(self, documents: pvalue.PCollection, search: SharedSearch, seed: int):
        super().__init__()
        self._documents = documents
        self._measure = _MeasureDocuments(search, seed)

    def expand(self, tasks: pvalue.PCollection) -> pvalue.PCollection:
        """Spreads tasks over workers."""
        documents = pvalue.AsSingleton(self._documents)
        return spread(tasks, SETTINGS) | "Release" >> beam.ParDo(self._measure, documents)


class _MeasureDocuments(Searching):
    def __init__(self, search: SharedSearch, seed: int):
        super().__init__(search)
        self._seed = seed

    def setup(self) -> None:
        super().setup()
        self._progress = Progress()

    def process(
        self, task: Task, documents: Sequence[Labelled]
    ) -> Iterator[tuple[tuple[int, float | None], DocumentUtility]]:
        with self._progress.counted(SETTINGS):
            documents = sorted(documents, key=lambda document: document.order)
            ids = np.concatenate([np.array(document.ids, np.int64) for document in documents])
            mechanism, cs = task.setting.make(), (None, *task.setting.rank_cs)
            n = self._search.vocabulary.dimensions
            draws, further = mechanism.draws(n), RankResampling(1.0).draws()
            generator = np.random.default_rng((self._seed, _DOCUMENTS, task.part))
            released: dict[float | None, list[Any]] = {c: [] for c in cs}
            if task.setting.reading:
                words = self._read(task, documents, generator)
                yield (task.part, None), document_utility(documents, words, self._search.vocabulary)
                return
            for start in range(0, len(ids), _WORDS_AT_ONCE):
                part = ids[start : start + _WORDS_AT_ONCE]
                shape = (len(part), draws + further)
                random = generator.integers(0, 2**64, shape, dtype=np.uint64)
                chosen = mechanism.release(part, random[:, :draws], self._search)
                for c in cs:
                    resampled = c and RankResampling(c).resample(
                        chosen, random[:, draws:], mechanism.epsilon, self._search
                    )
                    released[c].append(chosen if resampled is None else resampled)
            for c in cs:
                words = np.concatenate(released[c])
                yield (
                    (task.part, c),
                    document_utility(documents, words, self._search.vocabulary),
                )

    def _read(
        self, task: Task, documents: Sequence[Labelled], generator: np.random.Generator
    ) -> Ids:
        """What a setting releases that reads texts, some texts at a time."""
        draws = task.setting.make().draws(self._search.vocabulary.dimensions)
        ends = np.cumsum([len(document.ids) for document in documents])
        released = []
        for _, some in itertools.groupby(
            zip(documents, ends.tolist(), strict=True), lambda pair: pair[1] // _WORDS_AT_ONCE
        ):
            texts = [np.array(document.ids, np.int64) for document, _ in some]
            ids = np.concatenate(texts)
            random = generator.integers(0, 2**64, (len(ids), draws), dtype=np.uint64)
            sizes = [len(text) for text in texts]
            drawn = release_texts(task.setting, ids, sizes, random, self._search)
            released.append(drawn.released)
        return np.concatenate(released)
