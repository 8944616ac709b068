"""Randomised response within a public cluster of words that are close together.

Warner: Randomized response (1965), for k answers as in Kairouz, Oh, Viswanath: Extremal mechanisms
for local differential privacy (2014), section 4.1. With m words in its cluster, a word is released
as itself with probability e^epsilon / (e^epsilon + m - 1), and else as one of the others.

Proof. For two words of one cluster every probability is one of two, whose ratio is e^epsilon. The
two are counts of 2^62 numbers: 2^62 / (e^epsilon + m - 1), rounded up, for each of the others, and
what is left for the word itself, so the ratio of the counts is at most e^epsilon.

Distances within a cluster are nearly alike in hundreds of dimensions, so what weighs the words by
them (custext.py) keeps fewer words at the same epsilon.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dxbeam.mechanisms.channels.cluster_channel import ClusterChannel
from dxbeam.mechanisms.channels.word_channel import WordChannel
from dxbeam.mechanisms.sampling.cluster_choice import (
    NUMBERS,
    ClusterChoice,
    drawn_number,
    partition_of,
)
from dxbeam.randomness import Random
from dxbeam.space.search.neighbors import Floats, Ids, NeighborSearch

_LARGEST_EXPONENT = 64.0  # e^64 is above 2^62: each of the others has one number
_SAFE = 1 + 2.0**-48  # more than the rounding of exp, of the sum and of the quotient


@dataclass(frozen=True)
class ClusterResponse(ClusterChoice):
    """Word to word of its cluster; ``ClusterChoice`` says what its parameters are."""

    name: ClassVar[str] = "cluster_response"
    citation = "Kairouz et al. 2014, section 4.1; proof in dxbeam/mechanisms/cluster_response.py"

    def release(self, ids: Ids, random: Random, search: NeighborSearch) -> Ids:
        """A word of its cluster for each word: int64 [B] -> int64 [B]."""
        parts = partition_of(search, self.cluster_size)
        ids = search.stand_ins(ids)
        clusters = parts.number[ids]
        others = parts.size[clusters] - 1
        each = self._numbers_of_others()[others]
        beyond = drawn_number(random[:, 0]) - (NUMBERS - others * each)
        # The word itself has the numbers below the others', each of which has as many.
        place = np.maximum(beyond, 0) // each
        place += place >= parts.place[ids]
        chosen = parts.members[parts.start[clusters] + np.minimum(place, others)]
        return np.where(beyond < 0, ids, chosen)

    def _numbers_of_others(self) -> Ids:
        """How many numbers each other word has, by how many others there are: int64 [2 K]."""
        weight = math.exp(min(self.epsilon, _LARGEST_EXPONENT))
        return np.array(
            [math.ceil(NUMBERS / (weight + m) * _SAFE) for m in range(2 * self.cluster_size)]
        )

    def channel(self, search: NeighborSearch) -> WordChannel:
        """One of two probabilities within a cluster."""
        parts = partition_of(search, self.cluster_size)
        numbers = self._numbers_of_others()

        def shares(drawn: Ids, originals: Ids) -> Floats:
            others = parts.size[parts.number[originals]] - 1
            same = NUMBERS - others * numbers[others]
            counts = np.where(drawn == originals, same, numbers[others])
            return np.asarray(counts.astype(np.float64) / NUMBERS)

        return ClusterChannel(parts, shares, search)
