"""Exact distributions, and tests of samples against them.

Every check raises AssertionError when a p-value falls below ALPHA divided by the number of p-values
it looks at (Bonferroni), so a correct sampler fails a check with probability ALPHA at most. Samples
are drawn with fixed keys, so a run that passes once passes always; ALPHA is what the choice of the
keys could have hidden.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from scipy import special, stats

from dxbeam.mechanisms.sampling.noise import TAIL_DRAWS

ALPHA = 1e-6

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]
Sampler = Callable[[npt.NDArray[np.uint64], int, float], Floats]


def judge(p_values: Mapping[str, float]) -> None:
    worst = min(p_values, key=lambda name: p_values[name])
    assert p_values[worst] >= ALPHA / len(p_values), (
        f"{worst}: p = {p_values[worst]:.3g}, of {len(p_values)} tests at a family-wise {ALPHA:g}"
    )


def random_numbers(rows: int, draws: int, seed: int) -> npt.NDArray[np.uint64]:
    return np.random.default_rng(seed).integers(0, 2**64, (rows, draws), dtype=np.uint64)


def exact_draw(share: Fraction, bits: int = 64) -> npt.NDArray[np.uint64]:
    """The random numbers of a uniform number, cut to 960 bits: the first one, then its tail.

    Args:
      share: from 0 to 1.
      bits: how many of the first number's bits are used, its lowest.

    Returns:
      uint64 [1 + TAIL_DRAWS].
    """
    whole = min(int(share * 2 ** (bits + 64 * TAIL_DRAWS)), 2 ** (bits + 64 * TAIL_DRAWS) - 1)
    words = [(whole >> (64 * i)) & (2**64 - 1) for i in range(TAIL_DRAWS, -1, -1)]
    return np.array(words, np.uint64)


def border(below: Callable[[Fraction], bool], steps: int = 1100) -> Fraction:
    """Where ``below`` turns from true (at 0) to false, to a relative 2^-100, by bisection."""
    low, high = Fraction(0), Fraction(1)
    if below(high):
        return high
    for _ in range(steps):
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle) else (low, middle)
        if high - low < low / 2**100:
            break
    return high


def direction_p(cosines: Floats, n: int) -> float:
    """Of the angle between a uniform direction and any other: (1 + cos)/2 is Beta."""
    if n == 1:
        return float(stats.binomtest(int((cosines > 0).sum()), len(cosines)).pvalue)
    half = (n - 1) / 2
    return float(stats.kstest((1 + cosines) / 2, stats.beta(half, half).cdf).pvalue)


def check_noise(sampler: Sampler, n: int, epsilon: float = 3.0, rows: int = 30_000) -> None:
    """Length ~ Gamma(n, 1/epsilon), direction uniform, rows independent, numbers float64."""
    from dxbeam.mechanisms.sampling.noise import laplace_draws

    noise = sampler(random_numbers(rows, laplace_draws(n), seed=n), n, epsilon)
    lengths = np.linalg.norm(noise, axis=1)
    assert lengths.all(), "a word without noise"
    # Even 30,000 numbers of 24 bits would repeat one another; of 53 bits, with probability 1e-7.
    assert len(np.unique(noise[:, 0])) == rows, "noise that repeats or lies on a lattice"
    unit = noise / lengths[:, None]
    fixed = np.random.default_rng(1).normal(size=n)
    p_values = {
        "length": float(stats.kstest(lengths, stats.gamma(n, scale=1 / epsilon).cdf).pvalue),
        "angle to an axis": direction_p(unit[:, 0], n),
        "angle to the last axis": direction_p(unit[:, -1], n),
        "angle to a fixed direction": direction_p(unit @ (fixed / np.linalg.norm(fixed)), n),
        "angle between successive words": direction_p((unit[1:] * unit[:-1]).sum(axis=1), n),
        "lengths of successive words": float(stats.spearmanr(lengths[1:], lengths[:-1]).pvalue),
        "length and direction": float(stats.spearmanr(lengths, np.abs(unit[:, 0])).pvalue)
        if n > 1
        else 1.0,
    }
    judge(p_values)


def chi_square_p(counts: Ids, distribution: Floats) -> float:
    """Of counts against a distribution; rare outcomes are pooled, impossible ones fail."""
    assert abs(distribution.sum() - 1) < 1e-6
    expected = distribution * counts.sum()
    rare = expected < 10
    observed = np.append(counts[~rare], counts[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    if expected[-1] < 1:  # too little for the chi-square approximation; seen at all, it is Poisson
        p_rare = float(stats.poisson.sf(observed[-1] - 1, max(expected[-1], 1e-12)))
        observed, expected = observed[:-1], expected[:-1]
    else:
        p_rare = 1.0
    statistic = float(((observed - expected) ** 2 / expected).sum())
    return min(p_rare, float(stats.chi2.sf(statistic, len(observed) - 1)))


def line_distribution(positions: Floats, start: float, n: int, epsilon: float) -> Floats:
    """Released words for words on a line in R^n: the noise's part along the line decides.

    In one dimension that part is Laplace. In n dimensions it is variance-gamma, with
    P(Z > z) = E[erfc(epsilon z / (2 sqrt(v))) / 2] and v ~ Gamma((n + 1)/2, 1), taken here over
    20,000 equally likely slices of v.
    """
    order = np.argsort(positions)
    borders = (positions[order][1:] + positions[order][:-1]) / 2 - start
    if n == 1:
        tails = np.exp(-epsilon * np.abs(borders)) / 2
        above = np.where(borders >= 0, tails, 1 - tails).tolist()
    else:
        v = special.gammaincinv((n + 1) / 2, (np.arange(20_000) + 0.5) / 20_000)
        above = [float(special.erfc(epsilon * z / (2 * np.sqrt(v))).mean()) / 2 for z in borders]
    distribution = np.empty(len(positions))
    distribution[order] = -np.diff(np.concatenate([[1.0], above, [0.0]]))
    return distribution


def plane_distribution(points: Floats, start: Floats, epsilon: float) -> Floats:
    """Released words for words in the plane, by integration over directions.

    Along a ray from ``start``, a word is nearest on one interval of the length, whose probability
    is a difference of the Gamma(2, 1/epsilon) distribution function.
    """
    angles = (np.arange(20_000) + 0.5) * (2 * np.pi / 20_000)
    rays = np.stack([np.cos(angles), np.sin(angles)])
    offsets = points - start
    squares, slopes = (offsets**2).sum(axis=1), 2 * offsets @ rays  # [k], [k, angles]
    distribution = np.empty(len(points))
    for own in range(len(points)):
        # own is nearer than other where squares[own] - squares[other] <= r * (slope difference)
        gap = (squares[own] - np.delete(squares, own))[:, None]
        lead = slopes[own] - np.delete(slopes, own, axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            crossing = gap / lead
        low = np.where(lead > 0, crossing, 0.0).max(axis=0, initial=0.0)
        high = np.where(lead < 0, crossing, np.inf).min(axis=0, initial=np.inf)
        inside = np.maximum(_gamma2(high, epsilon) - _gamma2(low, epsilon), 0.0)
        distribution[own] = np.where(high > low, inside, 0.0).mean()
    return distribution


def _gamma2(length: Floats, epsilon: float) -> Floats:
    scaled = epsilon * np.maximum(length, 0.0)
    finite = np.where(np.isinf(scaled), 0.0, scaled)
    return np.where(np.isinf(scaled), 1.0, 1 - np.exp(-finite) * (1 + finite))


def rank_distribution(words: int, rate: float) -> Floats:
    """P(rank = i) proportional to exp(-rate * i), by enumeration."""
    weights = np.exp(-rate * np.arange(words))
    return weights / weights.sum()


def is_caught(check: Callable[..., object], *arguments: object) -> bool:
    """Whether a check fails."""
    try:
        check(*arguments)
    except AssertionError:
        return True
    return False
