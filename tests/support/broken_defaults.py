"""Copies with one mistake each that shows only in what users get by default, not in small cases."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dxbeam.guarantees import Guarantee
from dxbeam.mechanisms.cluster_response import ClusterResponse
from dxbeam.mechanisms.custext import CusText
from dxbeam.mechanisms.public.importance import WordWeights
from dxbeam.mechanisms.sampling.clipping import clipped
from dxbeam.mechanisms.trlaplace import TrLaplace
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.text.bag_of_words import BagOfWords
from dxbeam.text.sanitizer import Sanitizer

Ids = Any


class NumbersComeBack(Sanitizer):
    """Random numbers are used again after 70,000 words."""

    def release(self, keys: Iterable[tuple[bytes, int, int]], ids: Ids) -> Ids:
        return super().release([(key, first % 70_000, count) for key, first, count in keys], ids)


class LargestLevelForAll(Sanitizer):
    """Whatever a document's level is, its words are drawn with the largest epsilon."""

    def at_level(self, level: str) -> Sanitizer | None:
        levels = self.configuration.epsilon_by
        known = levels is None or levels.epsilon_of(level) is not None
        return super().at_level(levels.epsilons[0][0] if known and levels else level)


class NoLevelIsALevel(Sanitizer):
    """A document without a level is released with the smallest epsilon."""

    def at_level(self, level: str) -> Sanitizer | None:
        levels = self.configuration.epsilon_by
        return super().at_level(level) or super().at_level(levels.epsilons[-1][0] if levels else "")


@dataclass(frozen=True)
class TablesOfTheFirstEpsilon(CusText):
    """Tables are kept for one epsilon and taken for every other."""

    def release(self, ids: Ids, random: Any, search: NeighborSearch) -> Ids:
        return CusText.release(search.computed_once("first", lambda _: self), ids, random, search)


class UnnamedWeights(WordWeights):
    """Are recorded without the digest of their words."""

    def as_dict(self) -> dict[str, Any]:
        return {**super().as_dict(), "sha256": ""}


@dataclass(frozen=True)
class FewOthers(ClusterResponse):
    """Of a cluster no more than eight words come out."""

    def release(self, ids: Ids, random: Any, search: NeighborSearch) -> Ids:
        released, again = (
            super(FewOthers, self).release(ids, r, search) for r in (random, ~random)
        )
        return np.where(released % 20 < 8, released, again)


@dataclass(frozen=True)
class UnclippedInManyDimensions(TrLaplace):
    """Vectors are clipped below 100 dimensions."""

    def release(self, ids: Ids, random: Any, search: NeighborSearch) -> Ids:
        start = search.vocabulary.vectors_of(ids)
        if search.vocabulary.dimensions < 100:
            start = clipped(start, self.clip)
        return search.nearest(start + self.noise(random, search))


@dataclass(frozen=True)
class DeltaOfOneWord(BagOfWords):
    """A bag's delta is that of a word."""

    def guarantee(self, word: Guarantee, removed: str = "stop words") -> Guarantee:
        return dataclasses.replace(super().guarantee(word, removed), delta=word.delta)


SANITIZERS: dict[str, tuple[type[Sanitizer], str]] = {
    "numbers come back after 70,000 words": (NumbersComeBack, "long_text"),
    "the largest level for all": (LargestLevelForAll, "levels"),
    "no level is a level": (NoLevelIsALevel, "levels"),
}

MECHANISMS: dict[str, tuple[Any, str]] = {
    "custext: tables of the first epsilon": (TablesOfTheFirstEpsilon(3.0, 2), "levels"),
    "cluster_response: few others": (FewOthers(3.0, 2), "usual_clusters"),
    "trlaplace: unclipped in many dimensions": (UnclippedInManyDimensions(10.0), "clipping"),
}
