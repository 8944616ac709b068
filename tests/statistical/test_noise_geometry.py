"""The noise's geometry: independence within a vector, of its parts, and between distant words.

Under the exact distribution, direction times an independent chi(n) length is a vector of n
independent standard normals, and every distribution function turns its variable into a uniform one.
So each test here is the correlation of independent uniform numbers, over every pair of coordinates
and every distance up to 64 words: two blocks of 32 words, in which the sampler works.
False-alarm rate 1e-6 a test. Broken samplers, each caught at n = 50 and at n = 300, show that it
can fail; distributions.check_noise, which looks at a few directions and at neighbouring words
only, does not see what repeats further on or elsewhere in the vector.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy import special, stats

from dxbeam.mechanisms.sampling.noise import laplace, laplace_draws, normal_pairs, uniform
from tests.support.distributions import Floats, Sampler, judge, random_numbers

pytestmark = pytest.mark.exhaustive

EPSILON = 3.0
ROWS = 5_000
LAGS = range(1, 65)
MOST_DRAWS = laplace_draws(300) + 400  # some broken copies need more numbers than the sampler


def check_geometry(sampler: Sampler, n: int) -> None:
    noise = sampler(random_numbers(ROWS, MOST_DRAWS, seed=n), n, EPSILON)
    lengths = np.linalg.norm(noise, axis=1)
    chi = np.sqrt(np.random.default_rng(n).chisquare(n, ROWS))
    normals = noise * (chi / lengths)[:, None]
    length = _centered(special.gammainc(n, EPSILON * lengths))
    sign = _centered(special.ndtr(normals))
    size = _centered(2 * special.ndtr(np.abs(normals)) - 1)
    above = np.triu_indices(n, 1)
    p_values = {"length": float(stats.kstest(length / np.sqrt(12) + 0.5, "uniform").pvalue)}
    for name, part in (("sign", sign), ("size", size)):
        p_values[f"{name}, mean"] = _p(part.sum(axis=0) / np.sqrt(ROWS))
        p_values[f"{name}, coordinates"] = _p((part.T @ part)[above] / np.sqrt(ROWS))
        p_values[f"{name} and length"] = _p(length @ part / np.sqrt(ROWS))
        p_values[f"{name}, words apart"] = _p([_lagged(part, lag) for lag in LAGS])
    p_values["length, words apart"] = _p([_lagged(length[:, None], lag) for lag in LAGS])
    judge(p_values)


def _centered(probability: Floats) -> Floats:
    """Uniform numbers scaled to mean 0 and variance 1; bounded, so that their sums are normal."""
    return (probability - 0.5) * np.sqrt(12)


def _lagged(part: Floats, lag: int) -> float:
    return float(np.vdot(part[lag:], part[:-lag]) / np.sqrt(part[lag:].size))


def _p(z: object) -> float:
    """Of the largest of some standard normal numbers, by Bonferroni."""
    values = np.abs(np.atleast_1d(np.asarray(z, np.float64)))
    return min(1.0, float(2 * stats.norm.sf(values.max(initial=0.0)) * max(values.size, 1)))


@pytest.mark.parametrize("n", [1, 2, 3, 50, 300])
def test_coordinates_lengths_and_distant_words_are_independent(n: int) -> None:
    check_geometry(laplace, n)


def _changed(change: Callable[[Floats], Floats]) -> Sampler:
    return lambda random, n, epsilon: change(laplace(random, n, epsilon))


def _repeated(x: Floats, period: int) -> Floats:
    return x[np.arange(len(x)) % period + np.arange(len(x)) // (2 * period) * 2 * period]


def _rescaled(directions: Floats, lengths: Floats) -> Floats:
    return directions / np.linalg.norm(directions, axis=1, keepdims=True) * lengths[:, None]


def _one_coordinate_twice(x: Floats) -> Floats:
    x[:, 7] = x[:, 0]
    return x


def _last_coordinate_smaller(x: Floats) -> Floats:
    x[:, -1] *= 0.9
    return x


def _box_muller(
    numbers: Callable[[np.ndarray, int], tuple[np.ndarray, np.ndarray]],
) -> Sampler:
    """Right lengths, directions by Box-Muller from some (radial, angular) numbers."""

    def sample(random: np.ndarray, n: int, epsilon: float) -> Floats:
        lengths = np.linalg.norm(laplace(random[:, ::-1], n, epsilon), axis=1)
        return _rescaled(normal_pairs(*numbers(random, (n + 1) // 2))[:, :n], lengths)

    return sample


def _length_from_the_direction(random: np.ndarray, n: int, epsilon: float) -> Floats:
    pairs, exponentials = n // 2 + 1, (n + 1) // 2
    normals = normal_pairs(random[:, :pairs], random[:, pairs : 2 * pairs])[:, :n]
    gamma = -np.log(uniform(random[:, :exponentials])).sum(axis=1)
    return normals * np.sqrt(2 * gamma / epsilon**2)[:, None]


BROKEN: dict[str, Sampler] = {
    "directions repeat after 32 words": _changed(
        lambda x: _rescaled(_repeated(x, 32), np.linalg.norm(x, axis=1))
    ),
    "directions are mirrored after 32 words": _changed(
        lambda x: (
            _rescaled(_repeated(x, 32), np.linalg.norm(x, axis=1))
            * np.where(np.arange(len(x)) // 32 % 2, -1, 1)[:, None]
        )
    ),
    "lengths repeat after 32 words": _changed(
        lambda x: _rescaled(x, _repeated(np.linalg.norm(x, axis=1), 32))
    ),
    "one coordinate twice": _changed(_one_coordinate_twice),
    "equal coordinates in pairs": _changed(lambda x: x[:, np.arange(x.shape[1]) // 2 * 2]),
    "one sign for both of a pair": _changed(
        lambda x: np.abs(x) * np.sign(x[:, np.arange(x.shape[1]) // 2 * 2])
    ),
    "the last coordinate is smaller": _changed(_last_coordinate_smaller),
    "one radial number for two pairs": _box_muller(
        lambda random, pairs: (random[:, np.arange(pairs) // 2], random[:, pairs : 2 * pairs])
    ),
    "the radial number is the angular one": _box_muller(
        lambda random, pairs: (random[:, :pairs], random[:, :pairs])
    ),
    "angles of half a circle": _box_muller(
        lambda random, pairs: (random[:, :pairs], random[:, pairs : 2 * pairs] >> np.uint64(1))
    ),
    "length from the numbers of the direction": _length_from_the_direction,
}


@pytest.mark.parametrize("n", [50, 300])
@pytest.mark.parametrize("name", BROKEN)
def test_broken_geometry_is_caught(name: str, n: int) -> None:
    with pytest.raises(AssertionError):
        check_geometry(BROKEN[name], n)
