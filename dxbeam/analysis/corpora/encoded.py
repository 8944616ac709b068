"""What a sentence encoder tells of releases, as a Beam transform.

Documents come encoded. One worker then holds two vectors a document, and of documents that are to
be found again what stands between their words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import apache_beam as beam
import numpy as np
from apache_beam import pvalue
from threadpoolctl import threadpool_limits

from dxbeam.analysis.corpora.mauve import mauve
from dxbeam.analysis.corpora.texts import weights_of
from dxbeam.analysis.evaluate.document_scores import STUDENT, Score
from dxbeam.analysis.evaluate.text_features import ENCODED, GAPS, Described, Features
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
    """Compares texts by an encoder: PCollection[Described] -> two PCollections by tag.

    The main one is of tuple[int, Score], the one of ``ATTACKS`` of tuple[int, Attack], each with
    the number of the release.

    Args:
      reidentify: how many documents are to be found again; 0 for none.
    """

    def __init__(self, reidentify: int):
        super().__init__()
        self._reidentify = reidentify

    def expand(self, documents: pvalue.PCollection) -> Any:
        """Compares each release on one worker."""
        return (
            documents
            | "Pairs" >> beam.FlatMap(_pairs)
            | "EachRelease" >> beam.GroupByKey()
            | "Compare"
            >> beam.FlatMap(_compared, self._reidentify).with_outputs(ATTACKS, main="scores")
        )


def _pairs(document: Described) -> Iterator[tuple[int, EncodedPair]]:
    order, _, original, released = document
    before = _seen_by_encoder(original)
    for number, features in released.items():
        yield number, EncodedPair(order, before, _seen_by_encoder(features))


def _seen_by_encoder(features: Features) -> Features:
    return {kind: features[kind] for kind in (ENCODED, GAPS)}


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
