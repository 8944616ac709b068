"""Rank resampling: the released word is replaced by one of its neighbours, by rank.

Noise in high dimension returns the original word or a far-off one, almost never a near neighbour.
Resampling around the *output* x* with probability proportional to exp(-epsilon c rank) brings near
neighbours back. It sees x* and nothing of the original word, so it is post-processing and costs
no privacy.

Over all N ranks, with q = exp(-epsilon c), P(rank = i) = (1 - q) q^i / (1 - q^N): a truncated
geometric distribution, whose inverse distribution function is closed. It is computed in float64 of
one 64-bit number, so ranks with a probability below 2^-64 in all do not come. Being
post-processing, that has no part in any guarantee.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dxbeam.mechanisms.parameters import checked_rank_c, settle
from dxbeam.mechanisms.sampling.noise import uniform
from dxbeam.randomness import Random
from dxbeam.space.search.neighbors import Ids, NeighborSearch


@dataclass(frozen=True)
class RankResampling:
    """Resamples released words by neighbour rank.

    Attributes:
      c: decay of the probability with the rank, in units of 1/epsilon.
    """

    c: float

    def __post_init__(self) -> None:
        settle(self, c=checked_rank_c(self.c))

    def draws(self) -> int:
        """Random numbers per word."""
        return 1

    def ranks(self, random: Random, epsilon: float, words: int) -> Ids:
        """A rank for each word: uint64 [B, 1] -> int64 [B] in 0 … N - 1, rank 0 the word itself."""
        rate = epsilon * self.c
        tail = np.exp(-rate * words)
        # v in (0, 1] keeps its relative precision near 0, where the last ranks are.
        v = uniform(random[:, 0])
        ranks = np.floor(np.log(tail + v * -np.expm1(-rate * words)) / -rate)
        result: Ids = np.clip(ranks, 0, words - 1).astype(np.int64)
        return result

    def resample(
        self, released: Ids, random: Random, epsilon: float, search: NeighborSearch
    ) -> Ids:
        """A neighbour of each released word: int64 [B] -> int64 [B].

        ``random``, uint64 [B, 1], is independent of what ``released`` was drawn with.
        """
        return search.neighbor(released, self.ranks(random, epsilon, len(search.vocabulary)))
