"""log Z(x') - log Z(x) of two words, however near they are, from the differences of terms.

    Z(x') / Z(x) - 1 = sum over y of p(y) (exp(h(x, y) - h(x', y)) - 1),  p(y) = P(y | x)

where h(x, y) - h(x', y) is rate (d - d') and d - d' = (x - x').(x + x' - 2 y) / (d + d'). So the
error is a share of |x - x'|, and not of d.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dxbeam.mechanisms.constants.exponents import ROUNDOFF, Exponents
from dxbeam.space.search.neighbors import Floats, Ids

_WORDS = 2048


class Difference(NamedTuple):
    """How two sources x and x' differ.

    Attributes:
      log_sum: log Z(x') - log Z(x).
      gap: the largest h(x', y) - h(x, y) over all words y that can be released.
      error: how far the sum of both may be from the exact one.
    """

    log_sum: float
    gap: float
    error: float


def difference(exponents: Exponents, first: int, second: int) -> Difference:
    """How two sources differ, first being x and second being x'."""
    ids = np.array([first, second])
    x, other = exponents.vectors(ids)
    apart = float(exponents.between(ids[:1], ids[1:])[0])
    logs, changes, errors = [], [], []
    for part in exponents.blocks(0, _WORDS, exponents.outputs):
        columns = np.arange(part.start, part.stop)
        before, change, error = _changes(exponents, x, other, part)
        weights = exponents.weights
        before += weights[first] + weights[part]
        change += weights[first] - weights[second]
        before[columns == first] = 0.0
        change[columns == first] = -apart  # h is 0 there, and h' the whole exponent
        change[columns == second] = apart
        logs.append(exponents.log_base[part] - before)
        changes.append(change)
        errors.append(error)
    shares = np.concatenate(logs)
    shares = np.exp(shares - shares.max())
    shares /= shares.sum()
    change, error = np.concatenate(changes), np.concatenate(errors)
    grown = np.expm1(change)
    total = float(shares @ grown)
    # Shares are off by a factor of exp(2 error); a change by its own error and few roundings.
    off = 4 * exponents.error + (exponents.outputs + 32) * ROUNDOFF
    missed = float(shares @ (off * np.abs(grown) + (1 + grown) * error))
    room = max(1 + total - missed, 1e-300)
    far = 2 if total - missed <= -0.5 else 1
    log_error = far * missed / room
    widest = int(change.argmin())
    return Difference(math.log1p(total), -float(change[widest]), log_error + float(error.max()))


def _changes(
    exponents: Exponents, x: Floats, other: Floats, part: slice
) -> tuple[Floats, Floats, Floats]:
    """h(x, y), h(x, y) - h(x', y) and its error, without weights: float64 [C] each."""
    words, n = exponents.vectors(part), len(x)
    rate, cap = exponents.rate, exponents.cap
    apart = np.sqrt(np.square(words - x).sum(axis=1))
    after = np.sqrt(np.square(words - other).sum(axis=1))
    both = apart + after
    change = ((x + other) - 2 * words) @ (x - other)
    change = np.divide(change, both, out=np.zeros_like(both), where=both > 0)
    length = math.sqrt(float(np.square(x - other).sum()))
    error = np.full(len(words), (2 * n + 16) * ROUNDOFF * length)
    if math.isfinite(cap):
        within, beyond = np.maximum(apart, after) < cap, np.minimum(apart, after) >= cap
        capped = np.minimum(apart, cap) - np.minimum(after, cap)
        mixed = ~(within | beyond)
        error[mixed] = np.minimum(2 * (n + 8) * ROUNDOFF * both[mixed], 2 * length)
        change = np.where(within, change, np.clip(capped, -length, length))
    return rate * np.minimum(apart, cap), rate * change, rate * error


def largest_gaps(exponents: Exponents, word: int, others: Ids) -> Floats:
    """Max over y of h(x', y) - h(x, y) for a source x and other sources x': int64 [P] -> [P].

    Off by at most twice the error of an exponent. Where x can be released this is h(x', x).
    """
    row = exponents.vectors(np.array([word]))
    gaps = np.full(len(others), -np.inf)
    for start in range(0, len(others), _WORDS):
        part = slice(start, min(start + _WORDS, len(others)))
        left = exponents.vectors(others[part])
        for columns in exponents.blocks(0, 512, exponents.outputs):
            right = exponents.vectors(columns)
            at_itself = exponents.block(np.array([word]), columns, row, right)
            rows = exponents.block(others[part], columns, left, right)
            rows -= at_itself
            np.maximum(gaps[part], rows.max(axis=1), out=gaps[part])
    return gaps
