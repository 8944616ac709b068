"""What an attacker believes of a word before it sees anything: a probability for every word."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dxbeam.errors import ConfigurationError
from dxbeam.randomness import Random
from dxbeam.space.search.neighbors import Floats, Ids

UNSEEN = 0.5
"""What is added to every word's count, so that no word is impossible (Jeffreys' rule)."""


class Prior(NamedTuple):
    """Probabilities of words.

    Attributes:
      name: where they come from, in a few words.
      shares: float64 [N], all above 0; they add up to 1.
    """

    name: str
    shares: Floats

    def best(self, count: int) -> Ids:
        """The most probable words, int64 [count], the lowest id first among equals."""
        return np.asarray(np.argsort(-self.shares, kind="stable")[:count])

    def draw(self, random: Random) -> Ids:
        """Independent words: uint64 [B] -> int64 [B]."""
        sums = np.cumsum(self.shares)
        units = (random >> np.uint64(11)) * 2.0**-53
        ids = np.searchsorted(sums, units * sums[-1], side="right")
        return np.asarray(np.minimum(ids, len(sums) - 1).astype(np.int64))


def uniform_prior(words: int) -> Prior:
    """Every word of the vocabulary is as probable as any other."""
    return Prior("uniform over the vocabulary", np.full(words, 1 / words))


def prior_from_counts(name: str, counts: Ids) -> Prior:
    """Probabilities in proportion to counts plus ``UNSEEN``.

    Args:
      name: of the public text that was counted.
      counts: int64 [N], how often each word of the vocabulary occurs.

    Raises:
      ConfigurationError: a count is negative, or there is none.
    """
    if not len(counts) or counts.min() < 0:
        raise ConfigurationError(
            "`counts` of a prior must be numbers of occurrences, none below 0, one for each word"
        )
    weights = counts + UNSEEN
    return Prior(name, weights / weights.sum())
