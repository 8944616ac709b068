"""How probable a causal language model that a user brings holds texts, as a Beam transform.

Perplexity is exp of the mean of -ln p over words: what the model's pieces of a text cost together,
divided by its words, so that models of other pieces can be compared. The model reads the text as it
is, with punctuation. It runs on every worker, and no text leaves; how it is read is in
hugging_face_judge.py, which needs PyTorch and transformers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

import apache_beam as beam
import numpy as np
from apache_beam import pvalue
from apache_beam.utils.shared import Shared

from dxbeam.analysis.attackers.models.neural import neural
from dxbeam.analysis.corpora.texts import bootstrapped, weights_of
from dxbeam.analysis.evaluate.document_scores import Score
from dxbeam.analysis.evaluate.transform import DocumentVersions, hash_of
from dxbeam.space.search.neighbors import Floats

_HUGGING_FACE = "dxbeam.analysis.corpora.hugging_face_judge"


class Judge(Protocol):
    """A language model of texts."""

    def losses(self, texts: Sequence[str]) -> Floats:
        """-ln p of each text, float64 [B]; 0 for a text without pieces."""
        ...


def open_judge(path: str) -> Judge:
    """Opens the causal language model in a directory, as ``open_encoder`` opens an encoder."""
    judge: Judge = neural(_HUGGING_FACE, "`perplexity_model`").opened(path)
    return judge


def check_judge(path: str) -> None:
    """Raises a ConfigurationError where the directory holds no causal model."""
    neural(_HUGGING_FACE, "`perplexity_model`").check(path)


class JudgedPair(NamedTuple):
    """A document before and after: a hash of its id, and -ln p and the number of words of each."""

    order: int
    original: tuple[float, int]
    released: tuple[float, int]


class JudgeTexts(beam.PTransform):
    """Perplexities: PCollection[DocumentVersions] -> PCollection[tuple[int, Score]].

    The number is that of the release.

    Args:
      model: the directory.
    """

    def __init__(self, model: str):
        super().__init__()
        self._judge = _Judge(model)

    def expand(self, documents: pvalue.PCollection) -> pvalue.PCollection:
        """Judges everywhere, and adds up each release on one worker."""
        return (
            documents
            | "Judge" >> beam.ParDo(self._judge)
            | "EachRelease" >> beam.GroupByKey()
            | "Perplexities" >> beam.FlatMap(_perplexities)
        )


class _Judge(beam.DoFn):
    def __init__(self, model: str):
        self._path, self._shared = model, Shared()

    def setup(self) -> None:
        self._judge = self._shared.acquire(lambda: open_judge(self._path), tag=self._path)

    def process(self, document: DocumentVersions) -> Iterator[tuple[int, JudgedPair]]:
        texts = [document.original, *(each.text for each in document.released.values())]
        sizes = [len(document.words), *(len(each.words) for each in document.released.values())]
        losses = self._judge.losses(texts).tolist()
        original, *others = zip(losses, sizes, strict=True)
        for number, released in zip(document.released, others, strict=True):
            yield number, JudgedPair(hash_of(document.id), original, released)


def _perplexities(numbered: tuple[int, Iterable[JudgedPair]]) -> Iterator[tuple[int, Score]]:
    number, every = numbered
    pairs = sorted(JudgedPair(*pair) for pair in every)
    weights = weights_of([pair.order for pair in pairs])
    for metric, sides in (
        ("model_perplexity", [pair.released for pair in pairs]),
        ("model_perplexity_original", [pair.original for pair in pairs]),
    ):
        losses, words = np.array(sides, np.float64).T
        if words.sum():

            def score(counted: Floats, losses: Floats = losses, words: Floats = words) -> Floats:
                return np.asarray(np.exp(counted @ losses / np.maximum(counted @ words, 1)))

            yield number, bootstrapped(metric, weights, score, least=0.0)
