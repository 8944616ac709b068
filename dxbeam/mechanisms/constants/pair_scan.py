"""The largest |log Z(x) - log Z(x')| / h(x, x') over all pairs, without N^2 exact distances.

The loss of a pair, the largest |ln P(y | x) - ln P(y | x')|, is at most h(x, x') + |log Z(x) -
log Z(x')|: h obeys the triangle inequality. It is exactly that where the one of the two with the
smaller Z can be released: take y to be it. Elsewhere it is D + |log Z(x) - log Z(x')|, where D is
the largest h(x', y) - h(x, y), x being the one with the smaller Z (the other direction loses h at
most). The scan is after the largest *excess* of a pair, loss / h - 1.

A pair can have an excess above k only if |log Z(x) - log Z(x')| > k h(x, x'). So a block needs one
matrix product, and comparisons of squares:

    (|log Z(x) - log Z(x')| - k (w + w'))^2 > (k rate)^2 min(d^2, cap^2).

What passes, with a margin for rounding, is settled by the vectors' differences.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from dxbeam.mechanisms.constants.exponents import COLUMNS, ROWS, Exponents
from dxbeam.space.search.neighbors import Floats, Ids

RESOLUTION = 1e-7
"""An excess below it is taken for it."""

PROBED = 128
"""Words with the smallest and with the largest Z, whose pairs with all others give a first k."""

_MOST_OPEN = 1 << 20
_NONE = np.empty(0, np.int64)


@dataclass
class Pairs:
    """Pairs of sources whose excess may be above all that is known.

    Attributes:
      first: int64 [P], of the two the source with the smaller Z.
      second: int64 [P].
      upper: float64 [P], at least their excess.
      dropped: at least the excess of every pair that was left out.
    """

    first: Ids = field(default_factory=lambda: _NONE)
    second: Ids = field(default_factory=lambda: _NONE)
    upper: Floats = field(default_factory=lambda: np.empty(0))
    dropped: float = 0.0

    def joined(self, other: Pairs, known: float) -> Pairs:
        """Both, without those that are not above an excess that is known."""
        first = np.concatenate([self.first, other.first])
        second = np.concatenate([self.second, other.second])
        upper = np.concatenate([self.upper, other.upper])
        kept, dropped = np.flatnonzero(upper > known), max(self.dropped, other.dropped)
        if len(kept) > _MOST_OPEN:  # words that cannot be released, in masses
            kept = kept[np.argsort(-upper[kept], kind="stable")]
            dropped = max(dropped, float(upper[kept[_MOST_OPEN // 2]]))
            kept = kept[: _MOST_OPEN // 2]
        return Pairs(first[kept], second[kept], upper[kept], dropped)

    def once(self, sources: int) -> Pairs:
        """Each pair of this many sources once."""
        _, kept = np.unique(self.first * sources + self.second, return_index=True)
        return Pairs(self.first[kept], self.second[kept], self.upper[kept], self.dropped)


@dataclass
class ScanState:
    """The state of a scan.

    Attributes:
      excess: the largest one that is known to be reached.
      pair: the sources that reach it.
      open: pairs that may exceed it.
    """

    excess: float = RESOLUTION
    pair: tuple[int, int] | None = None
    open: Pairs = field(default_factory=Pairs)

    def merge(self, other: ScanState) -> None:
        """Adds what another part of the scan has found."""
        if other.excess > self.excess:
            self.excess, self.pair = other.excess, other.pair
        self.open = self.open.joined(other.open, self.excess)


class PairScan:
    """What is needed to scan pairs.

    Args:
      exponents: of the mechanism.
      log_sums: float64 [M], log Z of each source.
      error: how far each of them may be from the exact one.
    """

    def __init__(self, exponents: Exponents, log_sums: Floats, error: float):
        self.exponents, self.log_sums, self.error = exponents, log_sums, error

    def probe(self) -> ScanState:
        """Pairs of the sources with the smallest and the largest Z with all others."""
        order = np.argsort(self.log_sums, kind="stable")
        state = ScanState()
        for ids in (order[:PROBED], order[-PROBED:]):
            self._scan(ids, 0, state)
        return state

    def rows(self, rows: slice, known: float = RESOLUTION) -> ScanState:
        """Pairs of a range of sources with all later ones; some pair reaches a known excess."""
        state = ScanState(known)
        for block in self.exponents.blocks(rows.start, ROWS, rows.stop):
            self._scan(np.arange(block.start, block.stop), block.start, state)
        return state

    def _scan(self, ids: Ids, start: int, state: ScanState) -> None:
        """Pairs of some sources with all from ``start`` on."""
        left = self.exponents.vectors(ids)
        for columns in self.exponents.blocks(start, COLUMNS):
            row, column = self._passing(ids, columns, left, state.excess)
            if len(row):
                self._settle(ids[row], columns.start + column, state)

    def _passing(self, ids: Ids, columns: slice, left: Floats, known: float) -> tuple[Ids, Ids]:
        """Places in a block whose excess may be above what is known."""
        exponents, logs = self.exponents, self.log_sums
        k = 0.98 * known * exponents.rate
        # Nearer than this, 2 % of k h may be less than the error of log Z, or of a square 4 E.
        margin = (200 * self.error / k) ** 2 / 2
        shrunk = 1 - 4 * exponents.square_error
        products = exponents.vectors(columns) @ (left * (2 * k * k)).T  # [C, R]
        products -= k * k * (shrunk * exponents.squares[ids] - margin)
        logs_apart = np.subtract.outer(logs[columns], logs[ids])
        if exponents.weighted:
            np.abs(logs_apart, out=logs_apart)
            logs_apart -= 0.98 * known * exponents.weights[ids]
            logs_apart -= 0.98 * known * exponents.weights[columns][:, None]
            np.maximum(logs_apart, -self.error, out=logs_apart)
            logs_apart += 2 * self.error
        far = None
        if math.isfinite(exponents.cap):
            far = np.abs(logs_apart) > k * exponents.cap
        np.multiply(logs_apart, logs_apart, out=logs_apart)
        logs_apart += products
        passes = logs_apart > (k * k * (shrunk * exponents.squares[columns] - margin))[:, None]
        if far is not None:
            passes |= far
        if not passes.any():
            return _NONE, _NONE
        column, row = np.nonzero(passes)
        later = ids[row] != columns.start + column
        return row[later], column[later]

    def _settle(self, first: Ids, second: Ids, state: ScanState) -> None:
        """Exact exponents of pairs; those that may be above what is known stay open."""
        swapped = self.log_sums[first] > self.log_sums[second]
        first, second = np.where(swapped, second, first), np.where(swapped, first, second)
        apart = self.exponents.between(first, second)
        differ = np.flatnonzero(apart > 0)  # equal vectors have equal Z
        first, second, apart = first[differ], second[differ], apart[differ]
        higher = self.log_sums[second] - self.log_sums[first]
        share = 1 + 2 * (self.exponents.vocabulary.dimensions + 8) * 2.0**-53
        upper = (higher + 2 * self.error) / apart * share
        reached = (higher - 2 * self.error) / apart / share
        reached[first >= self.exponents.outputs] = 0.0
        if len(reached) and reached.max() > state.excess:
            best = int(reached.argmax())
            state.excess = float(reached[best])
            state.pair = int(first[best]), int(second[best])
        state.open = state.open.joined(Pairs(first, second, upper), state.excess)
