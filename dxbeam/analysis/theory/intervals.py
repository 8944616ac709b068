"""Intervals for shares and means over words, or over texts, that were drawn independently."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.stats import beta, norm, t

CONFIDENCE = 0.95


def count_interval(
    count: int, words: int, confidence: float = CONFIDENCE
) -> tuple[float, float, float]:
    """A share and its Clopper-Pearson interval."""
    low, high = _clopper_pearson(count, words, confidence)
    return count / words, low, high


def _clopper_pearson(count: float, size: float, confidence: float) -> tuple[float, float]:
    """The interval of a share; a fraction of a count interpolates."""
    tail = (1 - confidence) / 2
    low = beta.ppf(tail, count, size - count + 1) if count > 0 else 0.0
    high = beta.ppf(1 - tail, count + 1, size - count) if count < size else 1.0
    return float(low), float(high)


class TextSums(NamedTuple):
    """Sums over texts, of the words that are counted in each and of all its words.

    Attributes:
      texts: how many texts.
      counted: the sum of the counted words.
      words: of all words.
      squares: of counted words squared.
      products: of counted words times words.
      word_squares: of words squared.
    """

    texts: int
    counted: float
    words: float
    squares: float
    products: float
    word_squares: float

    @classmethod
    def of(cls, counted: npt.NDArray[np.int64], words: npt.NDArray[np.int64]) -> TextSums:
        """The sums over texts, from what each text has: int64 [T] each."""
        sums = counted, words, counted**2, counted * words, words**2
        return cls(len(words), *(float(each.sum()) for each in sums))


def share_of_words_interval(
    sums: TextSums, confidence: float = CONFIDENCE
) -> tuple[float, float, float]:
    """The share of words that are counted, and its interval: texts are drawn, not words.

    Clopper and Pearson's interval for as many independent words as tell as much (Korn, Graubard:
    Confidence intervals for proportions with small expected number of positive counts estimated
    from survey data, 1998): p (1 - p) / v, with the variance v of a ratio of sums over texts, and
    times the ratio of squared quantiles of Student's t, as v is estimated. There are never more of
    them than words, nor fewer than texts (Kish: (sum of sizes)^2 / sum of sizes^2), which is as
    few as there are where a text is counted whole or not at all. So an interval is never a point.

    v takes half a text more of average size that is counted, and half a one that is not. Without,
    the interval of a rare share is too short, as few texts rarely show how unlike they are. The
    interval is wide for few texts; how often it holds is simulated in
    tests/analysis/theory/test_intervals.py.

    Args:
      sums: over the texts; of a single one nothing is known, and the interval is from 0 to 1.
      confidence: how probable it is to be that the interval holds.
    """
    share = sums.counted / sums.words
    if sums.texts < 2:
        return share, 0.0, 1.0
    spread = sums.squares - 2 * share * sums.products + share**2 * sums.word_squares
    spread += sums.word_squares / sums.texts * (share**2 + (1 - share) ** 2) / 2
    variance = spread / sums.words**2 * sums.texts / (sums.texts - 1)
    fewest = sums.words**2 / sums.word_squares
    size = fewest
    if 0 < share < 1 and fewest > 1:
        tail = (1 + confidence) / 2
        alike = min(sums.words, share * (1 - share) / variance)
        corrected = alike * (t.ppf(tail, sums.words - 1) / t.ppf(tail, fewest - 1)) ** 2
        size = max(fewest, float(corrected))
    return share, *_clopper_pearson(share * size, size, confidence)


def independent_mean_interval(
    mean: float, deviation: float, size: int, confidence: float = CONFIDENCE
) -> tuple[float, float]:
    """Student's interval of a mean of independent values; infinite for a single one.

    Args:
      mean: of the values.
      deviation: their standard deviation, with size - 1 in its denominator.
      size: how many there are.
      confidence: how probable it is to be that the interval holds.
    """
    if size < 2:
        return -math.inf, math.inf
    spread = float(t.ppf((1 + confidence) / 2, size - 1)) * deviation / math.sqrt(size)
    return mean - spread, mean + spread


def mean_of_words_interval(
    values: npt.NDArray[np.float64], texts: npt.NDArray[np.int64]
) -> tuple[float, float]:
    """Student's interval of the mean over the words of texts: texts are drawn, not words.

    The mean is a ratio of sums over texts, and its variance is that of a ratio (Cochran: Sampling
    techniques, 1977, section 2.11). With one word a text it is ``independent_mean_interval``.

    Args:
      values: float64 [k], of each word.
      texts: int64 [k], the number of the text that each word is in.
    """
    mean = float(values.mean())
    off = np.bincount(np.unique(texts, return_inverse=True)[1], values - mean)
    size = len(off)
    deviation = size / len(values) * math.sqrt(float(off @ off) / max(size - 1, 1))
    return independent_mean_interval(mean, deviation, size)


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
