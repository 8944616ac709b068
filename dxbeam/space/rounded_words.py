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

from typing import Any

import numpy as np
import numpy.typing as npt

from dxbeam.space.integer_products import LARGEST_QUERY, LARGEST_WORD, Product
from dxbeam.space.score_bounds import WORDS_PER_BLOCK, Scores
from dxbeam.space.search_backend import Floats, Ids

_SHORTEST, _LONGEST = 1e-9, 1e9  # lengths whose squares float32 holds with room to spare
_FLOAT32_SLACK = 16 * 2.0**-24  # a handful of float32 roundings in scaling a score
_FLOAT64_SLACK = 1e-12


class RoundedWords:
    """A copy of the vectors, one byte per number, and what rounding took away.

    Args:
      vectors: float32 [N, n], C order; may be a memory map.
      product: one that is exact for so many bits; see ``is_exact``.
      bits: of a query's integers, a key of LARGEST_QUERY.
      mean: float64 [n], what words and queries are taken relative to; the words' mean if None.

    Raises:
      ArithmeticError: the vectors are too long or too short for float32 to hold their squares.
    """

    def __init__(
        self,
        vectors: npt.NDArray[np.float32],
        product: Product,
        bits: int,
        mean: Floats | None = None,
    ):
        words = len(vectors)
        self._vectors, self._bits = vectors, bits
        self.product, self.largest_query = product, LARGEST_QUERY[bits]
        self.mean: Floats = vectors.mean(axis=0, dtype=np.float64) if mean is None else mean
        self.blocks: list[npt.NDArray[np.int8]] = []
        self.scales = np.empty(words, np.float32)
        half, rounded, residual = np.empty(words), np.empty(words), np.empty(words)
        for start in range(0, words, WORDS_PER_BLOCK):
            part = slice(start, start + WORDS_PER_BLOCK)
            centred = vectors[part] - self.mean
            integers, scales = _rounded(
                centred, np.abs(centred).max(axis=1, initial=0.0), LARGEST_WORD
            )
            self.blocks.append(np.ascontiguousarray(integers.astype(np.int8).T))
            self.scales[part] = scales
            half[part] = np.square(centred).sum(axis=1) / 2
            back = integers * scales[:, None].astype(np.float64)
            rounded[part] = np.linalg.norm(back, axis=1)
            residual[part] = np.linalg.norm(centred - back, axis=1)
        if mean is None and not _SHORTEST**2 < half.max() < _LONGEST**2:
            raise ArithmeticError("the squares of the vectors do not fit float32")
        self.half_squares, self.rounded_lengths, self.residuals = half, rounded, residual
        self.underflow_slack = 2.0**-24 * float(half.max())

    def among(self, ids: Ids) -> RoundedWords:
        """As ``ScoreBounds`` says."""
        return RoundedWords(self._vectors[ids], self.product, self._bits, self.mean)

    def tile(self, queries: Floats) -> RoundedQueries | None:
        """As ``ScoreBounds`` says."""
        tile = RoundedQueries(queries, self)
        return tile if tile.length < _LONGEST else None


class RoundedQueries:
    """Some queries, rounded together: one scale, and one bound on what rounding took away.

    Args:
      queries: float64 [B, n].
      words: what they are multiplied by.
    """

    def __init__(self, queries: Floats, words: RoundedWords):
        self._words, largest = words, words.largest_query
        centred = queries - words.mean
        integers, scales = _rounded(centred, np.array([np.abs(centred).max(initial=0.0)]), largest)
        self.scale, self.zero = scales[0], largest + 1
        self.integers = (integers + self.zero).astype(np.uint8)
        self._squares = np.square(centred).sum(axis=1)
        self.length = float(np.sqrt(self._squares.max(initial=0.0)))
        rest = centred - integers * float(self.scale)
        self._residual = float(np.sqrt(np.square(rest).sum(axis=1).max(initial=0.0)))

    def scores(self, block: int, out: Scores, errors: float = 1.0) -> None:
        """As ``QueryTile`` says."""
        words = self._words
        integers = words.blocks[block]
        part = slice(block * WORDS_PER_BLOCK, block * WORDS_PER_BLOCK + integers.shape[1])
        half = words.half_squares[part]
        error = self.bound(half, words.rounded_lengths[part], words.residuals[part])
        words.product(
            self.integers,
            self.zero,
            integers,
            self.scale,
            words.scales[part],
            errors * error - half,
            out,
        )

    def bound(self, half_squares: Any, rounded_lengths: Any, residuals: Any) -> Any:
        """By how much the scores of words may be wrong.

        Args:
          half_squares: as the words have them, float64 [m]: an array, or a tensor on a device.
          rounded_lengths: the same.
          residuals: the same.
        """
        error = self._residual * rounded_lengths + self.length * residuals
        error += _FLOAT32_SLACK * (half_squares + (self.length + self._residual) * rounded_lengths)
        return error + self._words.underflow_slack

    def limits(self, distances: Floats) -> Scores:
        """As ``QueryTile`` says."""
        squares = np.square(distances)
        limits = (self._squares - squares) / 2 - _FLOAT64_SLACK * (self._squares + squares)
        below: Scores = np.nextafter(limits.astype(np.float32), np.float32(-np.inf))
        return below


def _rounded(vectors: Floats, span: Floats, largest: int) -> tuple[Floats, npt.NDArray[np.float32]]:
    """Integers -largest … largest as float64 [B, n], and what they are to be multiplied by."""
    scales = (span / largest).astype(np.float32)
    scales[scales == 0] = 1.0
    integers = np.rint(vectors / scales.astype(np.float64)[:, None])
    return np.clip(integers, -largest, largest, out=integers), scales
