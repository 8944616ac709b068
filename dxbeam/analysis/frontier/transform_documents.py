"""Measures what settings leave of documents, as Beam transforms: one task as for the frontier.

It is a file next to transform.py because it needs scikit-learn, and is loaded only where
documents are asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import apache_beam as beam
import numpy as np
from apache_beam import pvalue

from dxbeam.analysis.frontier.document_utility import (
    DocumentUtility,
    document_utility,
    task_baseline,
)
from dxbeam.analysis.frontier.plan import SETTINGS, Task
from dxbeam.analysis.frontier.texts_with_models import release
from dxbeam.analysis.measure.transform import Seeded, SharedSearch, spread
from dxbeam.mechanisms.sampling.resampling import RankResampling
from dxbeam.transforms.reading.labelled_documents import LabelledDocument

__all__ = ["MeasureDocuments", "task_baseline"]

_DOCUMENTS = 2  # apart in the seed from the words that are attacked and the pairs that are learnt


class MeasureDocuments(beam.PTransform):
    """Releases documents: PCollection[Task] -> PCollection[tuple[tuple, DocumentUtility]].

    An element for each task without rank resampling and with each c, under (task's number, c).

    Args:
      documents: PCollection of one: a list of ``LabelledDocument``, in any order.
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


class _MeasureDocuments(Seeded):
    def process(
        self, task: Task, documents: Sequence[LabelledDocument]
    ) -> Iterator[tuple[tuple[int, float | None], DocumentUtility]]:
        with self._progress.counted(SETTINGS):
            documents = sorted(documents, key=lambda document: document.order)
            texts = [np.array(document.ids, np.int64) for document in documents]
            columns = task.setting.make().draws(self._search.vocabulary.dimensions)
            columns += 0 if task.setting.reading else RankResampling(1.0).draws()
            for c in (None, *task.setting.rank_cs):
                numbers = self._numbers(_DOCUMENTS, task.part)  # the same for every c
                drawn = release(
                    task.setting,
                    c,
                    texts,
                    lambda rows, numbers=numbers: numbers(rows, columns),  # type: ignore[misc]
                    self._search,
                )
                utility = document_utility(documents, drawn.released, self._search.vocabulary)
                yield (task.part, c), utility
