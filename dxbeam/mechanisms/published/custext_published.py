"""CusText as published code has it: every word draws from its own nearest words.

Chen et al. 2023, as in the package pypantera 1.0.2: the k words nearest to x, itself among them,
with probabilities proportional to exp(-epsilon (d - a) / (2 (b - a))), a and b being the smallest
and the largest of their distances. What can be released depends on the word, so a released word
that is not among the neighbours of another rules that one out: nothing is promised between any two
words whose neighbours are not the same. (Of 573 million pairs of GloVe words some four hundred have
the same ten.) custext.py is what holds. Kept for comparison, and run with --allow_unsound only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dxbeam.guarantees import Guarantee, nothing
from dxbeam.mechanisms.parameters import checked_epsilon, checked_whole, settle
from dxbeam.mechanisms.sampling.noise import TAIL_DRAWS, uniform
from dxbeam.randomness import Random
from dxbeam.space.search.neighbors import Ids, NeighborSearch

_LARGEST_K = 1024


@dataclass(frozen=True)
class CusTextPublished:
    """Word to one of its nearest words, without a guarantee.

    Attributes:
      epsilon: the published privacy parameter, which bounds nothing.
      k: how many words each word draws from, itself among them.
    """

    epsilon: float
    k: int = 20
    name: ClassVar[str] = "custext_published"

    def __post_init__(self) -> None:
        k = checked_whole("k", self.k, 1, _LARGEST_K, "how many words each word draws from")
        settle(self, epsilon=checked_epsilon(self.epsilon), k=k)

    def draws(self, dimensions: int) -> int:  # noqa: ARG002
        """Random numbers per word: one, and its tail."""
        return 1 + TAIL_DRAWS

    def release(self, ids: Ids, random: Random, search: NeighborSearch) -> Ids:
        """One of the nearest words of each word: int64 [B] -> int64 [B]."""
        near = search.nearest_neighbors(ids, min(self.k, len(search.vocabulary)))
        apart = search.distances(ids, near)
        nearest, furthest = apart[:, :1], apart[:, -1:]
        widths = np.where(furthest > nearest, furthest - nearest, 1.0)
        weights = np.exp(-self.epsilon / 2 * (apart - nearest) / widths)
        sums = np.cumsum(weights[:, ::-1], axis=1)  # from the rarest on, so that it is exact there
        target = uniform(random[:, 0], random[:, 1:]) * sums[:, -1]
        place = (sums < target[:, None]).sum(axis=1)
        return np.asarray(near[np.arange(len(ids)), near.shape[1] - 1 - place])

    def guarantee(self) -> Guarantee:
        """None: what can be released depends on the word."""
        return nothing(
            "measured",
            "a word can be released for some words and not for others; "
            "dxbeam/mechanisms/published/custext_published.py",
            ("A released word rules out every word that does not have it among its own nearest.",),
        )
