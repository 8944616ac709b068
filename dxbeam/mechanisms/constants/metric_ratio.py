"""How large a mechanism's own distance is, at most, compared with the Euclidean one.

mahalanobis promises exp(epsilon |T(x - x')|) and coordinate_laplace exp(epsilon |c(x) - c(x')|_1 /
sqrt(n)). Of any vocabulary these are at most 1 / sqrt(1 - l) times, and 1 times, the Euclidean
distance. Of one vocabulary the largest ratio over all pairs of strings is what is true, and epsilon
times that is the epsilon per unit of Euclidean distance.

Blocks of pairs are compared by matrix products, or by float32 sums of absolute differences, with a
margin for rounding; what passes is settled by the vectors' differences in float64.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dxbeam.mechanisms.channels.noise_density import NoiseDensity
from dxbeam.mechanisms.constants.exponents import ROUNDOFF
from dxbeam.mechanisms.constants.scan import worker_threads
from dxbeam.space.search.neighbors import Floats, Ids
from dxbeam.space.vocabulary.words import UNKNOWN, Vocabulary, squared_lengths

_ROWS = 512
_AT_ONCE = 4096
_SINGLE = 2.0**-24
"""Relative rounding of float32."""


class MetricRatio(NamedTuple):
    """The largest ratio of a mechanism's distance to the Euclidean one.

    Attributes:
      ratio: no pair has a larger one; 0 where all vectors are equal.
      pair: ids of two strings that reach it, nearly; UNKNOWN for the unknown word.
    """

    ratio: float
    pair: tuple[int, int] | None


def metric_ratio(
    density: NoiseDensity, vocabulary: Vocabulary, threads: int | None = None
) -> MetricRatio:
    """Scans all pairs of words and the unknown word, for a density of power 1 and any rate."""
    scan = _Scan(density, vocabulary)
    best = MetricRatio(0.0, None)
    with worker_threads(threads) as pool:
        for candidate in pool.map(scan.rows, range(0, len(scan.ids), _ROWS)):
            best = max(best, candidate, key=lambda each: each.ratio)
    return best._replace(ratio=best.ratio * scan.room)


class _Scan:
    def __init__(self, density: NoiseDensity, vocabulary: Vocabulary):
        self._density, n = density, vocabulary.dimensions
        self.ids = np.append(np.arange(len(vocabulary)), UNKNOWN)
        self._vectors = vocabulary.vectors_of(self.ids)
        starts = density.starts(self._vectors)
        whiten = density.whiten
        self._moved = starts if whiten is None else starts @ whiten
        self._scale = 1 / math.sqrt(n) if density.absolute else 1.0
        self._squares = squared_lengths(self._vectors)
        self._moved_squares = squared_lengths(self._moved)
        longest = math.sqrt(self._squares.max(initial=0.0))
        self._error = 8 * (n + 8) * ROUNDOFF * longest**2
        spread, condition = 1.0, 1.0
        if whiten is not None:
            spread, condition = float(np.linalg.norm(whiten)), float(np.linalg.cond(whiten))
        self._moved_error = 32 * (n + 8) * ROUNDOFF * (spread * longest) ** 2
        self.room = 1 + 16 * (n + 8) * ROUNDOFF * condition
        self._single: list[npt.NDArray[np.float32]] = []  # a coordinate of all strings each
        if density.absolute:
            self._single = [column.astype(np.float32) for column in starts.T]
        self._best = 0.0  # threads may write an older one, which costs time only

    def rows(self, start: int) -> MetricRatio:
        """Pairs of some strings with all later ones."""
        rows = slice(start, min(start + _ROWS, len(self.ids)))
        best = MetricRatio(0.0, None)
        for begin in range(start, len(self.ids), _ROWS):
            columns = slice(begin, min(begin + _ROWS, len(self.ids)))
            known = max(best.ratio, self._best)
            row, column = np.nonzero(
                self._moved_squares_of(rows, columns) > self._least(rows, columns, known)
            )
            candidate = self._settled(rows.start + row, columns.start + column)
            if candidate.ratio > best.ratio:
                best = candidate
                self._best = max(self._best, candidate.ratio)
        return best

    def _least(self, rows: slice, columns: slice, known: float) -> Floats:
        """What the square of the mechanism's distance has at least where the ratio is above it."""
        squares = -2 * (self._vectors[rows] @ self._vectors[columns].T)
        squares += self._squares[rows][:, None] + self._squares[columns] - self._error
        return np.asarray(known**2 * np.maximum(squares, 0.0))

    def _moved_squares_of(self, rows: slice, columns: slice) -> Floats:
        """The square of the mechanism's distance, or more: float64 [R, C]."""
        if not self._density.absolute:
            squares = -2 * (self._moved[rows] @ self._moved[columns].T)
            squares += self._moved_squares[rows][:, None] + self._moved_squares[columns]
            return np.asarray(squares + self._moved_error)
        sums = np.zeros((rows.stop - rows.start, columns.stop - columns.start), np.float32)
        apart = np.empty_like(sums)
        for values in self._single:
            np.subtract.outer(values[rows], values[columns], out=apart)
            sums += np.abs(apart, out=apart)
        n = len(self._single)
        # Each coordinate is rounded, and each sum.
        largest = 4 * n * _SINGLE * max(float(np.abs(each).max()) for each in self._single)
        return np.square((sums.astype(np.float64) * (1 + 4 * n * _SINGLE) + largest) * self._scale)

    def _settled(self, first: Ids, second: Ids) -> MetricRatio:
        best = MetricRatio(0.0, None)
        for start in range(0, len(first), _AT_ONCE):
            one, other = first[start : start + _AT_ONCE], second[start : start + _AT_ONCE]
            apart = np.linalg.norm(self._vectors[one] - self._vectors[other], axis=1)
            moved = self._density.starts(self._vectors[one])
            moved -= self._density.starts(self._vectors[other])
            if self._density.whiten is not None:
                moved = moved @ self._density.whiten
            order = 1 if self._density.absolute else 2
            lengths = np.asarray(np.linalg.norm(moved, ord=order, axis=1)) * self._scale
            ratios: Floats = np.divide(lengths, apart, out=np.zeros_like(lengths), where=apart > 0)
            place = int(ratios.argmax())
            if ratios[place] > best.ratio:
                pair = int(self.ids[one[place]]), int(self.ids[other[place]])
                best = MetricRatio(float(ratios[place]), pair)
        return best
