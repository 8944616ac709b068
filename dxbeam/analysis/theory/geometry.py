"""The geometry that decides what noise can do: how far words are from their neighbours.

For a word w with neighbours x_1, x_2, …, the noisy vector w + eta is nearer to w than to x_1
exactly where the noise along x_1 - w is at most z(w, x_1), half their distance (theorem 1 of
"d_X-Privacy for Text and the Curse of Dimensionality"); z(x_1, x_2) and z(x_1, x_101) decide in the
same way between two neighbours (theorem 2). Their means over words are Table 2 of that paper, and
the probabilities F_Z at them its Figure 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dxbeam.analysis.measure.every_epsilon import Floats, Ids
from dxbeam.analysis.theory.intervals import mean_of_words_interval
from dxbeam.analysis.theory.noisy_dot_product import cdf, least_threshold, survival, threshold
from dxbeam.space.search.neighbors import CLOSE_RANK, NeighborSearch

PAIRS = {"z(w, x1)": (0, 1), "z(x1, x2)": (1, 2), f"z(x1, x{CLOSE_RANK + 1})": (1, CLOSE_RANK + 1)}
"""Which two words are compared: ranks around w."""


class Threshold(NamedTuple):
    """A row of Table 2.

    Attributes:
      pair: a key of PAIRS.
      mean: over words, in units of the embedding.
      low, high: Student's 95 % interval of it, over texts where words were drawn as texts.
      median: over words.
      left_out: words with two neighbours at one place, for which it is undefined.
      values: float64 [k], of each word that is not left out.
    """

    pair: str
    mean: float
    low: float
    high: float
    median: float
    left_out: int
    values: Floats


def thresholds(ids: Ids, search: NeighborSearch, texts: Ids | None = None) -> list[Threshold]:
    """Table 2 for a sample of words.

    Left out are pairs whose ranks the vocabulary has not, or that are at one place for every word.

    Args:
      ids: int64 [B], words of the vocabulary.
      search: the vocabulary.
      texts: int64 [B], the number of the text that each word is in, where whole texts were drawn;
        None for words that were drawn one by one.
    """
    texts = np.arange(len(ids)) if texts is None else texts
    deepest = min(CLOSE_RANK + 1, len(search.vocabulary) - 1)
    near = search.nearest_neighbors(ids, deepest + 1)
    vectors = search.vocabulary.vectors_of(ids)
    rows = []
    for pair, (a, b) in PAIRS.items():
        if b > deepest:
            continue
        one, other = (search.vocabulary.vectors_of(near[:, rank]) for rank in (a, b))
        apart = np.any(one != other, axis=1)
        if not apart.any():
            continue
        values = np.asarray(threshold(vectors[apart], one[apart], other[apart]))
        mean, median = float(values.mean()), float(np.median(values))
        low, high = mean_of_words_interval(values, texts[apart])
        rows.append(Threshold(pair, mean, low, high, median, int((~apart).sum()), values))
    return rows


class Nearer(NamedTuple):
    """A point of Figure 6, both ways.

    Attributes:
      pair: a key of PAIRS.
      epsilon: of multidimensional Laplace noise.
      at_mean: F_Z at the mean of z, as the paper draws it.
      mean: the mean over words of F_Z at their own z: the share of words for which the nearer of
        the two wins.
    """

    pair: str
    epsilon: float
    at_mean: float
    mean: float


def nearer(rows: Sequence[Threshold], n: int, epsilons: Sequence[float]) -> list[Nearer]:
    """Figure 6 for a sample of words in n dimensions."""
    return [
        Nearer(
            row.pair,
            epsilon,
            float(cdf(row.mean, n, epsilon)),
            float(np.mean(cdf(row.values, n, epsilon))),
        )
        for row in rows
        for epsilon in epsilons
    ]


class Bounds(NamedTuple):
    """How probable it is at most that a word releases itself, or its nearest neighbour.

    Attributes:
      word: its id.
      original: float64 [E], an upper bound on the probability of the word itself (Eq. 20).
      nearest: float64 [E], on that of its nearest neighbour (Eqs 20 and 21).
    """

    word: int
    original: Floats
    nearest: Floats


def bounds(ids: Ids, epsilons: Sequence[float], search: NeighborSearch) -> list[Bounds]:
    """Bounds for multidimensional Laplace noise, from a word and its first 100 neighbours.

    Words with a neighbour at their own place are left out.

    Args:
      ids: int64 [B].
      epsilons: E values.
      search: the vocabulary, of at least two words.
    """
    n, grid = search.vocabulary.dimensions, np.asarray(epsilons, np.float64)
    rows = []
    for group in search.nearest_neighbors(ids, min(CLOSE_RANK + 1, len(search.vocabulary))):
        words = np.unique(search.vocabulary.vectors_of(group), axis=0, return_index=True)[1]
        vectors = search.vocabulary.vectors_of(group[np.sort(words)])
        if not np.array_equal(np.sort(words)[:2], [0, 1]):
            continue
        # F_Z(z) = P(Z > -z), and F_Z at epsilon is F_Z at 1 of epsilon z.
        original, nearest = (survival(-grid * least_threshold(vectors, i), n, 1.0) for i in (0, 1))
        rows.append(Bounds(int(group[0]), original, nearest))
    return rows
