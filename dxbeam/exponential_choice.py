"""Words drawn with probability proportional to exp(-rate * min(d, cap)), without N distances.

The exponential mechanism (McSherry, Talwar: Mechanism design via differential privacy, 2007) over
a vocabulary wants every distance from the original word. Rejection needs a few: with the first
words around it, at exact distances, and D the distance of the last of them,

    e(w) = exp(-rate * min(d(w), cap))  for these words,   exp(-rate * min(D, cap))  for all words,

added up, is nowhere below the law wanted, as every other word lies at D or beyond. A word is drawn
in proportion to e; one that came of the second part is accepted with probability
exp(-rate * (min(d, cap) - min(D, cap))) unless it belongs to the first, and after a rejection all
starts anew. What is accepted has exactly the law wanted. A word has random numbers for a fixed
number of rounds; what is still open after the last is drawn by all N distances. Rejections do not
depend on what is accepted, so this changes nothing in the law.

All N distances are those of matrix products in float64, |w|^2 + |x|^2 - 2 w.x, where cancellation
costs an error of some 1e-13 in the square: nothing beyond the first words, whose distances are
taken as they are. Products have one shape always, see ``ROWS_A_PRODUCT``.

Probabilities below 2^-64 are cut off, as for every sampler here; all in all N 2^-64.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dxbeam.neighbors import Floats, Ids, NeighborSearch
from dxbeam.noise import uniform
from dxbeam.randomness import Random
from dxbeam.vocabulary import UNKNOWN, Vocabulary, distances

DRAWS_A_ROUND = 3
ROUNDS = 64
DRAWS = ROUNDS * DRAWS_A_ROUND + 1
"""Random numbers a word."""

ROWS_A_PRODUCT = 64
"""Words are multiplied so many at a time, or fewer where N is large, the last ones filled up with
zeros: BLAS may sum in another order for a matrix of another shape, and what is released for a word
must not depend on the words beside it."""

_AROUND = 129  # measured: 45 to 110 us a word at any epsilon; with 65 it is 24 to 280
_WORDS_A_BLOCK = 4096
_DISTANCES_AT_ONCE = 1 << 23  # float64: 64 MiB


@dataclass(frozen=True)
class Law:
    """Probability proportional to exp(-rate * min(d, cap)) over the words from ``first`` on.

    Attributes:
      rate: in 1 / units of the embedding.
      cap: distance from which on all words are alike.
      first: id of the first word that may be drawn.
    """

    rate: float
    cap: float = np.inf
    first: int = 0

    def weights(self, lengths: Floats, smallest: npt.ArrayLike) -> Floats:
        """Probabilities up to a factor: 1 at the distance ``smallest``, so that none is lost."""
        over = np.maximum(np.minimum(lengths, self.cap) - np.minimum(smallest, self.cap), 0.0)
        return np.asarray(np.exp(-self.rate * over))


def choose(ids: Ids, random: Random, law: Law, search: NeighborSearch) -> Ids:
    """Draws a word around each word.

    Args:
      ids: int64 [B]; UNKNOWN stands for the unknown word's vector.
      random: uint64 [B, DRAWS] or wider.
      law: what is drawn.
      search: the vocabulary; with a neighbour table it is fast.

    Returns:
      int64 [B]; row i depends on row i of ``ids`` and ``random`` alone.
    """
    vocabulary = search.vocabulary
    words, rows = np.unique(ids, return_inverse=True)
    near = search.first(words, min(_AROUND, len(vocabulary)))
    lengths = search.lengths(words, near)
    excluded = near < law.first
    smallest = np.where(excluded, lengths[:, -1:], lengths).min(axis=1)
    weights = law.weights(lengths, smallest[:, None])
    weights[excluded] = 0.0
    sums = np.cumsum(weights, axis=1)
    candidates = len(vocabulary) - law.first
    everything = near.shape[1] == len(vocabulary)
    bound = np.zeros(len(words)) if everything else law.weights(lengths[:, -1], smallest)
    vectors = vocabulary.vectors_of(words)

    chosen = np.full(len(ids), UNKNOWN)
    open_ = np.arange(len(ids))
    for start in range(0, ROUNDS * DRAWS_A_ROUND, DRAWS_A_ROUND):
        row = rows[open_]
        which, where, whether = (random[open_, start + i] for i in range(DRAWS_A_ROUND))
        inside = sums[row, -1]
        target = uniform(which) * (inside + candidates * bound[row])
        is_near = target <= inside
        place = np.minimum((sums[row] < target[:, None]).sum(axis=1), near.shape[1] - 1)
        drawn = np.where(is_near, near[row, place], law.first + _below(candidates, where))
        accepted = is_near.copy()
        far = np.flatnonzero(~is_near)
        outside = ~(near[row[far]] == drawn[far, None]).any(axis=1)
        apart = distances(vocabulary.vectors[drawn[far]], vectors[row[far]])
        share = law.weights(apart, smallest[row[far]])
        accepted[far] = outside & (uniform(whether[far]) * bound[row[far]] <= share)
        chosen[open_[accepted]] = drawn[accepted]
        open_ = open_[~accepted]
        if not len(open_):
            return chosen
    last = random[open_, DRAWS - 1]
    chosen[open_] = _by_all_distances(rows[open_], last, near, lengths, vectors, law, search)
    return chosen


def _below(count: int, random: Random) -> Ids:
    """Numbers in 0 … count - 1, each with probability 1/count but for 2^-64: uint64 -> int64."""
    high = (random >> np.uint64(32)) * np.uint64(count)
    low = ((random & np.uint64(0xFFFFFFFF)) * np.uint64(count)) >> np.uint64(32)
    result: Ids = ((high + low) >> np.uint64(32)).astype(np.int64)
    return result


def _by_all_distances(
    rows: Ids,
    random: Random,
    near: Ids,
    lengths: Floats,
    vectors: Floats,
    law: Law,
    search: NeighborSearch,
) -> Ids:
    """The inverse distribution function, of all N probabilities.

    Args:
      rows: int64 [B], which of the distinct words each is.
      random: uint64 [B].
      near: int64 [K, k], the first words around each distinct word.
      lengths: float64 [K, k], their distances.
      vectors: float64 [K, n], of the distinct words.
      law: what is drawn.
      search: the vocabulary.
    """
    squares = search.derived("squares", _squares)[law.first :]
    drawn = np.empty(len(rows), np.int64)
    size = min(ROWS_A_PRODUCT, max(4, _DISTANCES_AT_ONCE // len(squares)))
    padded = np.zeros((size, vectors.shape[1]))
    for block in np.split(words := np.unique(rows), range(size, len(words), size)):
        padded[: len(block)] = vectors[block]
        products = _products(padded, search.vocabulary, law.first)[: len(block)]
        for row, product in zip(block, products, strict=True):
            square = squares + np.square(vectors[row]).sum() - 2 * product
            apart = np.sqrt(np.maximum(square, 0.0))
            allowed = near[row] >= law.first
            apart[near[row][allowed] - law.first] = lengths[row][allowed]
            sums = np.cumsum(law.weights(apart, apart.min()))
            these = np.flatnonzero(rows == row)
            place = np.searchsorted(sums, uniform(random[these]) * sums[-1])
            drawn[these] = law.first + np.minimum(place, len(sums) - 1)
    return drawn


def _products(queries: Floats, vocabulary: Vocabulary, first: int) -> Floats:
    products = np.empty((len(queries), len(vocabulary) - first))
    for start in range(first, len(vocabulary), _WORDS_A_BLOCK):
        words = vocabulary.vectors[start : start + _WORDS_A_BLOCK].astype(np.float64)
        products[:, start - first : start - first + len(words)] = queries @ words.T
    return products


def _squares(vocabulary: Vocabulary) -> Floats:
    blocks = np.array_split(vocabulary.vectors, len(vocabulary) // _WORDS_A_BLOCK + 1)
    return np.concatenate([np.square(block, dtype=np.float64).sum(axis=1) for block in blocks])
