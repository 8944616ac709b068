"""One of the first few neighbours of the word itself, their number random: no guarantee.

Xu, Feyisetan, Aggarwal, Xu, Teissier: Density-aware differentially private textual perturbations
using truncated Gumbel noise (2021), algorithm 1: k is a Poisson number of mean ln N, at least 1; of
the k words nearest to the original the one with the smallest distance plus Gumbel noise is
released, which is to say each with probability proportional to exp(-d / scale).

Why there is no guarantee: what can be released depends on the word. A word that is not among the
first neighbours of x' is released for x and never for x', an infinite loss. The published scale is
undefined for epsilon below 2 (1 + ln N) / (smallest distance between words), which for embedding
vocabularies excludes every useful epsilon; 2 / epsilon is taken instead, the exponential
mechanism's. Kept for comparison, and run with --allow_unsound only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dxbeam.guarantees import Guarantee, nothing
from dxbeam.mechanisms.parameters import checked_epsilon, settle
from dxbeam.mechanisms.sampling.noise import TAIL_DRAWS, uniform
from dxbeam.randomness import Random
from dxbeam.space.search.neighbors import Floats, Ids, NeighborSearch
from dxbeam.space.vocabulary.words import UNKNOWN

DRAWS_PER_ROUND = 2
_MOST_CANDIDATES = 65  # P(k > 65) < 1e-21 for every vocabulary below 3 million words


def candidate_counts(words: int) -> Floats:
    """P(k > i), i = 0, 1, …: Poisson of mean ln N given that 1 <= k <= N; float64 [K]."""
    mean = math.log(max(words, 2))
    k = np.arange(1, min(words, _MOST_CANDIDATES) + 1)
    logs = k * math.log(mean) - np.array([math.lgamma(i + 1) for i in k])
    sums = np.cumsum(np.exp(logs)[::-1])[::-1]
    return np.asarray(sums / sums[0])


@dataclass(frozen=True)
class TruncatedGumbel:
    """Word to one of its first neighbours.

    Attributes:
      epsilon: 2 / scale of the noise; no privacy parameter, as nothing is guaranteed.
    """

    epsilon: float
    name: ClassVar[str] = "truncated_gumbel"
    rounds: ClassVar[int] = 8

    def __post_init__(self) -> None:
        settle(self, epsilon=checked_epsilon(self.epsilon))

    def draws(self, dimensions: int) -> int:  # noqa: ARG002
        """Random numbers per word: for k, for rounds of rejection, for what they leave; tails."""
        return 2 + DRAWS_PER_ROUND * self.rounds + 2 * TAIL_DRAWS

    def release(self, ids: Ids, random: Random, search: NeighborSearch) -> Ids:
        """One of the words around each word: int64 [B] -> int64 [B].

        Few distances are needed: the weight of the second word is an upper bound of those of all
        others, so one of them is proposed by it and accepted in proportion to its own.
        """
        shares = candidate_counts(len(search.vocabulary))
        words, rows = np.unique(ids, return_inverse=True)
        near = search.nearest_neighbors(words, len(shares))[rows]
        end = 1 + DRAWS_PER_ROUND * self.rounds
        tails = [random[:, end + 1 + i * TAIL_DRAWS :][:, :TAIL_DRAWS] for i in range(2)]
        number = uniform(random[:, 0], tails[0])
        others = (number[:, None] <= shares[1:]).sum(axis=1)
        near_distances = search.distances(ids, near[:, :2])
        bound = self._weights(near_distances[:, -1], near_distances[:, 0])

        chosen = np.full(len(ids), UNKNOWN)
        undecided = np.arange(len(ids))
        for start in range(1, end, DRAWS_PER_ROUND):
            which, whether = (
                uniform(random[undecided, start + i], tails[i][undecided])
                for i in range(DRAWS_PER_ROUND)
            )
            count = others[undecided]
            share = count * bound[undecided] / (1 + count * bound[undecided])  # of the envelope
            among = which <= share
            # Numbers up to ``share`` are used again: they say which of the others it is.
            scaled = np.divide(which, share, out=np.zeros(len(undecided)), where=among)
            rank = np.minimum((scaled * count).astype(np.int64), count - 1) + 1
            drawn = near[undecided, np.where(among, rank, 0)]
            far = undecided[among]
            apart = search.distances(ids[far], drawn[among, None])[:, 0]
            accepted = ~among
            accepted[among] = whether[among] <= self._weights(apart, near_distances[far, -1])
            chosen[undecided[accepted]] = drawn[accepted]
            undecided = undecided[~accepted]
            if not len(undecided):
                return chosen
        apart = search.distances(ids[undecided], near[undecided])
        weights = self._weights(apart, apart[:, :1])
        weights[np.arange(weights.shape[1]) > others[undecided, None]] = 0.0
        sums = np.cumsum(weights[:, ::-1], axis=1)  # from the smallest to the largest
        target = uniform(random[undecided, end], tails[0][undecided]) * sums[:, -1]
        place = weights.shape[1] - 1 - (sums < target[:, None]).sum(axis=1)
        chosen[undecided] = near[undecided, place]
        return chosen

    def _weights(self, apart: Floats, smallest: Floats) -> Floats:
        """Probabilities up to a factor: 1 at the distance ``smallest``."""
        return np.asarray(np.exp(-self.epsilon / 2 * (apart - smallest)))

    def guarantee(self) -> Guarantee:
        """None: what can be released depends on the word."""
        return nothing(
            "proved",
            "its outputs depend on the word; dxbeam/mechanisms/published/truncated_gumbel.py",
            ("A released word is always one of the first neighbours of the original.",),
        )
