"""How much a projection can stretch distances: a bound on |P(x - y)| / |x - y|.

Noise of the scale sensitivity/epsilon on P x then promises epsilon |x - y| for the original
vectors. Three bounds:

- **exact**: the largest ratio over all pairs of a public vocabulary, the unknown word's vector
  among them. Smallest, and delta = 0; it covers words of the vocabulary and, as any difference of
  means is a weighted sum of differences of words, texts in Word Mover's Distance.
- **spectral**: the largest singular value of P. Covers every vector of R^n.
- **published**: 1 + beta with probability 1 - delta over the draw of a Gaussian P (PrivEmb). It
  assumes a Gaussian width of sqrt(log2 n); GloVe's differences have about twice that.

The scan for the exact bound multiplies matrices in float32, a tile of pairs at a time. With unit
roundoff u = 2^-24 and x extended to (-2 x, |x|^2, 1) and y to (y, 1, |y|^2), the product is
|x - y|^2, off by at most u (n + 6) (2 |x| |y| + |x|^2 + |y|^2) <= 2 u (n + 6) (|x|^2 + |y|^2) in
any order of summation (Higham 2002, section 3.1). So the norms are scaled by 1 -/+ that factor
beforehand, and the products bound |x - y|^2 from below and |P (x - y)|^2 from above. Pairs that may
beat the best one so far are settled in float64; what cannot be settled keeps its bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dxbeam.errors import ConfigurationError
from dxbeam.space.vocabulary.words import UNKNOWN, Vocabulary
from dxbeam.vectors.projections import Projection

METHODS = ("exact", "spectral", "published")
UNKNOWN_WORD = "(unknown word)"

ROWS_PER_BLOCK = 512
_UNIT_ROUNDOFF = 2.0**-24
_SLACK = 1e-30
_MARGIN = 1e-6
"""Relative; far above the float64 error of a ratio, of a singular value and of P x itself."""

Singles = npt.NDArray[np.float32]


class LargestRatio(NamedTuple):
    """The largest squared ratio |P(x - y)|^2 / |x - y|^2 that part of the scan has found.

    Attributes:
      bound: no pair of that part has a larger squared ratio.
      ratio: the largest squared ratio that was computed in float64.
      first, second: the ids of the pair that has it; N stands for the unknown word.
    """

    bound: float = 0.0
    ratio: float = 0.0
    first: int = -1
    second: int = -1

    def merge(self, other: LargestRatio) -> LargestRatio:
        """The largest squared ratio of both parts."""
        larger = max(self, other, key=lambda each: each.ratio)
        return larger._replace(bound=max(self.bound, other.bound))


@dataclass(frozen=True)
class Sensitivity:
    """A bound on how much a projection stretches distances.

    Attributes:
      method: one of METHODS.
      value: the bound, rounded up.
      delta: the probability that it does not hold; 0 for a proved bound.
      pair: for "exact", the two public words with the largest ratio.
    """

    method: str
    value: float
    delta: float = 0.0
    pair: tuple[str, str] | None = None

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "method": self.method,
            "value": self.value,
            "delta": self.delta,
            "pair": list(self.pair) if self.pair else None,
        }


def rounded_up(value: float) -> float:
    """``value`` with a margin for rounding errors, rounded up to six decimals."""
    return math.ceil(value * (1 + _MARGIN) * 1e6) / 1e6


def identity(method: str) -> Sensitivity:
    """The sensitivity without a projection: 1."""
    return Sensitivity(method, 1.0)


def spectral(projection: Projection) -> Sensitivity:
    """The projection's largest singular value, which bounds the ratio for every pair of vectors."""
    if projection.matrix is None:
        return identity("spectral")
    largest = np.linalg.svd(projection.matrix.astype(np.float64), compute_uv=False)[0]
    return Sensitivity("spectral", rounded_up(float(largest)))


