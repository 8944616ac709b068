"""P-values that hold for the samples at hand, and lower bounds on a privacy loss.

An audit compares p-values with a share of 1e-6, where the usual approximations of discrete tests
are off by orders of magnitude. So counts are judged by exact binomial, hypergeometric and Poisson
tails, never by chi-square's approximation. A statistic that is not a number has the p-value 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import stats

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]


class Evidence(NamedTuple):
    """A statistic, and the probability of one at least as large if all is well.

    Attributes:
      statistic: named by the test.
      p_value: at most this, if all is well.
    """

    statistic: float
    p_value: float


def uniform(probabilities: Floats) -> Evidence:
    """Kolmogorov and Smirnov's distance between a sample of [0, 1] and the uniform distribution."""
    if not np.isfinite(probabilities).all():
        return Evidence(np.nan, 0.0)
    tested = stats.kstest(probabilities, "uniform")
    return Evidence(float(tested.statistic), float(tested.pvalue))


def fair_coin(heads: int, tosses: int) -> Evidence:
    """How far the share of heads is from a half, by the binomial distribution."""
    low, high = stats.binom.cdf(heads, tosses, 0.5), stats.binom.sf(heads - 1, tosses, 0.5)
    return Evidence(heads / tosses - 0.5, min(1.0, 2 * float(min(low, high))))


def coins(heads: npt.NDArray[np.bool_], shares: Floats) -> Evidence:
    """How many of independent coins show heads, by the exact distribution of the sum.

    ``heads``, bool [k], says which do; ``shares``, float64 [k], are their probabilities of heads.
    """
    distribution = np.ones(1)
    for share in shares:
        distribution = np.convolve(distribution, [1 - share, share])
    seen = int(heads.sum())
    low, high = float(distribution[: seen + 1].sum()), float(distribution[seen:].sum())
    return Evidence(seen - float(shares.sum()), min(1.0, 2 * min(low, high)))


def standard_normal(values: npt.ArrayLike) -> Evidence:
    """The largest absolute value of numbers that are each standard normal, by Bonferroni."""
    sizes = np.abs(np.atleast_1d(np.asarray(values, np.float64))).ravel()
    if not np.isfinite(sizes).all():
        return Evidence(np.nan, 0.0)
    largest = float(sizes.max())
    return Evidence(largest, min(1.0, 2 * sizes.size * float(stats.norm.sf(largest))))


def rank_correlation(a: Floats, b: Floats) -> Evidence:
    """Spearman's correlation of pairs that are independent if all is well."""
    if np.ptp(a) == 0 or np.ptp(b) == 0:  # constant: nothing random is left
        return Evidence(np.nan, 0.0)
    tested = stats.spearmanr(a, b)
    return Evidence(float(tested.statistic), float(tested.pvalue))


def rare(seen: int, expected: float) -> Evidence:
    """How often a thing is seen that happens ``expected`` times at most: Poisson's upper tail."""
    return Evidence(float(seen), float(stats.poisson.sf(seen - 1, expected)))


def never(seen: int) -> Evidence:
    """How often something is seen that must not happen."""
    return Evidence(float(seen), float(seen == 0))


def counts_of_distribution(
    counts: Counts, distribution: Floats, tolerance: float = 0.0
) -> Evidence:
    """Counts of outcomes, int64 [k], against a distribution: chi-square, judged by binomial tails.

    The p-value is exact at any count: the smallest of the outcomes' two-sided binomial p-values,
    times the number of outcomes. ``tolerance`` is how far a probability may be from the exact one.
    """
    trials = int(counts.sum())
    below = stats.binom.cdf(counts, trials, np.clip(distribution - tolerance, 0, 1))
    above = stats.binom.sf(counts - 1, trials, np.clip(distribution + tolerance, 0, 1))
    smallest = float(np.minimum(below, above).min())
    expected = np.maximum(distribution * trials, 1e-12)
    statistic = float(((counts - expected) ** 2 / expected).sum())
    return Evidence(statistic, min(1.0, 2 * len(counts) * smallest))


