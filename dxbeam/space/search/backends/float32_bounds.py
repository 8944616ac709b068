"""Bounds on scores by float32 matrix products, for every processor.

With unit roundoff u = 2^-24 an n-term dot product errs by at most n u / (1 - n u) |q| |x| in any
order of summation (Higham 2002, section 3.1). Rounding q and |x|^2 / 2 to float32 and adding the
latter are a few roundings more.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from dxbeam.space.search.backends.backend import Floats, Ids
from dxbeam.space.search.backends.score_bounds import (
    ADDED,
    WORDS_PER_BLOCK,
    Scores,
    score_limits,
)
from dxbeam.space.vocabulary.words import squared_lengths

_UNIT_ROUNDOFF = 2.0**-24
_UNDERFLOW = 2.0**-125  # of a term, even where the processor is set to make it 0


class Float32Bounds:
    """Words as they are, float32 [N, n], and the squares of their lengths."""

    def __init__(self, vectors: npt.NDArray[np.float32]):
        self.vectors = np.asarray(vectors)  # slicing a memory map itself is slow
        self.dimensions = vectors.shape[1]

    @cached_property
    def half_squares(self) -> Floats:
        """Half the squared length of each word, float64 [N]."""
        return squared_lengths(self.vectors) / 2

    def among(self, ids: Ids) -> Float32Bounds:
        """As ``ScoreBounds`` says."""
        return Float32Bounds(self.vectors[ids])

    def tile(self, queries: Floats) -> Float32Queries:
        """As ``ScoreBounds`` says."""
        return Float32Queries(queries, self)


class Float32Queries:
    """Some queries, float64 [B, n], in float32."""

    def __init__(self, queries: Floats, words: Float32Bounds):
        self._words, self._queries = words, queries.astype(np.float32)
        self._squares = np.square(queries).sum(axis=1)
        self._length = float(np.sqrt(self._squares.max(initial=0.0)))

    def scores(
        self, block: int, out: Scores, errors: float = 1.0, plus: Floats | float = 0.0
    ) -> None:
        """As ``QueryTile`` says."""
        words = self._words
        part = slice(block * WORDS_PER_BLOCK, block * WORDS_PER_BLOCK + out.shape[1])
        half = words.half_squares[part]
        np.matmul(self._queries, words.vectors[part].T, out=out)
        out += (errors * self._error(half) - half + plus).astype(np.float32)

    def errors(self, block: int) -> Scores:
        """As ``QueryTile`` says."""
        part = slice(block * WORDS_PER_BLOCK, (block + 1) * WORDS_PER_BLOCK)
        return np.asarray((self._error(self._words.half_squares[part]) * ADDED).astype(np.float32))

    def _error(self, half: Floats) -> Floats:
        n, u = self._words.dimensions, _UNIT_ROUNDOFF
        error = u * ((n + 4) / (1 - n * u) * self._length * np.sqrt(2 * half) + 4 * half)
        return np.asarray(error + (n + 4) * _UNDERFLOW)

    def limits(self, distances: Floats) -> Scores:
        """As ``QueryTile`` says."""
        return score_limits(self._squares, distances)