def published(projection: Projection, delta: float) -> Sensitivity:
    """1 + beta, as PrivEmb calibrates noise; claimed for Gaussian projections, not proved here."""
    if projection.kind != "gaussian":
        raise ConfigurationError(
            f"`sensitivity` published is for `projection` gaussian, not {projection.kind}; choose "
            "exact or spectral"
        )
    value = 1 + published_beta(projection.projected, projection.dimensions, delta)
    return Sensitivity("published", rounded_up(value), delta)


def published_beta(projected: int, dimensions: int, delta: float) -> float:
    """Beta = (sqrt(log2 n) + sqrt(ln(1/delta))) / sqrt(m), our closest reading of PrivEmb.

    At n = 300 and delta = 1e-6 it gives 0.93, 0.66 and 0.466 for m = 50, 100 and 200.
    """
    if not 0 < delta < 1:
        raise ConfigurationError(f"`projection_delta` is between 0 and 1, not {delta}")
    width = math.sqrt(math.log2(dimensions))
    return (width + math.sqrt(math.log(1 / delta))) / math.sqrt(projected)


class PairScan:
    """The pairs of a vocabulary and the unknown word's vector, ready to be scanned block by block.

    Args:
      vocabulary: N words in R^n.
      projection: from R^n to R^m.
      rows: of a block.
      columns: that a block is multiplied with at once.
      settled: how many pairs are computed in float64 at once.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        projection: Projection,
        *,
        rows: int = ROWS_PER_BLOCK,
        columns: int = 2048,
        settled: int = 2048,
    ):
        assert projection.matrix is not None
        self._rows, self._columns, self._settled = rows, columns, settled
        self._vocabulary = vocabulary
        self._projection = projection
        n, m = projection.dimensions, projection.projected
        # A power of two that makes the largest coordinate about 1: ratios do not change, float32
        # overflows nowhere, and what underflows is far below _SLACK.
        largest = max(float(np.abs(self._vectors(block)).max()) for block in self._row_blocks())
        unit = 2.0 ** -math.floor(math.log2(largest or 1.0))
        self._originals = np.empty((len(self), n + 2), np.float32)
        self._projected = np.empty((len(self), m + 2), np.float32)
        for block in self._row_blocks():
            vectors = self._vectors(block) * unit
            projected = projection.apply_all(vectors)
            below = 1 - 2 * _UNIT_ROUNDOFF * (n + 8)
            above = 1 + 2 * _UNIT_ROUNDOFF * (m + 16)  # 8 more: P x is rounded to float32
            self._originals[block] = _extended(vectors, below, -_SLACK)
            self._projected[block] = _extended(projected, above, _SLACK)

    def __len__(self) -> int:
        return len(self._vocabulary) + 1

    def _vectors(self, rows: slice | npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """The vectors of rows; the row after the last word is the unknown word's."""
        ids = np.arange(len(self))[rows] if isinstance(rows, slice) else rows
        return self._vocabulary.vectors_of(np.where(ids == len(self) - 1, UNKNOWN, ids))

    def _row_blocks(self) -> list[slice]:
        return [slice(start, min(start + self._rows, len(self))) for start in self.blocks()]

    def blocks(self) -> range:
        """The first rows of all blocks; ``scan`` takes one."""
        return range(0, len(self), self._rows)

    def scan(self, start: int, largest: LargestRatio | None = None) -> LargestRatio:
        """The largest ratio of the pairs (i, j), i in the block that starts here, j > i.

        ``largest`` is what other blocks have found: smaller ratios need not be computed.
        """
        largest = largest or LargestRatio()
        stop = min(start + self._rows, len(self))
        originals = _as_left_factor(self._originals[start:stop])
        projected = _as_left_factor(self._projected[start:stop])
        for first in range(start, len(self), self._columns):
            last = min(first + self._columns, len(self))
            below = originals @ self._originals[first:last].T
            above = projected @ self._projected[first:last].T
            if first == start:
                above[np.tril_indices(stop - start, 0, last - first)] = -1.0
            # Where the lower bound on the distance is no bound (<= 0), this is true too.
            open_pairs = np.flatnonzero(above > below * np.float32(largest.ratio * (1 - 1e-6)))
            if len(open_pairs):
                largest = self._settle(open_pairs, below, above, start, first, largest)
        return largest._replace(bound=max(largest.bound, largest.ratio))

    def _settle(
        self,
        pairs: npt.NDArray[np.int64],
        below: Singles,
        above: Singles,
        start: int,
        first: int,
        largest: LargestRatio,
    ) -> LargestRatio:
        """Computes the pairs with the largest bounds in float64; bounds the others."""
        pairs = pairs[above.ravel()[pairs] > 0]  # the others were masked
        numerator = above.ravel()[pairs].astype(np.float64)
        denominator = below.ravel()[pairs].astype(np.float64)
        with np.errstate(divide="ignore"):
            bounds = np.where(denominator > 0, numerator / np.maximum(denominator, 0), np.inf)
        order = np.argsort(-bounds, kind="stable")
        # The largest bounds first, until no bound is above the largest ratio that was found.
        # Distances that float32 cannot tell from 0 have infinite bounds, so all are computed.
        for group in np.split(order, range(self._settled, len(order), self._settled)):
            if not len(group) or bounds[group[0]] <= largest.ratio * (1 + 1e-6):
                break
            rows, columns = np.divmod(pairs[group], below.shape[1])
            largest = largest.merge(self._largest(start + rows, first + columns))
        rest = float(bounds[bounds <= largest.ratio * (1 + 1e-6)].max(initial=0.0))
        return largest._replace(bound=max(largest.bound, rest))

    def _largest(self, i: npt.NDArray[np.int64], j: npt.NDArray[np.int64]) -> LargestRatio:
        difference = self._vectors(i) - self._vectors(j)
        squares = np.square(difference).sum(axis=1)
        stretched = np.square(self._projection.apply_all(difference)).sum(axis=1)
        distinct = squares > 0  # two words with one vector are not told apart
        ratios = np.divide(stretched, squares, out=np.zeros_like(squares), where=distinct)
        best = int(ratios.argmax())
        return LargestRatio(0.0, float(ratios[best]), int(i[best]), int(j[best]))


