"""How often an attacker is right, next to what chance and the prior would get."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dxbeam.analysis.attackers.prior import Prior
from dxbeam.analysis.theory.intervals import count_interval
from dxbeam.space.search.neighbors import Ids, NeighborSearch

GUESSES = 10
"""Guesses an attacker makes where the vocabulary has as many words."""


class Success(NamedTuple):
    """Counts over words that were released; those of parts of the words can be added.

    Attributes:
      words: how many words were attacked.
      first: of how many of them the first guess was right.
      among: of how many one of the ``GUESSES`` guesses was.
    """

    words: int
    first: int
    among: int

    def plus(self, other: Success) -> Success:
        """The counts over the words of both."""
        return Success(*(a + b for a, b in zip(self, other, strict=True)))

    def first_share(self) -> tuple[float, float, float]:
        """The share of words that the first guess gets, and its Clopper-Pearson interval.

        It holds for words that were drawn independently, and, being conservative then, for a given
        list of words each of which was released independently.
        """
        return count_interval(self.first, self.words)

    def among_share(self) -> tuple[float, float, float]:
        """As ``first_share``, of all guesses."""
        return count_interval(self.among, self.words)


def counted(guesses: Ids, ids: Ids) -> Success:
    """Counts right guesses.

    Args:
      guesses: int64 [B, k], the best first.
      ids: int64 [B], the original words.
    """
    right = guesses == ids[:, None]
    return Success(len(ids), int(right[:, 0].sum()), int(right.any(axis=1).sum()))


def guess_the_output(released: Ids, search: NeighborSearch) -> Ids:
    """The attacker that knows nothing: the released word, then its nearest neighbours.

    Args:
      released: int64 [B].
      search: the vocabulary.

    Returns:
      int64 [B, k].
    """
    return search.nearest_neighbors(released, guesses_in(len(search.vocabulary)))


def prior_alone(prior: Prior, ids: Ids) -> Success:
    """The attacker that sees nothing and always guesses the most probable words."""
    best = prior.best(guesses_in(len(prior.shares)))
    return counted(np.broadcast_to(best, (len(ids), len(best))), ids)


def chance(words: int) -> tuple[float, float]:
    """What a first guess at random gets of a vocabulary of N words, and what all guesses get."""
    return 1 / words, guesses_in(words) / words


def guesses_in(words: int) -> int:
    """k: ``GUESSES``, or all words of a smaller vocabulary."""
    return min(GUESSES, words)
