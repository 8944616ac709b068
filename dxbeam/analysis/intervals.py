"""Intervals for shares and means over words that were drawn independently."""

from __future__ import annotations

import math

from scipy.stats import beta

CONFIDENCE = 0.95


def count_interval(count: int, words: int) -> tuple[float, float, float]:
    """A share and its Clopper-Pearson interval at CONFIDENCE."""
    tail = (1 - CONFIDENCE) / 2
    low = beta.ppf(tail, count, words - count + 1) if count > 0 else 0.0
    high = beta.ppf(1 - tail, count + 1, words - count) if count < words else 1.0
    return count / words, float(low), float(high)


def mean_interval(total: float, squares: float, words: int) -> tuple[float, float, float]:
    """The mean of independent values between 0 and 1, and 1.96 standard errors on either side.

    Args:
      total: the sum of the values.
      squares: the sum of their squares.
      words: how many there are.
    """
    mean = float(total / words)
    variance = max(0.0, float(squares / words) - mean * mean) * words / max(1, words - 1)
    spread = 1.96 * math.sqrt(variance / words) if words > 1 else 1.0
    return mean, max(0.0, mean - spread), min(1.0, mean + spread)