def _extended(vectors: npt.NDArray[np.float64], factor: float, slack: float) -> Singles:
    """(x, 1, factor |x|^2 + slack) for each x: [B, k] -> float32 [B, k + 2]."""
    norms = factor * np.square(vectors).sum(axis=1, keepdims=True) + slack
    return np.concatenate([vectors, np.ones_like(norms), norms], axis=1).astype(np.float32)


def _as_left_factor(extended: Singles) -> Singles:
    """(-2 x, factor |x|^2 + slack, 1): what to multiply extended vectors with."""
    last = extended.shape[1] - 1
    factor: Singles = extended[:, [*range(last - 1), last, last - 1]]
    factor[:, : last - 1] *= -2
    return factor


def exact(vocabulary: Vocabulary, projection: Projection) -> Sensitivity:
    """The largest ratio over all pairs of words, the unknown word's vector among them."""
    if projection.matrix is None:
        return identity("exact")
    scan = PairScan(vocabulary, projection)
    return sensitivity_of_scan(_scanned(scan), vocabulary, projection)


def _scanned(scan: PairScan) -> Iterator[LargestRatio]:
    largest = LargestRatio()
    for start in scan.blocks():
        largest = scan.scan(start, largest)
        yield largest


def sensitivity_of_scan(
    parts: Iterable[LargestRatio], vocabulary: Vocabulary, projection: Projection
) -> Sensitivity:
    """The exact sensitivity, from what all blocks have found; at most the spectral bound."""
    largest = LargestRatio()
    for part in parts:
        largest = largest.merge(part)
    value = min(rounded_up(math.sqrt(largest.bound)), spectral(projection).value)
    pair = (_word(vocabulary, largest.first), _word(vocabulary, largest.second))
    return Sensitivity("exact", value, pair=pair)


def _word(vocabulary: Vocabulary, index: int) -> str:
    return vocabulary.words[index] if 0 <= index < len(vocabulary) else UNKNOWN_WORD
