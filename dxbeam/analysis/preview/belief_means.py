"""What an attacker believes of the words of a page, gathered epsilon by epsilon."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dxbeam.space.search.neighbors import Ids

BELIEF_DRAWS = 2
"""Draws of each word."""

NAMED = 3
"""How many words are named that an attacker believes in."""

_NOTHING = np.float32(-80.0)  # a logarithm

Singles = npt.NDArray[np.float32]


class Beliefs(NamedTuple):
    """What an attacker believes of D words.

    Attributes:
      sees: WORD, VECTOR or PAIRS.
      grid: epsilons, E of them.
      truth: float32 [D, E], how likely it takes the true word to be, the mean over draws.
      right: uint8 [D, E], in how many of ``BELIEF_DRAWS`` draws its first guess is right.
      words: int64 [D, E, k], the words that it takes for the likeliest, best first.
      shares: float32 [D, E, k], how likely, the mean over draws.
    """

    sees: str
    grid: list[float]
    truth: Singles
    right: npt.NDArray[np.uint8]
    words: Ids
    shares: Singles


class Means:
    """Gathers the beliefs of each word at each epsilon."""

    def __init__(self, sees: str, epsilons: list[float], ids: Ids, words: int):
        shape, named = (len(ids), len(epsilons)), min(NAMED, words)
        self._ids = ids
        self.beliefs = Beliefs(
            sees,
            epsilons,
            np.zeros(shape, np.float32),
            np.zeros(shape, np.uint8),
            np.zeros((*shape, named), np.int64),
            np.zeros((*shape, named), np.float32),
        )

    def enter_all(self, column: int, posteriors: Singles, which: Ids, first: int = 0) -> None:
        """Enters consecutive words at one epsilon.

        Args:
          column: the epsilon.
          posteriors: float32 [U, N], given each of U released words.
          which: int64 [W * K], the draws of each word: which of the released words each is.
          first: the first of the words.
        """
        best = posteriors.argmax(axis=1)
        for row, draws in enumerate(which.reshape(-1, BELIEF_DRAWS), first):
            self.enter(row, column, best[draws], posteriors[draws].mean(axis=0))

    def enter(self, row: int, column: int, best: Ids, mean: Singles) -> None:
        """Enters the first guess in each draw, int64 [K], and the mean, float32 [N]."""
        word, means = self._ids[row], self.beliefs
        if word >= 0:
            means.truth[row, column] = mean[word]
            means.right[row, column] = (best == word).sum()
        mean = mean.copy()
        for place in range(means.words.shape[2]):
            likeliest = mean.argmax()
            means.words[row, column, place] = likeliest
            means.shares[row, column, place] = mean[likeliest]
            mean[likeliest] = -1


def normalise(scores: Singles) -> None:
    """Makes posteriors of logarithms: float32 [B, N]."""
    scores -= scores.max(axis=1, keepdims=True)
    # Smaller numbers say nothing, and processors take ten times as long for them.
    np.maximum(scores, _NOTHING, out=scores)
    np.exp(scores, out=scores)
    scores /= (scores @ np.ones(scores.shape[1], np.float32))[:, None]
