"""A word of a public cluster, drawn with a probability that falls with its distance.

Chen, Mo, Wang, Chen, Nie, Wang, Cui: A customized text sanitization mechanism with differential
privacy (2023), CusText, over clusters that are a partition of the vocabulary: P(y | x) is
proportional to exp(-t epsilon d(x, y) / (2 D)) for the words y of x's cluster, D being the largest
distance within it. The paper has t = 1, which leaves about half of epsilon unused; here t is, in
each cluster, as large as the bound allows.

Proof. The words of one cluster have the same words to become, and t is such that the largest ratio
of two of their probabilities, over all words of the cluster, is e^epsilon and not above it: that is
tested on the counts of 2^62 numbers which are drawn from. (Where every word has neighbours of its
own to become, as in published code, words differ in what they can become, and nothing holds:
custext_published.py.)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from dxbeam.mechanisms.channels.cluster_channel import ClusterChannel
from dxbeam.mechanisms.channels.word_channel import WordChannel
from dxbeam.mechanisms.parameters import checked_choice, choice
from dxbeam.mechanisms.sampling.cluster_choice import (
    NUMBERS,
    ClusterChoice,
    drawn_number,
    partition_of,
)
from dxbeam.randomness import Random
from dxbeam.space.search.neighbors import Floats, Ids, NeighborSearch
from dxbeam.space.vocabulary.clusters import Partition
from dxbeam.space.vocabulary.words import Vocabulary, distances

CALIBRATED, PUBLISHED = SCALES = ("calibrated", "published")

_LOG_ROUNDING = 2.0**-44  # above that of two logarithms of numbers up to 2^62, and their difference
_DOUBLINGS, _HALVINGS = 40, 32
_KEPT = 2  # mechanisms whose tables are kept: a run has one, a comparison one after the other
_NUMBERS_AT_ONCE = 1 << 19


class Tables(NamedTuple):
    """What every word becomes, as counts of NUMBERS.

    Attributes:
      ends: int64 [k], for each word the running sums of the counts of its cluster's words.
      start: int64 [N], where each word's begin.
    """

    ends: Ids
    start: Ids


@dataclass(frozen=True)
class CusText(ClusterChoice):
    """Word to word of its cluster, by distances; ``ClusterChoice`` says what else it takes.

    Attributes:
      scale: calibrated, where probabilities fall as fast as epsilon allows in each cluster; or
        published, t = 1 as in the paper, where they fall half as fast or so.
    """

    scale: str = choice(*SCALES, default=CALIBRATED)
    name: ClassVar[str] = "custext"
    citation = "Chen et al. 2023, theorem 1; proof in dxbeam/mechanisms/custext.py"

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_choice("scale", self.scale, SCALES, "how fast probabilities fall with distance")

    def release(self, ids: Ids, random: Random, search: NeighborSearch) -> Ids:
        """A word of its cluster for each word: int64 [B] -> int64 [B]."""
        parts, tables = partition_of(search, self.cluster_size), self._kept_tables(search)
        ids = search.stand_ins(ids)
        clusters = parts.number[ids]
        number, start = drawn_number(random[:, 0]), tables.start[ids]
        place, step = np.zeros(len(ids), np.int64), 1 << (2 * self.cluster_size).bit_length()
        while step := step // 2:  # how many ends are not above the number
            middle = np.minimum(place + step, parts.size[clusters])
            place = np.where(tables.ends[start + middle - 1] <= number, middle, place)
        return np.asarray(parts.members[parts.start[clusters] + place])

    def _kept_tables(self, search: NeighborSearch) -> Tables:
        kept = search.computed_once("custext tables", lambda _: lru_cache(_KEPT)(_tables))
        return kept(self, search)

    def channel(self, search: NeighborSearch) -> WordChannel:
        """The counts that are drawn from, within a cluster."""
        parts, tables = partition_of(search, self.cluster_size), self._kept_tables(search)

        def shares(drawn: Ids, originals: Ids) -> Floats:
            place = parts.place[drawn]
            last = tables.start[originals] + place
            before = np.where(place > 0, tables.ends[np.maximum(last - 1, 0)], 0)
            return np.asarray((tables.ends[last] - before).astype(np.float64) / NUMBERS)

        return ClusterChannel(parts, shares, search)

    def counts(self, apart: Floats) -> Ids:
        """What the words of clusters become, by their distances, float64 [C, m, m].

        int64 [C, m, m], for each word of a cluster the counts of NUMBERS of all of them.
        """
        most = 1.0 if self.scale == PUBLISHED else np.inf
        widest = apart.max(axis=(1, 2))
        widest[widest == 0] = 1.0  # equal vectors: the words of the cluster are drawn alike
        shares = apart * (self.epsilon / 2 / widest)[:, None, None]
        low, high = np.zeros(len(apart)), np.ones(len(apart))
        for _ in range(_DOUBLINGS):
            below = self._kept(shares, high)
            low[below] = high[below]
            if not (below & (high < most)).any():
                break
            high[below & (high < most)] *= 2
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            below = self._kept(shares, middle)
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return _counts(shares, low)

    def _kept(self, shares: Floats, scale: Floats) -> npt.NDArray[np.bool_]:
        """Whether each cluster's largest log ratio is at most epsilon at such a scale, [C]."""
        logs = np.log(_counts(shares, scale).astype(np.float64))
        largest = (logs.max(axis=1) - logs.min(axis=1)).max(axis=1)
        return np.asarray(largest <= self.epsilon - _LOG_ROUNDING)


def _tables(mechanism: CusText, search: NeighborSearch) -> Tables:
    parts = partition_of(search, mechanism.cluster_size)
    ends: list[Ids] = []
    for members in _of_one_size(parts):
        apart = _distances_within(search.vocabulary, members)
        ends.append(np.cumsum(mechanism.counts(apart), axis=2).ravel())
    lengths = parts.size[parts.number[parts.members]]
    start = np.empty(len(lengths), np.int64)
    start[parts.members] = np.cumsum(lengths) - lengths
    return Tables(np.concatenate(ends), start)


def _of_one_size(parts: Partition) -> list[Ids]:
    """The members of clusters in order, int64 [C, m] each; all have K words but for the last."""
    size, last = int(parts.size[0]), int(parts.size[-1])
    first = parts.members[: len(parts.members) - last].reshape(-1, size)
    rows = max(1, _NUMBERS_AT_ONCE // size**2)
    blocks = [first[start : start + rows] for start in range(0, len(first), rows)]
    return [*blocks, parts.members[len(parts.members) - last :].reshape(1, last)]


def _distances_within(vocabulary: Vocabulary, members: Ids) -> Floats:
    """Distances between the words of clusters: int64 [C, m] -> float64 [C, m, m]."""
    apart = np.empty((*members.shape, members.shape[1]))
    for row, words in enumerate(members):
        vectors = vocabulary.vectors[words]
        for place, vector in enumerate(vectors):
            apart[row, place] = distances(vectors, vector)
    return apart


def _counts(shares: Floats, scale: Floats) -> Ids:
    """exp(-scale * shares) in each row, as counts of NUMBERS, none of which is 0."""
    weights = np.exp(-scale[:, None, None] * shares)
    weights *= NUMBERS / weights.sum(axis=2, keepdims=True)
    counts = np.maximum(weights, 1.0).astype(np.int64)
    places = np.arange(counts.shape[1])
    counts[:, places, places] += NUMBERS - counts.sum(axis=2)
    return counts
