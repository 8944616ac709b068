"""Word Mover's Distance: how far the words of one text must go to become those of another.

The words of a text of length a have a mass of 1 / a each, a common word one for each time it
occurs. The distance is the least cost of moving the one text's mass to the other's, where moving a
mass from word to word costs the mass times the Euclidean distance of the words' vectors. So it is
a mean over words, not a sum, and the order of words plays no part.

Kusner et al. 2015; Definition 2 of Fernandes, Dras, McIver 2019, "Generalised differential privacy
for text document processing". Words outside the vocabulary are, as for the mechanisms, at the
unknown word's vector.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment, linprog
from scipy.sparse import coo_array

from dxbeam.space.vocabulary.words import Vocabulary

Ids = npt.NDArray[np.int64]
Matrix = npt.NDArray[np.float64]

MOST_WORDS = 800
"""Texts that are both no longer, and equally long, have their exact distance computed."""

MOST_PAIRS = 20_000
"""So have texts of unequal length with no more pairs of words, as they need a linear programme."""

_SHARPNESS, _ITERATIONS = 0.02, 30
"""Of the prices that an assignment is searched with; they change its speed and nothing else."""


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


class PlacedWords(NamedTuple):
    """The words of a text, and where they are.

    Attributes:
      ids: int64 [k], the different ones in increasing order.
      counts: int64 [k], how often each occurs.
      vectors: float64 [k, n], their vectors.
      squares: float64 [k], the squares of these vectors' lengths.
    """

    ids: Ids
    counts: Ids
    vectors: Matrix
    squares: Matrix


def placed(vocabulary: Vocabulary, ids: Ids) -> PlacedWords:
    """The words of a text.

    Args:
      vocabulary: its vectors.
      ids: of the words, int64 [a]; UNKNOWN for words outside the vocabulary.
    """
    different, counts = np.unique(ids, return_counts=True)
    vectors = np.asarray(vocabulary.vectors_of(different), np.float64)
    return PlacedWords(different, counts, vectors, np.square(vectors).sum(axis=1))


def movement(vocabulary: Vocabulary, original: Ids, released: Ids) -> Movement:
    """Compares the words of two texts.

    Args:
      vocabulary: its vectors.
      original: ids of the words, int64 [a]; UNKNOWN for words outside the vocabulary.
      released: likewise, int64 [b].
    """
    return moved(placed(vocabulary, original), placed(vocabulary, released))


def moved(original: PlacedWords, released: PlacedWords) -> Movement:
    """As ``movement``, of words whose places are known."""
    counts_a, counts_b = original.counts, released.counts
    if not len(counts_a) or not len(counts_b):
        return Movement(None, None, None)
    costs = _distances(original, released)
    costs[original.ids[:, None] == released.ids] = 0.0  # but for rounding
    short = _are_short(int(counts_a.sum()), int(counts_b.sum()))
    return Movement(
        exact_distance(costs, counts_a, counts_b) if short else None,
        relaxed_distance(costs, counts_a, counts_b),
        cosine(counts_a @ original.vectors, counts_b @ released.vectors),
    )


def _are_short(one: int, other: int) -> bool:
    """Whether texts of this many words have their exact distance computed."""
    return one <= MOST_WORDS if one == other else one * other <= MOST_PAIRS


def exact_distance(
    costs: Matrix, counts_a: Ids, counts_b: Ids, *, most_assigned: int = MOST_WORDS
) -> float:
    """Word Mover's Distance of two texts.

    Mass at a word that both texts have stays there as far as it can, which costs nothing and by the
    triangle inequality is never worse. What is left goes by an assignment where it is made of few
    equal masses, as for texts of equal length, and otherwise by a linear programme.

    Args:
      costs: float64 [k, l], distances of the different words of the one text to those of the
        other; 0 only for the same word.
      counts_a: int64 [k], how often each word occurs in the one.
      counts_b: int64 [l], and in the other.
      most_assigned: equal masses that an assignment is made of.
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
    if moving > most_assigned:
        left = costs[np.ix_(sources, targets)]
        return moving / masses * _by_linear_programme(left, supply / moving, demand / moving)
    return _by_assignment(costs[np.ix_(sources, targets)], supply, demand) / masses


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


def _by_assignment(costs: Matrix, supply: Ids, demand: Ids) -> float:
    """The least cost of moving this many masses of 1."""
    cheaper = _less_prices(costs, supply, demand)
    # Searching from the released words, which repeat less often, takes half the time.
    every = np.repeat(np.repeat(cheaper.T, demand, axis=0), supply, axis=1)
    to, of = linear_sum_assignment(every)
    sources, targets = (np.repeat(np.arange(len(n)), n) for n in (supply, demand))
    return float(costs[sources[of], targets[to]].sum())


def _less_prices(costs: Matrix, supply: Ids, demand: Ids) -> Matrix:
    """Costs less a price for each source and one for each target.

    Whatever the prices, the same assignments are best, as each of them pays all prices. The nearer
    prices come to those of the best assignment, the less has to be searched for it: these are of
    the entropic problem, by Sinkhorn's iterations (Cuturi 2013), and make it six times as fast.
    """
    costs = costs - costs.min(axis=1, keepdims=True)
    costs -= costs.min(axis=0)
    scale = _SHARPNESS * costs.mean()
    if not scale:
        return costs
    likely = np.exp(-costs / scale)  # 1 somewhere in each row and column
    of_targets = np.ones(len(demand))
    for _ in range(_ITERATIONS):
        of_sources = supply / (likely @ of_targets)
        of_targets = demand / (of_sources @ likely)
    result: Matrix = costs - scale * (np.log(of_sources)[:, None] + np.log(of_targets))
    return result


def _by_linear_programme(costs: Matrix, supply: Matrix, demand: Matrix) -> float:
    """The least cost of moving a mass of 1."""
    sources, targets = costs.shape
    move = np.arange(costs.size)
    sums_of = np.concatenate([move // targets, sources + move % targets])
    constraints = coo_array((np.ones(2 * costs.size), (sums_of, np.tile(move, 2)))).tocsr()
    # The last one follows from the others, and with rounding might contradict them.
    sums = np.concatenate([supply, demand])[:-1]
    return float(linprog(costs.ravel(), A_eq=constraints[:-1], b_eq=sums, method="highs").fun)


def _distances(one: PlacedWords, other: PlacedWords) -> Matrix:
    """Euclidean distances of all pairs of words: float64 [k, l]."""
    squares = one.squares[:, None] + other.squares
    squares -= 2 * (one.vectors @ other.vectors.T)
    result: Matrix = np.sqrt(np.maximum(squares, 0.0, out=squares), out=squares)
    return result
