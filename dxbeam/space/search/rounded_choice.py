"""The words of about the largest offset(w) - rate * |q - w|^power: the same ones everywhere.

Words and queries are rounded to integers whose products no processor, backend, batch or order of
summation changes, so which words are chosen depends on nothing else either. What rounding takes
away is small next to what chosen words differ by, and no distance is computed but by one product.
Where words of the exactly largest values are needed, see offset_search.py.

With Q and W the rounded q and w, and the squared distance |q|^2 - 2 u, where u = Q.W - |w|^2 / 2,
words are ordered by

    score(w)  =  u  +  offset(w) D / rate,

which is the order of offset - rate d where d is near D = n / rate, the length of noise whose
density falls so. With the power 2, the offset is divided by 2 rate, for any d. Then each chosen
word has the value of its rounded distance.

Bits. A product is a sum of n products of integers of 7 and 8 bits, which float32 holds for
n <= 2,096; longer ones are added in float64. A score is that sum plus a number of the word, rounded
once, times another, rounded once; values are float64, by additions, products and roots. All queries
have one scale, so that no query depends on the others: coordinates that are longer than the longest
word's by 6 deviations are cut there.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dxbeam.space.search.backends.backend import Floats, Ids, on_threads
from dxbeam.space.search.backends.integer_products import (
    LARGEST_QUERY,
    LARGEST_WORD,
    Factors,
    Product,
    is_exact,
    onnx_product,
)
from dxbeam.space.search.backends.rounded_vectors import RoundedVectors
from dxbeam.space.search.backends.score_bounds import WORDS_PER_BLOCK, Scores

_BITS = 7  # of a query's integers: processors without VNNI multiply these right as well
_LARGEST = LARGEST_QUERY[_BITS]
_DEVIATIONS = 6
_QUERIES_PER_TILE = 512
_GROUP = 8  # the largest of each few words stands for them in the guess
_LARGEST_ID = 2**32 - 1
_NOTHING = np.iinfo(np.int64).min
_SMALLEST = np.float32(1e-30)  # of what integers are multiplied by, so that it divides


class Chosen(NamedTuple):
    """The chosen words of each query.

    Attributes:
      words: int64 [B, K], in the order of their scores, the largest last.
      values: float64 [B, K], offset - rate * distance^power by the rounded distance.
    """

    words: Ids
    values: Floats


class RoundedChoice:
    """Chooses words of about the largest offset - rate * distance^power.

    Args:
      rounded: the words.
      offsets: float64 [N], finite.
      rate: above 0, in 1 / (units of the vectors to the power).
      threads: how many choose at once, each for a tile of queries.
      power: 1 or 2.
    """

    def __init__(
        self,
        rounded: RoundedVectors,
        offsets: Floats,
        rate: float,
        threads: int = 1,
        power: int = 1,
    ):
        self._centre, self._blocks = rounded.centre, rounded.blocks()
        self._offsets, self._rate, self._power = offsets, rate, power
        self._threads, n = threads, len(rounded.centre)
        self._product = _exact_product(n)
        deviation = math.sqrt(n) / rate if power == 1 else 1 / math.sqrt(2 * rate)
        longest = float(rounded.scales.max()) * LARGEST_WORD  # coordinate of a word
        self._scale = (longest + _DEVIATIONS * deviation) / _LARGEST
        step = n / rate / rate if power == 1 else 1 / (2 * rate)
        self._shifts = (offsets - offsets.max()) * min(step, 1e200)
        half_squares = np.asarray(rounded.bounds)[0]
        # Scores are taken relative to about the largest, as float32 holds no number above 1e38.
        self._unit = 1.0 + float(np.abs(self._shifts).max() + half_squares.max())
        factors = (np.asarray(rounded.scales) * (self._scale / self._unit)).astype(np.float32)
        self._factors = np.maximum(factors, _SMALLEST)
        self._added = (self._shifts - half_squares) / self._unit / self._factors

    def best(self, queries: Floats, count: int) -> Chosen:
        """The words of the largest scores, K = ``count`` of each query, ties by the lowest id."""
        chosen = Chosen(np.empty((len(queries), count), np.int64), np.empty((len(queries), count)))

        def choose(start: int) -> None:
            part = slice(start, start + _QUERIES_PER_TILE)
            chosen.words[part], chosen.values[part] = self._of_tile(queries[part], count)

        on_threads(self._threads, choose, range(0, len(queries), _QUERIES_PER_TILE))
        return chosen

    def _of_tile(self, queries: Floats, count: int) -> Chosen:
        centred = queries - self._centre
        integers = np.clip(np.rint(centred / self._scale), -_LARGEST, _LARGEST)
        words, scores = self._largest((integers + (_LARGEST + 1)).astype(np.uint8), count)
        products = scores.astype(np.float64) * self._unit - self._shifts[words]
        squares = np.square(centred).sum(axis=1)[:, None] - 2 * products
        apart = np.maximum(squares, 0, out=squares)
        if self._power == 1:
            np.sqrt(apart, out=apart)
        return Chosen(words, self._offsets[words] - self._rate * apart)

    def _largest(self, queries: npt.NDArray[np.uint8], count: int) -> tuple[Ids, Scores]:
        """Words of the largest scores, int64 [B, K], and their scores, float32 [B, K]."""
        rows, words = len(queries), len(self._factors)
        # Written in place, as new arrays of this size cost more in page faults than in work.
        space = np.empty(rows * min(WORDS_PER_BLOCK, words), np.float32)
        marks = np.empty(len(space), np.bool_)
        best = _Largest(rows, count)
        for block, integers in enumerate(self._blocks):
            first, span = block * WORDS_PER_BLOCK, integers.shape[1]
            scores = space[: rows * span].reshape(rows, span)
            self._scores(queries, integers, first, scores)
            if not block:
                best.guess(scores)
            reaches = marks[: scores.size]
            np.greater_equal(scores, best.least[:, None], out=reaches.reshape(scores.shape))
            here = np.flatnonzero(reaches)
            row = here // span
            best.add(row, here - row * span + first, scores.reshape(-1)[here])
        return best.ordered()

    def _scores(
        self, queries: npt.NDArray[np.uint8], integers: Any, first: int, out: Scores
    ) -> None:
        part = slice(first, first + integers.shape[1])
        ones = np.ones(integers.shape[1], np.float32)
        self._product(Factors(queries, _LARGEST + 1, integers, 1.0, ones, self._added[part]), out)
        out *= self._factors[part]


class _Largest:
    """The largest scores so far of some rows.

    They are kept with their words as one number, which sorts several times as fast.

    Attributes:
      least: float32 [B]; words of smaller scores are of no interest.
    """

    def __init__(self, rows: int, count: int):
        self.least = np.full(rows, -np.inf, np.float32)
        self._keys, self._blocks = np.full((rows, count), _NOTHING), 0
        self._parts: list[tuple[Ids, Ids]] = []

    def guess(self, scores: Scores) -> None:
        """Raises the least to what as many as are wanted of some words reach: float32 [B, m]."""
        rows, count = self._keys.shape
        groups = scores.shape[1] // _GROUP
        if groups >= count:
            largest = scores[:, : groups * _GROUP].reshape(rows, _GROUP, groups).max(axis=1)
            largest.sort(axis=1)
            self.least = largest[:, -count].copy()

    def add(self, row: Ids, word: Ids, score: Scores) -> None:
        """Adds words of a block, int64 [m], sorted by row; their ids are above all earlier ones."""
        self._parts.append((row, _keys_of(score, word)))
        self._blocks += 1
        if self._blocks in (1, 4, 16) or self._blocks % 64 == 0:
            self._keep()
            # Of equal scores the lowest ids are kept, so later words must reach more.
            reached = np.nextafter(_scores_of(self._keys[:, 0]), np.float32(np.inf))
            full = self._keys[:, 0] != _NOTHING
            self.least[full] = np.maximum(self.least, reached)[full]

    def ordered(self) -> tuple[Ids, Scores]:
        """Words, int64 [B, K], and scores, float32 [B, K], the largest last, ties by lowest id."""
        self._keep()
        return _LARGEST_ID - (self._keys & _LARGEST_ID), _scores_of(self._keys)

    def _keep(self) -> None:
        if not self._parts:
            return
        rows, count = self._keys.shape
        row, keys = (np.concatenate(each) for each in zip(*self._parts, strict=True))
        self._parts = []
        numbers = np.bincount(row, minlength=rows)
        more = np.full((rows, int(numbers.max(initial=0))), _NOTHING)
        order = np.argsort(row.astype(np.uint16), kind="stable")
        more[np.arange(more.shape[1]) < numbers[:, None]] = keys[order]
        together = np.concatenate([self._keys, more], axis=1)
        together.sort(axis=1)
        self._keys = together[:, -count:]


def _keys_of(scores: Scores, words: Ids) -> Ids:
    """Numbers in the order of (score, descending id)."""
    bits = scores.view(np.int32)
    ascending = bits ^ ((bits >> 31) & np.int32(0x7FFFFFFF))
    return np.asarray(ascending.astype(np.int64) << 32 | (_LARGEST_ID - words))


def _scores_of(keys: Ids) -> Scores:
    ascending = (keys >> 32).astype(np.int32)
    return np.asarray(ascending ^ ((ascending >> 31) & np.int32(0x7FFFFFFF))).view(np.float32)


@cache
def _exact_product(terms: int) -> Product:
    """The fastest product that is exact here for sums of this many terms."""
    product = onnx_product()
    if terms * _LARGEST * LARGEST_WORD < 2**24 and product and is_exact(product, _BITS):
        return product
    return plain_product


def plain_product(factors: Factors, out: npt.NDArray[np.float32]) -> None:
    """A ``Product`` in float32, or in float64 where float32 cannot hold the sums."""
    queries, zero, words, query_scale, word_scales, bias = factors
    kind = np.float32 if len(words) * _LARGEST * LARGEST_WORD < 2**24 else np.float64
    sums = (queries.astype(kind) - kind(zero)) @ words.astype(kind)
    np.multiply(sums, word_scales * query_scale, out=out, casting="same_kind")
    out += bias.astype(np.float32)
