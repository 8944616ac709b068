"""Word Mover's Distance: how far the words of one text must go to become those of another.

The words of a text of length a have a mass of 1 / a each, a common word one for each time it
occurs. The distance is the least cost of moving the one text's mass to the other's, where moving a
mass from word to word costs the mass times the Euclidean distance of the words' vectors. So it is
a mean over words, not a sum, and the order of words plays no part.

Kusner et al. 2015; Definition 2 of Fernandes, Dras, McIver 2019, "Generalised differential privacy
for text document processing". Words outside the vocabulary lie, as for the mechanisms, at the
unknown word's vector.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment, linprog
from scipy.sparse import coo_array

from dxbeam.space.vocabulary import Vocabulary

Ids = npt.NDArray[np.int64]
Matrix = npt.NDArray[np.float64]

MOST_WORDS = 800
"""Texts that are both no longer, and equally long, have their exact distance computed."""

MOST_PAIRS = 20_000
"""So have texts of unequal length with no more pairs of words, as they need a linear programme."""


class Movement(NamedTuple):
    """How far words must go, in units of the embedding.

    Attributes:
      exact: Word Mover's Distance; None for longer texts, see ``MOST_WORDS`` and ``MOST_PAIRS``,
        and where a text has no word.
      relaxed: a lower bound, in which words of one text may all go to the same word of the other;
        the larger one of the two directions (Kusner et al. 2015, section 4.2). None where a text
        has no word.
      cosine: of the mean vectors of the texts; None also where one of them is zero.
    """

    exact: float | None
    relaxed: float | None
    cosine: float | None


def movement(vocabulary: Vocabulary, original: Ids, released: Ids) -> Movement:
    """Compares the words of two texts.

    Args:
      vocabulary: its vectors.
      original: ids of the words, int64 [a]; UNKNOWN for words outside the vocabulary.
      released: likewise, int64 [b].
    """
    if not len(original) or not len(released):
        return Movement(None, None, None)
    a, counts_a = np.unique(original, return_counts=True)
    b, counts_b = np.unique(released, return_counts=True)
    vectors_a, vectors_b = vocabulary.vectors_of(a), vocabulary.vectors_of(b)
    costs = _distances(vectors_a, vectors_b)
    costs[a[:, None] == b] = 0.0  # but for rounding
    return Movement(
        exact_distance(costs, counts_a, counts_b) if _are_short(original, released) else None,
        relaxed_distance(costs, counts_a, counts_b),
        cosine(counts_a @ vectors_a, counts_b @ vectors_b),
    )


def _are_short(one: Ids, other: Ids) -> bool:
    if len(one) == len(other):
        return len(one) <= MOST_WORDS
    return len(one) * len(other) <= MOST_PAIRS


def exact_distance(costs: Matrix, counts_a: Ids, counts_b: Ids) -> float:
    """Word Mover's Distance of two texts.

    Mass at a word that both texts have stays there as far as it can, which costs nothing and by the
    triangle inequality is never worse. What is left goes by an assignment where it is made of few
    equal masses, as for texts of equal length, and otherwise by a linear programme.

    Args:
      costs: float64 [k, l], distances of the different words of the one text to those of the
        other; 0 for the same word alone.
      counts_a: int64 [k], how often each word occurs in the one.
      counts_b: int64 [l], and in the other.
    """
    total_a, total_b = int(counts_a.sum()), int(counts_b.sum())
    common = math.gcd(total_a, total_b)
    supply, demand = counts_a * (total_b // common), counts_b * (total_a // common)
    masses = int(supply.sum())
    for row, column in np.argwhere(costs == 0):
        staying = min(supply[row], demand[column])
        supply[row] -= staying
        demand[column] -= staying
    sources, targets = np.flatnonzero(supply), np.flatnonzero(demand)
    supply, demand = supply[sources], demand[targets]
    moving = int(supply.sum())
    if not moving:
        return 0.0
    if moving > MOST_WORDS:
        left = costs[np.ix_(sources, targets)]
        return moving / masses * _by_linear_programme(left, supply / moving, demand / moving)
    every = costs[np.ix_(np.repeat(sources, supply), np.repeat(targets, demand))]
    return float(every[linear_sum_assignment(every)].sum() / masses)


def relaxed_distance(costs: Matrix, counts_a: Ids, counts_b: Ids) -> float:
    """A lower bound of ``exact_distance``, of the same arguments: all mass goes to what is nearest.

    It is the larger one of going there and of coming back.
    """
    there = float(costs.min(axis=1) @ counts_a / counts_a.sum())
    back = float(costs.min(axis=0) @ counts_b / counts_b.sum())
    return max(there, back)


def cosine(one: Matrix, other: Matrix) -> float | None:
    """The cosine of two vectors, float64 [n] each; None where one is zero."""
    lengths = math.sqrt(float(one @ one)) * math.sqrt(float(other @ other))
    return min(1.0, max(-1.0, float(one @ other) / lengths)) if lengths else None


def _by_linear_programme(costs: Matrix, supply: Matrix, demand: Matrix) -> float:
    """The least cost of moving a mass of 1."""
    sources, targets = costs.shape
    move = np.arange(costs.size)
    sums_of = np.concatenate([move // targets, sources + move % targets])
    constraints = coo_array((np.ones(2 * costs.size), (sums_of, np.tile(move, 2)))).tocsr()
    # The last one follows from the others, and with rounding might contradict them.
    sums = np.concatenate([supply, demand])[:-1]
    return float(linprog(costs.ravel(), A_eq=constraints[:-1], b_eq=sums, method="highs").fun)


def _distances(one: Matrix, other: Matrix) -> Matrix:
    """Euclidean distances of all pairs of rows: float64 [k, n] and [l, n] -> [k, l]."""
    squares = np.square(one).sum(axis=1)[:, None] + np.square(other).sum(axis=1)
    result: Matrix = np.sqrt(np.maximum(squares - 2 * one @ other.T, 0.0))
    return result
