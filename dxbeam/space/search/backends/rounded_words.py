"""Words and queries rounded to 8-bit integers, and bounds on scores by products of these.

The bound. With words and queries taken relative to the words' mean, the nearest word has the
largest score q.x - |x|^2 / 2. Let Q and X be the rounded q and x. By Cauchy and Schwarz

    q.x - |x|^2 / 2  <=  Q.X - |x|^2 / 2 + |q - Q| |X| + |q| |x - X|,

where Q.X is a product of integers, which no order of summation and no processor changes. The same
terms subtracted give a lower bound.

Queries have 8 or 7 bits, whichever this processor multiplies exactly (integer_products.py). The
words keep 8 bits, so with 7 the bound is a little wider.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from dxbeam.space.search.backends.backend import Floats, Ids
from dxbeam.space.search.backends.integer_products import (
    LARGEST_QUERY,
    Factors,
    PackedWords,
    Product,
)
from dxbeam.space.search.backends.rounded_vectors import (
    LONGEST,
    RoundedVectors,
    round_vectors,
    to_integers,
)
from dxbeam.space.search.backends.score_bounds import (
    ADDED,
    WORDS_PER_BLOCK,
    Scores,
    score_limits,
)

_FLOAT32_SLACK = 16 * 2.0**-24  # a handful of float32 roundings in scaling a score


class RoundedWords:
    """Words whose scores are bounded by products of integers.

    Args:
      vectors: float32 [N, n], C order; may be a memory map.
      product: one that is exact for this many bits; see ``is_exact``.
      bits: of a query's integers, a key of LARGEST_QUERY.
      rounded: the vectors in integers; made of them, relative to their mean, if None.

    Raises:
      ArithmeticError: the vectors are too long or too short for float32 to hold their squares.
    """

    def __init__(
        self,
        vectors: npt.NDArray[np.float32],
        product: Product,
        bits: int,
        rounded: RoundedVectors | None = None,
    ):
        if rounded is None:
            rounded = round_vectors(vectors, vectors.mean(axis=0, dtype=np.float64))
            if not rounded.fits_float32():
                raise ArithmeticError("the squares of the vectors do not fit float32")
        self.vectors, self.bits = np.asarray(vectors), bits  # slicing a memory map itself is slow
        self.product, self.largest_query = product, LARGEST_QUERY[bits]
        self.mean, self.blocks = rounded.centre, rounded.blocks()
        self.scales = np.asarray(rounded.scales)
        self.half_squares, self.rounded_lengths, self.residuals = np.asarray(rounded.bounds)
        self.underflow_slack = 2.0**-24 * float(self.half_squares.max())

    def among(self, ids: Ids) -> RoundedWords:
        """As ``ScoreBounds`` says."""
        vectors = self.vectors[ids]
        return RoundedWords(vectors, self.product, self.bits, round_vectors(vectors, self.mean))

    def tile(self, queries: Floats) -> RoundedQueries | None:
        """As ``ScoreBounds`` says."""
        tile = RoundedQueries(queries, self)
        return tile if tile.length < LONGEST else None


class RoundedQueries:
    """Some queries, rounded together: one scale, and one bound on what rounding took away.

    Args:
      queries: float64 [B, n].
      words: what they are multiplied by.
    """

    def __init__(self, queries: Floats, words: RoundedWords):
        self._words, largest = words, words.largest_query
        centred = queries - words.mean
        integers, scales = to_integers(
            centred, np.array([np.abs(centred).max(initial=0.0)]), largest
        )
        self.scale, self.zero = scales[0], largest + 1
        self.integers = (integers + self.zero).astype(np.uint8)
        self._squares = np.square(centred).sum(axis=1)
        self.length = float(np.sqrt(self._squares.max(initial=0.0)))
        rest = centred - integers * float(self.scale)
        self._residual = float(np.sqrt(np.square(rest).sum(axis=1).max(initial=0.0)))

    def scores(
        self, block: int, out: Scores, errors: float = 1.0, plus: Floats | float = 0.0
    ) -> None:
        """As ``QueryTile`` says."""
        words = self._words
        integers = words.blocks[block]
        part = slice(block * WORDS_PER_BLOCK, block * WORDS_PER_BLOCK + integers.shape[1])
        bias = errors * self._errors[part] - words.half_squares[part] + plus
        scales = words.scales[part]
        words.product(Factors(self.integers, self.zero, integers, self.scale, scales, bias), out)

    def errors(self, block: int) -> Scores:
        """As ``QueryTile`` says."""
        part = slice(block * WORDS_PER_BLOCK, (block + 1) * WORDS_PER_BLOCK)
        return np.asarray((self._errors[part] * ADDED).astype(np.float32))

    def scores_of_all(self, packed: PackedWords) -> Scores:
        """The same for all words at once, float32 [B, N]."""
        words = self._words
        bias = self._errors - words.half_squares
        none = words.blocks[0][:, :0]  # they are packed
        return packed.scores(
            Factors(self.integers, self.zero, none, self.scale, words.scales, bias)
        )

    @cached_property
    def _errors(self) -> Any:
        """The bound for every word, float64 [N]: at once, which for few queries saves the most."""
        words = self._words
        return self.bound(words.half_squares, words.rounded_lengths, words.residuals)

    def bound(self, half_squares: Any, rounded_lengths: Any, residuals: Any) -> Any:
        """By how much scores of words may be wrong: arrays, float64 [m], or tensors on a device."""
        error = self._residual * rounded_lengths + self.length * residuals
        error += _FLOAT32_SLACK * (half_squares + (self.length + self._residual) * rounded_lengths)
        return error + self._words.underflow_slack

    def limits(self, distances: Floats) -> Scores:
        """As ``QueryTile`` says."""
        return score_limits(self._squares, distances)
