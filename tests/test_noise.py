"""What noise.py promises beyond the law: finite at the ends, fixed costs, a pinned stream."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dxbeam.noise import laplace, laplace_draws, normal_pairs, uniform
from dxbeam.randomness import fill

KEY = bytes(range(32))
NUMBERS = st.lists(
    st.integers(0, 2**64 - 1) | st.sampled_from([0, 1, 2**53, 2**63, 2**64 - 2, 2**64 - 1]),
    min_size=12,
    max_size=12,
)


def test_uniform_numbers_keep_their_order_and_the_precision_of_small_ones() -> None:
    powers = np.array([2**k - 1 for k in range(65)], np.uint64)
    assert uniform(powers).tolist() == [2.0 ** (k - 64) for k in range(65)]
    random = np.sort(np.random.default_rng(0).integers(0, 2**64, 1000, dtype=np.uint64))
    assert (np.diff(uniform(random)) >= 0).all()


@given(NUMBERS, st.integers(1, 4))
def test_noise_is_finite_whatever_the_random_numbers(numbers: list[int], n: int) -> None:
    random = np.array([numbers], np.uint64)
    noise = laplace(random, n, 2.0)
    assert noise.shape == (1, n)
    assert noise.dtype == np.float64
    # Neither part can be larger: lengths of 9.42 a pair, and 44.4 an exponential.
    assert np.abs(noise).max() <= 9.43 * np.sqrt(2 * 44.4 * ((n + 1) // 2 + 1)) / 2


@given(NUMBERS)
def test_normals_are_finite_whatever_the_random_numbers(numbers: list[int]) -> None:
    random = np.array(numbers, np.uint64)
    normals = normal_pairs(random[:6], random[6:])
    assert normals.shape == (12,)
    assert np.isfinite(normals).all()


@pytest.mark.parametrize("n", [1, 2, 3, 50, 300])
def test_epsilon_is_a_scale_and_nothing_else(n: int) -> None:
    random = np.random.default_rng(n).integers(0, 2**64, (40, laplace_draws(n)), dtype=np.uint64)
    once = laplace(random, n, 1.0)
    assert np.allclose(laplace(random, n, 7.0) * 7.0, once, rtol=1e-14, atol=0)


@pytest.mark.parametrize("n", [1, 2, 3, 50, 300])
def test_exactly_the_numbers_that_are_paid_for_are_used(n: int) -> None:
    draws = laplace_draws(n)
    random = np.random.default_rng(n).integers(0, 2**64, (4, draws + 3), dtype=np.uint64)
    noise = laplace(random, n, 1.0)
    assert (laplace(random[:, :draws].copy(), n, 1.0) == noise).all()
    for column in range(draws):
        changed = random.copy()
        changed[:, column] ^= np.uint64(2**62)
        assert (laplace(changed, n, 1.0) != noise).any(), f"number {column} is never looked at"


def test_no_words_no_noise() -> None:
    assert laplace(np.empty((0, laplace_draws(3)), np.uint64), 3, 1.0).shape == (0, 3)


@pytest.mark.parametrize(
    ("n", "expected"),
    [
        (1, [0.01246772200791097]),
        (2, [-0.9777006862881945, -1.0319455383887501]),
        (3, [-1.0284383399608177, -3.1347882272932175, -0.4908771495480084]),
    ],
)
def test_a_fixed_key_gives_this_noise_for_ever(n: int, expected: list[float]) -> None:
    """Pins the sampler: a change of the stream breaks every release with a kept key."""
    random = np.empty((1, 2 * laplace_draws(n)), np.uint64)
    fill(KEY, 5, random)
    assert np.allclose(laplace(random, n, 2.0)[0], expected, rtol=1e-12, atol=0)
