"""Intervals for shares and means over words that were drawn independently."""

from __future__ import annotations

import math

from scipy.stats import beta, norm

CONFIDENCE = 0.95


def count_interval(
    count: int, words: int, confidence: float = CONFIDENCE
) -> tuple[float, float, float]:
    """A share and its Clopper-Pearson interval."""
    tail = (1 - confidence) / 2
    low = beta.ppf(tail, count, words - count + 1) if count > 0 else 0.0
    high = beta.ppf(1 - tail, count + 1, words - count) if count < words else 1.0
    return count / words, float(low), float(high)


def mean_interval(
    total: float, squares: float, words: int, confidence: float = CONFIDENCE
) -> tuple[float, float, float]:
    """The mean of independent values between 0 and 1, and its interval.

    z standard errors on either side, once z^2 / 2 words of value 0 and as many of value 1 are
    added: for values of 0 and 1 this is Agresti and Coull's interval (1998). So equal values, such
    as a chance that no word of the sample had, do not count as certain.

    Args:
      total: the sum of the values.
      squares: the sum of their squares.
      words: how many there are.
      confidence: how probable it is to be that the interval holds; 0.95 makes z 1.96.
    """
    z = float(norm.ppf((1 + confidence) / 2))
    added = z * z / 2
    size = words + 2 * added
    middle = float(total + added) / size
    variance = max(0.0, float(squares + added) / size - middle * middle)
    spread = z * math.sqrt(variance / size)
    return float(total / words), max(0.0, middle - spread), min(1.0, middle + spread)
