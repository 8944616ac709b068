"""Words drawn by all N probabilities, where rejection did not decide (exponential_choice.py)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dxbeam.mechanisms.public.word_distribution import WordDistribution, public_factors
from dxbeam.space.search.neighbors import Floats, Ids, NeighborSearch
from dxbeam.space.vocabulary.words import Vocabulary, distances, squared_lengths

ROWS_PER_PRODUCT = 64
"""Words are multiplied this many at a time, or fewer where N is large, the last ones filled up with
zeros: BLAS may sum in another order for a matrix of another shape, and what is released for a word
must not depend on the words next to it."""

_WORDS_PER_BLOCK = 4096
_DISTANCES_AT_ONCE = 1 << 23  # float64: 64 MiB
_KEPT_PRODUCTS = 1 << 23  # float64: 64 MiB
_ROUNDOFF = 2.0**-53
_LARGEST_ERROR = 2.0**-36
"""Of an exponent, where a distance comes of matrix products."""


def by_all_distances(
    words: Ids,
    rows: Ids,
    near: Ids,
    shares: Floats,
    slow: Ids,
    distribution: WordDistribution,
    search: NeighborSearch,
) -> Ids:
    """The inverse distribution function, of all N probabilities: int64 [B].

    ``words``, int64 [K], are distinct, and ``rows``, int64 [B], says which of them each is;
    ``near``, int64 [K, k], are the first words around each, at exact distances; ``shares``, float64
    [B], are uniform numbers; ``slow`` are words for which many rounds were rejected.
    """
    near_distances = search.distances(words, near)
    vectors = search.vocabulary.vectors_of(words)
    slow = np.setdiff1d(slow, words)
    squares = search.computed_once(
        "squares", lambda vocabulary: squared_lengths(vocabulary.vectors)
    )[distribution.first :]
    public = public_factors(distribution, search)
    drawn = np.empty(len(rows), np.int64)
    size = min(ROWS_PER_PRODUCT, max(4, _DISTANCES_AT_ONCE // len(squares)))
    for block in np.split(np.arange(len(words)), range(size, len(words), size)):
        products = _products_of(words[block], slow, size, distribution.first, search)
        for row, product in zip(block, products, strict=True):
            apart = _distances_from_products(
                product, vectors[row], squares, distribution, search.vocabulary
            )
            allowed = near[row] >= distribution.first
            apart[near[row][allowed] - distribution.first] = near_distances[row][allowed]
            smallest = (apart if public is None else apart[public.staying > 0]).min()
            weights = distribution.weights(apart, smallest)
            if public is not None:
                every, word = np.arange(len(weights)), words[row : row + 1]
                weights = public.times_factors(weights[None], word, every)[0]
            # Nearly from the smallest to the largest; numpy sorts 16-bit numbers in linear time.
            order = np.argsort(np.frexp(weights)[1].astype(np.int16), kind="stable")
            sums = np.cumsum(weights[order])
            these = np.flatnonzero(rows == row)
            place = np.searchsorted(sums, shares[these] * sums[-1])
            drawn[these] = distribution.first + order[place]
    return drawn


def _distances_from_products(
    product: Floats,
    vector: Floats,
    squares: Floats,
    distribution: WordDistribution,
    vocabulary: Vocabulary,
) -> Floats:
    """Distances of all words that may be drawn from one vector, float64 [n] -> [N - first].

    ``product`` and ``squares``, float64 [N - first], are their scalar products with it and their
    squared lengths.
    """
    square = np.square(vector).sum()
    apart = np.sqrt(np.maximum(squares + square - 2 * product, 0.0))
    # (|w| + |x|)^2 <= 2 |w|^2 + 2 |x|^2, and a distance is no nearer than its square allows.
    error = distribution.rate * 2 * (len(vector) + 4) * _ROUNDOFF * (squares + square)
    for inexact in _blocks(np.flatnonzero(error > _LARGEST_ERROR * apart)):
        apart[inexact] = distances(vocabulary.vectors[distribution.first + inexact], vector)
    return np.asarray(apart)


def _blocks(ids: Ids) -> list[Ids]:
    return np.split(ids, range(_WORDS_PER_BLOCK, len(ids), _WORDS_PER_BLOCK))


def _products_of(
    words: Ids, slow: Ids, size: int, first: int, search: NeighborSearch
) -> Sequence[Floats]:
    """Products of each word's vector with those from ``first`` on, float64 [N - first] each.

    A word of which all rounds were rejected at one epsilon may have the same fate at the next, so
    those of the first such words are kept, and rows that are left are filled with slow words.
    """
    kept: dict[int, Floats] = search.computed_once(("products", first), lambda _: {})
    numbers = words.tolist()
    if all(number in kept for number in numbers):
        return [kept[number] for number in numbers]
    others = [number for number in slow.tolist() if number not in kept][: size - len(words)]
    both = np.concatenate([words, np.array(others, np.int64)])
    padded = np.zeros((size, search.vocabulary.dimensions))
    padded[: len(both)] = search.vocabulary.vectors_of(both)
    products = _products(padded, search.vocabulary, first)
    for number, product in zip(both.tolist(), products, strict=False):
        if number not in kept and (1 + len(kept)) * product.size <= _KEPT_PRODUCTS:
            kept[number] = product.copy()
    return list(products[: len(words)])


def _products(queries: Floats, vocabulary: Vocabulary, first: int) -> Floats:
    products = np.empty((len(queries), len(vocabulary) - first))
    for start in range(first, len(vocabulary), _WORDS_PER_BLOCK):
        words = vocabulary.vectors[start : start + _WORDS_PER_BLOCK].astype(np.float64)
        products[:, start - first : start - first + len(words)] = queries @ words.T
    return products
