"""What a sentence encoder tells of releases, as a Beam transform.

Every worker encodes the documents that it has. One worker then holds two vectors a document, and
of documents that are to be found again what stands between their words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import apache_beam as beam
import numpy as np
from apache_beam import pvalue
from apache_beam.utils.shared import Shared
from threadpoolctl import threadpool_limits

from dxbeam.analysis.corpora.encoder import open_encoder
from dxbeam.analysis.corpora.mauve import mauve
from dxbeam.analysis.corpora.texts import weights_of
from dxbeam.analysis.evaluate.document_scores import STUDENT, Score
from dxbeam.analysis.evaluate.text_features import ENCODED, GAPS, FeatureMaker, Features
from dxbeam.analysis.evaluate.transform import DocumentVersions, hash_of
from dxbeam.analysis.exposure.linking import ATTACKERS, linked
from dxbeam.analysis.theory.intervals import independent_mean_interval
from dxbeam.space.search.distance_rows import Singles
from dxbeam.space.search.neighbors import Floats

ATTACKS = "attacks"
"""The tag of what attackers get."""


class EncodedPair(NamedTuple):
    """A document before and after.

    Attributes:
      order: a hash of its id.
      original: the features that a sentence encoder sees, and gaps; and
      released: likewise.
    """

    order: int
    original: Features
    released: Features


class CompareEncoded(beam.PTransform):
    """Compares texts by an encoder: PCollection[DocumentVersions] -> two PCollections by tag.

    The main one is of tuple[int, Score], the one of ``ATTACKS`` of tuple[int, Attack], each with
    the number of the release.

    Args:
      encoder: the directory.
      reidentify: how many documents are to be found again; 0 for none.
    """

    def __init__(self, encoder: str, reidentify: int):
        super().__init__()
        self._encode, self._reidentify = _Encode(encoder), reidentify

    def expand(self, documents: pvalue.PCollection) -> Any:
        """Encodes everywhere, and compares each release on one worker."""
        return (
            documents
            | "Encode" >> beam.ParDo(self._encode)
            | "EachRelease" >> beam.GroupByKey()
            | "Compare"
            >> beam.FlatMap(_compared, self._reidentify).with_outputs(ATTACKS, main="scores")
        )


class _Encode(beam.DoFn):
    def __init__(self, encoder: str):
        self._path, self._shared = encoder, Shared()

    def setup(self) -> None:
        self._encoder = self._shared.acquire(lambda: open_encoder(self._path), tag=self._path)
        self._gaps = FeatureMaker([GAPS], None, ())

    def process(self, document: DocumentVersions) -> Iterator[tuple[int, EncodedPair]]:
        versions = [(document.original, document.words)]
        versions += [(released.text, released.words) for released in document.released.values()]
        vectors = self._encoder.encode([text for text, _ in versions])
        original, *others = (
            {ENCODED: vector, **self._gaps.features(text, words)}
            for vector, (text, words) in zip(vectors, versions, strict=True)
        )
        for number, released in zip(document.released, others, strict=True):
            yield number, EncodedPair(hash_of(document.id), original, released)


def _compared(numbered: tuple[int, Iterable[EncodedPair]], reidentify: int) -> Iterator[Any]:
    number, every = numbered
    pairs = sorted((EncodedPair(*pair) for pair in every), key=lambda pair: pair.order)
    originals, released = (
        np.stack([np.asarray(side[ENCODED], np.float32) for side in sides])
        for sides in ([pair.original for pair in pairs], [pair.released for pair in pairs])
    )
    for score in similarities(originals, released):
        yield number, score
    with threadpool_limits(1):  # more would wait for other workers
        for score in mauve(originals, released, weights_of([pair.order for pair in pairs])):
            yield number, score
        some = pairs[:reidentify]
        knows = f"the {len(some):,} originals"
        before, after = [pair.original for pair in some], [pair.released for pair in some]
        for attack in linked(before, after, knows) if len(some) > 1 else ():
            if attack.attacker == ATTACKERS[ENCODED]:
                yield pvalue.TaggedOutput(ATTACKS, (number, attack))


def similarities(originals: Singles, released: Singles) -> Iterator[Score]:
    """The cosine of releases with their originals, and with those of other documents.

    Args:
      originals: float32 [D, n], documents in random order; and
      released: likewise.
    """
    yield _mean("encoder_similarity", _cosines(originals, released))
    if len(originals) > 1:
        strangers = np.roll(originals, 1, axis=0)
        yield _mean("encoder_similarity_strangers", _cosines(strangers, released))


def _cosines(one: Singles, other: Singles) -> Floats:
    lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    products = (one * other).sum(axis=1)
    cosines = np.divide(products, lengths, out=np.zeros(len(one), np.float32), where=lengths > 0)
    return np.asarray(cosines, np.float64)


def _mean(metric: str, values: Floats) -> Score:
    mean = float(values.mean())
    if len(values) < 2:
        return Score(metric, mean, None, None, len(values), STUDENT)
    low, high = independent_mean_interval(mean, float(values.std(ddof=1)), len(values))
    return Score(metric, mean, max(-1.0, low), min(1.0, high), len(values), STUDENT)
