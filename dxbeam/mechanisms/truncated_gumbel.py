"""One of the first few neighbours of the word itself, their number random: no guarantee.

Xu, Feyisetan, Aggarwal, Xu, Teissier: Density-aware differentially private textual perturbations
using truncated Gumbel noise (2021), algorithm 1: k is a Poisson number of mean ln N, at least 1; of
the k words nearest to the original the one with the smallest distance plus Gumbel noise is
released, which is to say each with probability proportional to exp(-d / scale).

Why there is no guarantee: what can be released depends on the word. A word that is not among the
first neighbours of x' is released for x and never for x', an infinite loss. The published scale is
undefined for epsilon below 2 (1 + ln N) / (smallest distance between words), which for embedding
vocabularies excludes every useful epsilon; 2 / epsilon is taken instead, the exponential
mechanism's. Kept for comparison, and run with --allow_unsound alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dxbeam.guarantees import Guarantee, nothing
from dxbeam.neighbors import Floats, Ids, NeighborSearch
from dxbeam.noise import uniform
from dxbeam.parameters import checked_epsilon
from dxbeam.randomness import Random

_MOST_CANDIDATES = 65  # P(k > 65) < 1e-21 for every vocabulary below 3 million words


def candidate_counts(words: int) -> Floats:
    """P(k <= i + 1), i = 0, 1, …: Poisson of mean ln N given that 1 <= k <= N; float64 [K]."""
    mean = math.log(max(words, 2))
    k = np.arange(1, min(words, _MOST_CANDIDATES) + 1)
    logs = k * math.log(mean) - np.array([math.lgamma(i + 1) for i in k])
    sums = np.cumsum(np.exp(logs))
    return np.asarray(sums / sums[-1])


@dataclass(frozen=True)
class TruncatedGumbel:
    """Word to one of its first neighbours.

    Attributes:
      epsilon: 2 / scale of the noise; no privacy parameter, as nothing is guaranteed.
    """

    epsilon: float
    name: ClassVar[str] = "truncated_gumbel"

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon))

    def draws(self, dimensions: int) -> int:  # noqa: ARG002
        """Random numbers a word: for the number of candidates and for the choice."""
        return 2

    def release(self, ids: Ids, random: Random, search: NeighborSearch) -> Ids:
        """One of the words around each word: int64 [B] -> int64 [B]."""
        shares = candidate_counts(len(search.vocabulary))
        counts = np.searchsorted(shares, uniform(random[:, 0])) + 1
        counts = np.minimum(counts, len(shares))
        words, rows = np.unique(ids, return_inverse=True)
        near, lengths = search.around(words, int(counts.max(initial=1)))
        sums = np.cumsum(np.exp(-self.epsilon / 2 * (lengths - lengths[:, :1])), axis=1)[rows]
        target = uniform(random[:, 1]) * sums[np.arange(len(ids)), counts - 1]
        place = np.minimum((sums < target[:, None]).sum(axis=1), counts - 1)
        return np.asarray(near[rows, place])

    def guarantee(self) -> Guarantee:
        """None: what can be released depends on the word."""
        return nothing(
            "proved",
            "its outputs depend on the word; dxbeam/mechanisms/truncated_gumbel.py",
            ("A released word is always one of the first neighbours of the original.",),
        )
