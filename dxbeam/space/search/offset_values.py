"""Values offset(w) - rate * |q - w|^power of words: how they compare to bounds on scores.

The exact backends bound scores u(w) = q.w - |w|^2 / 2 (score_bounds.py); with d = |q - w|,
u = (|q|^2 - d^2) / 2. To these bounds v(w) = offset(w) D / rate is added, D being a typical
distance: near there, u + v orders words as offset - rate d does. (With the power 2 it is
offset / (2 rate), and u + v orders words as offset - rate d^2 does.) The step is D / rate.

The limit. Let L be some value of offset - rate d. A word that reaches it is no further than
R = (offset - L) / rate, or the root of it, so

    u + v  >=  (|q|^2 - max(R, 0)^2) / 2 + v.

The right side is concave in the offset, so its least value over all words is that at the smallest
or at the largest offset: no word whose bound on u + v is below both reaches L. This holds for every
D, which decides how long a search takes, and never which words are found.

Rounding, in units of 2^-24. Bounds on u have room for every rounding of u (float32_bounds.py,
rounded_words.py), also for one unit of |u| where v is added before the bound. That sum rounds v
twice at most. What is added last takes no sum that is above a float32 limit below it. The limit
rounds v once and itself once. So v costs 3 units of its largest size and the limit 1;
limits are lowered by 16 and by 8.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from dxbeam.space.search.backends.backend import Floats, Ids
from dxbeam.space.search.backends.score_bounds import QueryTile, Scores
from dxbeam.space.search.order_candidates import at_most
from dxbeam.space.vocabulary.words import distances

_ROUNDING = 2.0**-21  # of u + v in float32
_LOWEST = np.finfo(np.float32).min  # no limit is below it, so -inf reaches none
_DOUBLE = 2.0**-50  # of an offset: more than the roundings of a value in float64
_UNDERFLOW = 2.0**-62  # of a distance, for each root of the dimensions


class OffsetValues:
    """The values of words.

    Args:
      vectors: float32 [N, n], C order.
      offsets: float64 [N], finite.
      rate: above 0, in 1 / (units of the vectors to the power).
      power: 1 or 2.
    """

    def __init__(self, vectors: npt.NDArray[np.float32], offsets: Floats, rate: float, power: int):
        self.vectors, self.offsets = vectors, offsets
        self._rate, self._power = rate, power
        self._ends = float(offsets.min()), float(offsets.max())
        self._middle, self._reach = sum(self._ends) / 2, (self._ends[1] - self._ends[0]) / 2
        self._rounding = _DOUBLE * max(map(abs, self._ends))

    def at(self, words: Ids, apart: Floats) -> Floats:
        """The values of words that are so far from a query: int64 [...], float64 [...]."""
        return np.asarray(self.offsets[words] - self._fall(apart))

    def _fall(self, apart: Floats) -> Floats:
        return np.asarray(self._rate * (apart if self._power == 1 else apart * apart))

    def error(self, lengths: Floats, squares: Floats, row: Ids) -> Floats:
        """By how much values may be wrong whose squared distances are float32's, float64 [m].

        ``lengths`` are of the queries, float64 [B], and ``row``, int64 [m], says which of these it
        is.
        """
        dimensions = self.vectors.shape[1]
        error = np.sqrt(at_most(squares, dimensions))
        error *= 2.0**-24 * (dimensions + 16)
        error += (2.0**-23 * lengths + math.sqrt(dimensions) * _UNDERFLOW)[row]
        if self._power == 2:
            error *= 2 * np.sqrt(at_most(squares, dimensions)) + error
        error *= self._rate
        error += self._rounding
        return error

    def step(self, scores: Scores, queries: Floats) -> float:
        """By how much u changes with the value: D / rate, at a distance where words are."""
        if self._power == 2:
            return 1 / (2 * self._rate)
        apart = float(np.median(distances(self.vectors[scores.argmax(axis=1)], queries)))
        return (apart or 1.0) / self._rate

    def shifts(self, step: float) -> Floats:
        """The v of each word, float64 [N], up to a number that all have in common."""
        return np.asarray((self.offsets - self._middle) * step)

    def limits(self, tile: QueryTile, least: Floats, step: float) -> Scores:
        """What u + v is at least, of words whose value is: float64 [B] -> float32 [B]."""
        ends = []
        for end in self._ends:
            reach = np.maximum(end - least, 0) / self._rate
            reach = reach if self._power == 1 else np.sqrt(reach)
            ends.append(tile.limits(reach) + np.float32(step * (end - self._middle)))
        limit = np.minimum(*ends)
        limit -= np.float32(_ROUNDING) * (np.abs(limit) + np.float32(2 * step * self._reach))
        return np.asarray(np.maximum(limit, _LOWEST))
