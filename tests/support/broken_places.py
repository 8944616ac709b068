"""Mechanisms over public clusters and orders with one mistake each: targets of the audit.

Each keeps the name and the claim of the mechanism it was.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from dxbeam.guarantees import Guarantee
from dxbeam.mechanisms.cluster_response import ClusterResponse
from dxbeam.mechanisms.custext import CusText
from dxbeam.mechanisms.diffractor import Diffractor
from dxbeam.mechanisms.diffractor_tem import LINE, DiffractorTEM
from dxbeam.mechanisms.published.custext_published import CusTextPublished
from dxbeam.mechanisms.published.tem_published import TEMPublished
from dxbeam.mechanisms.sampling.cluster_choice import partition_of
from dxbeam.mechanisms.sampling.noise import uniform
from dxbeam.mechanisms.sampling.order_choice import orders_of
from dxbeam.mechanisms.tem import TEM
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.space.vocabulary.words import UNKNOWN

Floats = Any
Ids = Any


@dataclass(frozen=True)
class CusTextOfItsOwnNeighbours(CusText):
    """Draws from the word's own nearest words, as published code does."""

    def draws(self, dimensions: int) -> int:
        return CusTextPublished(self.epsilon).draws(dimensions)

    def release(self, ids: Ids, random: Any, search: NeighborSearch) -> Ids:
        return CusTextPublished(self.epsilon, self.cluster_size).release(ids, random, search)


@dataclass(frozen=True)
class CusTextTooSteep(CusText):
    """Takes the width of a cluster a fifth too small, after its scale was found."""

    def counts(self, apart: Floats) -> Ids:
        return CusText(self.epsilon * 1.2, self.cluster_size).counts(apart)


@dataclass(frozen=True)
class CusTextOfUnknownWords(CusText):
    """Has the first cluster for all words outside the vocabulary."""

    def release(self, ids: Ids, random: Any, search: NeighborSearch) -> Ids:
        return super().release(np.where(ids == UNKNOWN, 0, ids), random, search)


@dataclass(frozen=True)
class ResponseThatMayStay(ClusterResponse):
    """Where the word is not kept, draws from all words of the cluster, itself among them."""

    def release(self, ids: Ids, random: Any, search: NeighborSearch) -> Ids:
        parts, kept = partition_of(search, self.cluster_size), search.stand_ins(ids)
        sizes = parts.size[parts.number[kept]]
        stays = uniform(random[:, 0]) * (np.exp(self.epsilon) + sizes - 1) <= np.exp(self.epsilon)
        again = uniform(random[:, 0] * np.uint64(0x9E3779B97F4A7C15)) * sizes
        place = np.minimum(again.astype(np.int64), sizes - 1)
        chosen = parts.members[parts.start[parts.number[kept]] + place]
        return np.where(stays, kept, chosen)


@dataclass(frozen=True)
class ResponseFromTheNextCluster(ClusterResponse):
    """Answers of one in fifty come from another cluster."""

    def release(self, ids: Ids, random: Any, search: NeighborSearch) -> Ids:
        released = super().release(ids, random, search)
        other = (released + len(search.vocabulary) // 2) % len(search.vocabulary)
        return np.where(random[:, 0] % np.uint64(50) == 0, other, released)


@dataclass(frozen=True)
class DiffractorThatTurnsBack(Diffractor):
    """Turns back at the ends of the order, where it should stop."""

    def release(self, ids: Ids, random: Any, search: NeighborSearch) -> Ids:
        order = orders_of(search, 1)
        places = order.places[0, search.stand_ins(ids)].astype(np.int64)
        share, last = np.exp(-self.epsilon), len(search.vocabulary) - 1
        beyond = uniform(random[:, 0] >> np.uint64(1), bits=63) * (1 + share) / 2
        steps = np.floor(-np.log(beyond) / self.epsilon).astype(np.int64)
        places += np.where(random[:, 1] % np.uint64(2) == 0, steps, -steps)
        places = np.abs(places)
        return order.words[0, np.clip(2 * last - places, 0, np.minimum(places, last))].astype(int)


@dataclass(frozen=True)
class DiffractorOfAnotherEpsilon(Diffractor):
    """Steps that are a tenth too short."""

    def release(self, ids: Ids, random: Any, search: NeighborSearch) -> Ids:
        return Diffractor(self.epsilon * 1.1, self.orders).release(ids, random, search)


@dataclass(frozen=True)
class DiffractorThatChoosesTheOrder(Diffractor):
    """Takes the order by the word, and not by a separate number."""

    def release(self, ids: Ids, random: Any, search: NeighborSearch) -> Ids:
        order = np.where(ids % 2 == 0, np.uint64(0), np.uint64(2**63))
        chosen = random.copy()
        chosen[:, -2] = order
        return super().release(ids, chosen, search)


@dataclass(frozen=True)
class LineAtTheFullEpsilon(DiffractorTEM):
    """exp(-epsilon steps) on a line, whose words have not the same sum of weights."""

    def release(self, ids: Ids, random: Any, search: NeighborSearch) -> Ids:
        return DiffractorTEM(2 * self.epsilon, self.gamma, LINE).release(ids, random, search)


@dataclass(frozen=True)
class RingOfSmallerReach(DiffractorTEM):
    """Words are alike from one step less on."""

    def release(self, ids: Ids, random: Any, search: NeighborSearch) -> Ids:
        return DiffractorTEM(self.epsilon, self.gamma - 1).release(ids, random, search)


@dataclass(frozen=True)
class TEMThatReturnsTheOriginal(TEM):
    """Where a far word is drawn, an error returns the original."""

    def release(self, ids: Ids, random: Any, search: NeighborSearch) -> Ids:
        return TEMPublished(self.epsilon, self.beta).release(ids, random, search)


@dataclass(frozen=True)
class StepsAsDistance(Diffractor):
    """Says of Euclidean distance what holds of steps."""

    def guarantee(self) -> Guarantee:
        return dataclasses.replace(super().guarantee(), euclidean_epsilon=self.epsilon)


@dataclass(frozen=True)
class CapOfOneCluster(CusText):
    """Says of any two words what holds within a cluster."""

    def guarantee(self) -> Guarantee:
        return dataclasses.replace(super().guarantee(), euclidean_epsilon=1e3 * self.epsilon)


MECHANISMS: dict[str, Any] = {
    "custext: its own neighbours": CusTextOfItsOwnNeighbours(3.0, 2),
    "custext: too steep": CusTextTooSteep(3.0, 2),
    "custext: unknown words in the first cluster": CusTextOfUnknownWords(3.0, 2),
    "cluster_response: may stay twice": ResponseThatMayStay(1.0, 4),
    "cluster_response: words of another cluster": ResponseFromTheNextCluster(3.0, 2),
    "diffractor: turned back at the ends": DiffractorThatTurnsBack(0.5),
    "diffractor: a tenth less noise": DiffractorOfAnotherEpsilon(1.0),
    "diffractor: an order chosen by the word": DiffractorThatChoosesTheOrder(1.0, 2),
    "diffractor_tem: the full epsilon on a line": LineAtTheFullEpsilon(1.0, 3, LINE),
    "diffractor_tem: a smaller reach": RingOfSmallerReach(1.0, 2),
    "tem: the original for far words": TEMThatReturnsTheOriginal(10.0, 0.2),
    "diffractor: steps promised as distance": StepsAsDistance(1.5),
    "custext: promised between clusters": CapOfOneCluster(1.5, 2),
}