def same_distribution(first: Counts, second: Counts) -> Evidence:
    """Two rows of counts, int64 [k], of one distribution: chi-square, by Fisher's exact test.

    Given how often an outcome was seen in all, its count in the first row is hypergeometric.
    """
    both, trials = first + second, int(first.sum())
    everything = trials + int(second.sum())
    below = stats.hypergeom.cdf(first, everything, both, trials)
    above = stats.hypergeom.sf(first - 1, everything, both, trials)
    smallest = float(np.minimum(below, above).min())
    expected = np.maximum(both * (trials / everything), 1e-12)
    deviation = (first - expected) ** 2 / np.maximum(expected * (1 - trials / everything), 1e-12)
    return Evidence(float(deviation.sum()), min(1.0, 2 * len(first) * smallest))


# --- Privacy loss: P(S | x) <= exp(loss) P(S | x') + delta for every set S of outputs. -----------


def likely_set(first: Counts, second: Counts, delta: float) -> npt.NDArray[np.bool_]:
    """The set of outputs that tells x from x' best, by a sample that is then put aside.

    Outputs are ordered by likelihood ratio, and the prefix with the largest lower bound (at 99 %,
    with this delta) is taken. The counts for x and x' are int64 [k].
    """
    order = np.argsort(-(first + 0.5) / (second + 0.5), kind="stable")
    inside, outside = np.cumsum(first[order]), np.cumsum(second[order])
    bounds = loss_lower_bound(inside, first.sum(), outside, second.sum(), delta, 0.01)
    chosen = np.zeros(len(first), bool)
    chosen[order[: int(np.argmax(bounds)) + 1]] = True
    return chosen


def loss_lower_bound(
    hits: npt.ArrayLike,
    trials: int,
    other_hits: npt.ArrayLike,
    other_trials: int,
    delta: float,
    error: float,
) -> Floats:
    """A bound below ln((P(S|x) - delta) / P(S|x')), by Clopper and Pearson's intervals.

    An output for x was in S in ``hits`` of ``trials``, one for x' in ``other_hits`` of its trials.
    The bound is wrong with the probability ``error`` at most; -inf where nothing can be said.
    """
    low, high = _intervals(hits, trials, other_hits, other_trials, error / 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(low > delta, np.log((low - delta) / high), -np.inf)


def loss_p_value(
    hits: int, trials: int, other_hits: int, other_trials: int, delta: float, claimed: float
) -> float:
    """The smallest ``error`` at which ``loss_lower_bound`` exceeds the claimed loss, at most 1."""

    def refuted(log_error: float) -> bool:
        bound = loss_lower_bound(
            hits, trials, other_hits, other_trials, delta, float(np.exp(log_error))
        )
        return bool(bound > claimed)

    low, high = -230.0, 0.0  # 1e-100 is as good as 0
    if not refuted(high):
        return 1.0
    while high - low > 0.01:
        middle = (low + high) / 2
        low, high = (low, middle) if refuted(middle) else (middle, high)
    return float(np.exp(high))


def _intervals(
    hits: npt.ArrayLike, trials: int, other_hits: npt.ArrayLike, other_trials: int, error: float
) -> tuple[Floats, Floats]:
    """A lower confidence limit of the first share and an upper one of the second."""
    k, j = np.asarray(hits, np.float64), np.asarray(other_hits, np.float64)
    low = np.where(k > 0, stats.beta.ppf(error, np.maximum(k, 1), trials - k + 1), 0.0)
    room = np.maximum(other_trials - j, 1)
    high = np.where(j < other_trials, stats.beta.isf(error, j + 1, room), 1.0)
    return low, high


def holm_shares(p_values: Sequence[float], alpha: float) -> list[float]:
    """The share of ``alpha`` that each p-value is compared with, by Holm's method.

    A test fails if its p-value is below its share and so are all smaller ones. The probability
    that any test fails although all is well is at most ``alpha``, however they depend on each
    other.
    """
    order = np.argsort(p_values, kind="stable")
    shares = np.empty(len(order))
    shares[order] = alpha / np.arange(len(order), 0, -1)
    return [float(share) for share in shares]
