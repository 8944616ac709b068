"""The exponents of a mechanism P(y | x) = q(y) exp(-h(x, y)) / Z(x), a block at a time.

    h(x, y) = rate min(d(x, y), cap) + w(x) + w(y)  for x != y,    h(x, x) = 0

with Euclidean distances d and public weights w. Blocks are computed by float64 matrix products,
|x|^2 + |y|^2 - 2 x.y, which is off by at most E = (n + 4) u (|x| + |y|)^2, u = 2^-53 (Higham 2002,
section 3.1). A distance is off by E / d. Where that is too much, the vectors' difference is taken.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dxbeam.errors import ConfigurationError
from dxbeam.space.search.neighbors import Floats, Ids
from dxbeam.space.vocabulary.words import UNKNOWN, Vocabulary, distances, squared_lengths

ROUNDOFF = 2.0**-53
ROWS, COLUMNS = 512, 512
"""Of a block: 2 MiB of float64, which stays in the cache."""

_LARGEST_ERROR = 2.0**-36
"""Of an exponent of a block."""

_LARGEST_RANGE = 600.0
"""Of log q: beyond it a word's own term could underflow."""

_PAIRS_AT_ONCE = 4096


@dataclass(frozen=True, eq=False)
class Exponents:
    """The exponents between all strings and all words that can be released.

    The M sources are in the order: words that can be released, words that cannot (q = 0), the
    unknown word. ``make`` orders them.

    Attributes:
      vocabulary: the words.
      sources: int64 [M], word ids; the last one is UNKNOWN.
      log_base: float64 [K], log q of the K words that can be released, up to a constant; at most 0.
      rate: per unit of distance.
      cap: distance from which on all words are alike.
      weights: float64 [M], w of each source.
    """

    vocabulary: Vocabulary
    sources: Ids
    log_base: Floats
    rate: float
    cap: float
    weights: Floats

    @classmethod
    def make(
        cls,
        vocabulary: Vocabulary,
        rate: float,
        cap: float = math.inf,
        log_base: Floats | None = None,
        weights: Floats | None = None,
    ) -> Exponents:
        """The exponents of a vocabulary's N words; the unknown word has no weight.

        ``log_base``, float64 [N], is log q up to a constant, -inf for words that are never
        released; ``weights``, float64 [N], is w of each word; None for q = 1 and for no weights. A
        ConfigurationError where no word can be released, or q spans too many orders of magnitude.
        """
        base = np.zeros(len(vocabulary)) if log_base is None else np.asarray(log_base, np.float64)
        released, never = np.flatnonzero(base > -np.inf), np.flatnonzero(base == -np.inf)
        if not len(released):
            raise ConfigurationError("the base measure is 0 for every word of the vocabulary")
        base = base[released] - base.max()
        if base.min() < -_LARGEST_RANGE:
            raise ConfigurationError(
                f"the base measure spans a factor of exp({-base.min():.0f}), and a scan takes at "
                f"most exp({_LARGEST_RANGE:g}); set its smallest weights to 0, or lower its "
                "exponent"
            )
        every = np.zeros(len(vocabulary)) if weights is None else np.asarray(weights, np.float64)
        sources = np.concatenate([released, never, [UNKNOWN]])
        return cls(vocabulary, sources, base, rate, cap, np.append(every, 0.0)[sources])

    @property
    def outputs(self) -> int:
        """K: how many words can be released; they are the first sources."""
        return len(self.log_base)

    @cached_property
    def weighted(self) -> bool:
        """Whether any word has a weight."""
        return bool(self.weights.any())

    @cached_property
    def squares(self) -> Floats:
        """Squared lengths of the sources' vectors, float64 [M]."""
        return np.concatenate(
            [squared_lengths(self.vectors(block)) for block in self.blocks(0, 4096)]
        )

    @cached_property
    def square_error(self) -> float:
        """A squared distance of a block is off by at most this many times |x|^2 + |y|^2."""
        return 2 * (self.vocabulary.dimensions + 8) * ROUNDOFF

    @cached_property
    def error(self) -> float:
        """How far an exponent of a block, or of ``between``, may be from the exact one."""
        longest = 2 * self.rate * min(2 * math.sqrt(self.squares.max()), self.cap)
        rounded = (longest + 4 * self.weights.max()) * (self.vocabulary.dimensions + 8) * ROUNDOFF
        return max(_LARGEST_ERROR, float(rounded))

    def blocks(self, start: int, size: int, stop: int | None = None) -> Iterator[slice]:
        """The sources from one on, this many at a time."""
        stop = len(self.sources) if stop is None else stop
        return (slice(a, min(a + size, stop)) for a in range(start, stop, size))

    def vectors(self, part: slice | Ids) -> Floats:
        """The vectors of some sources, float64 [B, n]."""
        return self.vocabulary.vectors_of(self.sources[part])

    def between(self, first: Ids, second: Ids) -> Floats:
        """Exponents of pairs of sources, by their difference: int64 [P] -> float64 [P]."""
        apart = np.empty(len(first))
        for start in range(0, len(first), _PAIRS_AT_ONCE):
            part = slice(start, start + _PAIRS_AT_ONCE)
            one, other = self.vectors(first[part]), self.vectors(second[part])
            apart[part] = distances(one, other)  # type: ignore[arg-type]
        exponents = self.rate * np.minimum(apart, self.cap)
        exponents += self.weights[first] + self.weights[second]
        exponents[first == second] = 0.0
        return np.asarray(exponents)

    def block(self, rows: slice | Ids, columns: slice, left: Floats, right: Floats) -> Floats:
        """The exponents of rows (a range or int64 [R]) and a range of columns, nearly.

        ``left`` and ``right`` are their vectors, float64 [R, n] and [C, n]; float64 [R, C], off by
        ``error`` at most.
        """
        squares = left @ right.T
        squares *= -2.0
        squares += self.squares[rows][:, None]
        squares += self.squares[columns]
        np.maximum(squares, 0.0, out=squares)
        # Where rate E / d is above the largest error, or d may be 0.
        error = self.square_error * (self.squares[rows].max() + self.squares[columns].max())
        inexact = max((self.rate * error / _LARGEST_ERROR) ** 2, 2 * error)
        near = np.flatnonzero(squares <= inexact) if squares.min() <= inexact else ()
        exponents = np.sqrt(squares, out=squares)
        if math.isfinite(self.cap):
            np.minimum(exponents, self.cap, out=exponents)
        exponents *= self.rate
        if self.weighted:
            exponents += self.weights[rows][:, None]
            exponents += self.weights[columns]
        if len(near):
            row, column = np.divmod(near, exponents.shape[1])
            ids = rows.start + row if isinstance(rows, slice) else rows[row]
            exponents[row, column] = self.between(ids, columns.start + column)
        return np.asarray(exponents)
