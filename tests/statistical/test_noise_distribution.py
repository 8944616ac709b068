"""The noise's distribution: length, direction, independence of rows. False-alarm rate 1e-6 a test.

Sixteen broken samplers, each caught in at least one dimension, show that the checks can fail.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from dxbeam.mechanisms.sampling.noise import laplace, normal_pairs, uniform
from tests.support.distributions import Floats, Sampler, check_noise, is_caught, random_numbers

pytestmark = pytest.mark.exhaustive

DIMENSIONS = (1, 2, 3, 50, 300)


@pytest.mark.parametrize("n", DIMENSIONS)
def test_length_is_gamma_and_direction_uniform(n: int) -> None:
    check_noise(laplace, n)


def _with_length(length: Callable[[int, int], Floats]) -> Sampler:
    """Right directions with lengths of another distribution, in units of 1/epsilon."""

    def sample(random: np.ndarray, n: int, epsilon: float) -> Floats:
        noise = laplace(random, n, epsilon)
        lengths = length(len(noise), n) / epsilon
        return noise / np.linalg.norm(noise, axis=1, keepdims=True) * lengths[:, None]

    return sample


def _with_direction(direction: Callable[[int, int], Floats]) -> Sampler:
    """Right lengths in other directions."""

    def sample(random: np.ndarray, n: int, epsilon: float) -> Floats:
        lengths = np.linalg.norm(laplace(random, n, epsilon), axis=1, keepdims=True)
        other = direction(len(random), n)
        return other / np.linalg.norm(other, axis=1, keepdims=True) * lengths

    return sample


def _changed(change: Callable[[Floats], Floats]) -> Sampler:
    return lambda random, n, epsilon: change(laplace(random, n, epsilon))


_G = np.random.default_rng(7)

BROKEN: dict[str, Sampler] = {
    "gamma of shape 1": _with_length(lambda rows, n: _G.gamma(1, 1, rows)),
    "gamma of shape n - 1": _with_length(lambda rows, n: _G.gamma(max(n - 1, 0.5), 1, rows)),
    "length capped at its 99 % quantile": _changed(
        lambda x: (
            x * np.minimum(1, 120 / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-9))
            if x.shape[1] == 300
            else x * np.minimum(1, 1.5 / np.linalg.norm(x, axis=1, keepdims=True))
        )
    ),
    "epsilon inverted": lambda random, n, epsilon: laplace(random, n, 1 / epsilon),
    "epsilon doubled": lambda random, n, epsilon: laplace(random, n, 2 * epsilon),
    "epsilon 1 % too large": lambda random, n, epsilon: laplace(random, n, 1.01 * epsilon),
    "no noise": _changed(lambda x: 0 * x),
    "one noise for all words": _changed(lambda x: np.repeat(x[:1], len(x), axis=0)),
    "one direction for all words": _with_direction(lambda rows, n: np.ones((rows, n))),
    "batch normalised": _changed(lambda x: x / np.linalg.norm(x, axis=0) * np.sqrt(len(x))),
    "float16": _changed(lambda x: x.astype(np.float16).astype(np.float64)),
    "float32": _changed(lambda x: x.astype(np.float32).astype(np.float64)),
    "directions of a cube": _with_direction(lambda rows, n: _G.uniform(-1, 1, (rows, n))),
    "Laplace on each coordinate": lambda random, n, epsilon: _G.laplace(
        0, 1 / epsilon, (len(random), n)
    ),
    "Gaussian of equal variance": lambda random, n, epsilon: _G.normal(
        0, np.sqrt(n + 1) / epsilon, (len(random), n)
    ),
    "never negative": _changed(np.abs),
    "each noise used twice": _changed(lambda x: np.repeat(x[::2], 2, axis=0)[: len(x)]),
    "noise and its mirror image": _changed(
        lambda x: np.stack([x[::2], -x[::2]], axis=1).reshape(-1, x.shape[1])[: len(x)]
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_noiseis_caught(check_noise, name: str) -> None:
    assert any(is_caught(check_noise, BROKEN[name], n) for n in DIMENSIONS)


def test_uniform_numbers_reach_the_tails_and_never_zero() -> None:
    ends = np.array([0, 2**64 - 1], np.uint64)
    assert uniform(ends).tolist() == [2.0**-64, 1.0]
    largest = normal_pairs(np.zeros((1, 1), np.uint64), np.zeros((1, 1), np.uint64))
    assert np.isclose(largest.max(), np.sqrt(128 * np.log(2)))


@pytest.mark.parametrize("n", DIMENSIONS)
def test_a_rows_noise_depends_on_its_own_numbers_alone(n: int) -> None:
    random = random_numbers(101, 2 * n + 4, seed=3)
    together = laplace(random, n, 2.0)
    alone = np.concatenate([laplace(random[i : i + 1], n, 2.0) for i in range(101)])
    assert (together == alone).all()
