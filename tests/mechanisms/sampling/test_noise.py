"""What noise.py promises beyond its distribution: finite at the ends, fixed costs, a stream."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dxbeam.mechanisms import make_mechanism
from dxbeam.mechanisms.laplace import Laplace
from dxbeam.mechanisms.sampling.noise import (
    TAIL_DRAWS,
    coordinate_laplace,
    gaussian,
    gaussian_draws,
    laplace,
    laplace_draws,
    normal_pairs,
    uniform,
)
from dxbeam.randomness import fill
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.space.vocabulary.words import Vocabulary
from tests.support.distributions import border, exact_draw, random_numbers

KEY = bytes(range(32))
NUMBERS = st.lists(
    st.integers(0, 2**64 - 1) | st.sampled_from([0, 1, 2**53, 2**63, 2**64 - 2, 2**64 - 1]),
    min_size=40,
    max_size=40,
)


def test_uniform_numbers_keep_their_order_and_the_precision_of_small_ones() -> None:
    powers = np.array([2**k - 1 for k in range(65)], np.uint64)
    assert uniform(powers).tolist() == [2.0 ** (k - 64) for k in range(65)]
    random = np.sort(np.random.default_rng(0).integers(0, 2**64, 1000, dtype=np.uint64))
    assert (np.diff(uniform(random)) >= 0).all()


SHARES = [Fraction(3, 2**k) for k in (2, 19, 43, 62, 65, 90, 130, 511, 900)]


@pytest.mark.parametrize("share", SHARES)
def test_uniform_numbers_are_relatively_exact_however_small(share: Fraction) -> None:
    row = exact_draw(share)[None]
    [number] = uniform(row[:, 0], row[:, 1:])
    assert abs(number / float(share) - 1) < 2.0**-42
    assert uniform(np.zeros(1, np.uint64), np.zeros((1, TAIL_DRAWS), np.uint64))[0] > 0


@pytest.mark.parametrize("share", SHARES)
def test_no_tail_has_an_end(share: Fraction) -> None:
    """Every sampler at a uniform number of this size, against the inverse distribution function."""
    exponential = -np.log(float(share))
    length = np.sqrt(2 * exponential)
    # One dimension: a pair's radius, its angle (0 to float64), an exponential, the two tails.
    radial, rest = exact_draw(share), exact_draw(Fraction(3, 8))
    angle = np.zeros(1, np.uint64)
    row = np.concatenate([radial[:1], angle, rest[:1], radial[1:], rest[1:]])
    other = np.concatenate([rest[:1], angle, radial[:1], rest[1:], radial[1:]])
    noise = laplace(np.stack([row, other]), 1, 1.0)[:, 0]
    expected = length * np.sqrt(-2 * np.log(3 / 8))
    assert noise == pytest.approx([expected, expected], rel=1e-12)
    row = np.concatenate([radial[:1], angle, radial[1:]])[None]
    assert row.shape[1] == gaussian_draws(1)
    assert gaussian(row, 1, 0.5)[0, 0] == pytest.approx(length / 2, rel=1e-12)
    row = exact_draw(share, bits=63)[None]
    assert coordinate_laplace(row, 1, 2.0)[0, 0] == pytest.approx(exponential / 2, rel=1e-12)
    row[0, 0] |= np.uint64(1 << 63)
    assert coordinate_laplace(row, 1, 2.0)[0, 0] == pytest.approx(-exponential / 2, rel=1e-12)


@pytest.mark.parametrize(("rate", "limit"), [(2.0, 1.0), (10.0, 11.3), (10.0, 30.0), (1.0, 500.0)])
def test_truncated_noise_has_no_gap_and_no_atom(rate: float, limit: float) -> None:
    """How probable it is to be above a size, as run, from the bulk to next to the limit."""

    def size(share: Fraction) -> float:
        return float(coordinate_laplace(exact_draw(share, 63)[None], 1, rate, limit)[0, 0])

    whole = -np.expm1(-rate * limit)
    for part in (0.01, 0.3, 0.9, 0.999, 1 - 1e-6):
        beyond = border(lambda share, part=part: size(share) > part * limit)  # type: ignore[misc]
        exact = np.exp(-rate * part * limit) * -np.expm1(-rate * limit * (1 - part)) / whole
        assert float(beyond) == pytest.approx(exact, rel=1e-9)
    assert size(Fraction(0)) <= limit
    at_the_limit = border(lambda share: size(share) == limit)
    assert float(at_the_limit) <= 1e-12 * np.exp(-rate * limit)
    assert size(Fraction(1)) < 1e-15


@given(NUMBERS, st.integers(1, 4))
def test_noise_is_finite_whatever_the_random_numbers(numbers: list[int], n: int) -> None:
    random = np.array([numbers], np.uint64)
    noise = laplace(random, n, 2.0)
    assert noise.shape == (1, n)
    assert noise.dtype == np.float64
    # Neither part can be larger: lengths of 36.5 a pair, and 666 an exponential.
    assert np.abs(noise).max() <= 36.5 * np.sqrt(2 * 666 * ((n + 1) // 2 + 1)) / 2


@given(NUMBERS)
def test_normals_are_finite_whatever_the_random_numbers(numbers: list[int]) -> None:
    random = np.array(numbers, np.uint64)
    normals = normal_pairs(random[:6], random[6:12])
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
    tails = draws - 2 * TAIL_DRAWS
    for column in range(tails):
        changed = random.copy()
        changed[:, column] ^= np.uint64(2**62)
        assert (laplace(changed, n, 1.0) != noise).any(), f"number {column} is never looked at"
    random[:, :draws] = 0
    noise = laplace(random, n, 1.0)
    for column in range(tails, draws):
        changed = random.copy()
        changed[:, column] = 2**63
        assert (laplace(changed, n, 1.0) != noise).any(), f"number {column} is never looked at"


def test_no_words_no_noise() -> None:
    assert laplace(np.empty((0, laplace_draws(3)), np.uint64), 3, 1.0).shape == (0, 3)


@pytest.mark.parametrize(
    ("n", "expected"),
    [
        (1, [0.0732261661918835]),
        (2, [0.01362188365464041, 0.350568408185453]),
        (3, [0.4485608754463859, 1.123526125230629, -0.19514840359313018]),
    ],
)
def test_a_fixed_key_gives_this_noise_for_ever(n: int, expected: list[float]) -> None:
    """Pins the sampler: a change of the stream breaks every release with a kept key."""
    random = np.empty((1, 2 * laplace_draws(n)), np.uint64)
    fill(KEY, 5, random)
    assert np.allclose(laplace(random, n, 2.0)[0], expected, rtol=1e-12, atol=0)


def test_the_promise_of_rounding_is_limited_to_words_that_are_told_apart() -> None:
    """Three words 1e-20 apart under noise of the size of 0.1: the last one should have half.

    So no figure of how seldom rounding changes a word can be printed for every vocabulary.
    """
    places = np.array([[2e-20], [3e-20], [4e-20]], np.float32)
    search = NeighborSearch(Vocabulary(list("abc"), places))
    random = random_numbers(20_000, laplace_draws(1), seed=0)
    mechanism = Laplace(10.0)
    released = np.bincount(mechanism.release(np.zeros(20_000, np.int64), random, search)) / 20_000
    assert released[0] > 0.99, "words that close are not told apart"
    wide = NeighborSearch(Vocabulary(list("abc"), places * np.float32(1e10)))
    released = np.bincount(mechanism.release(np.zeros(20_000, np.int64), random, wide)) / 20_000
    assert np.abs(released - [0.5, 0.0, 0.5]).max() < 0.02, "six standard deviations"
    for name in ("laplace", "mahalanobis", "gaussian", "coordinate_laplace", "trlaplace"):
        said = make_mechanism(name, epsilon=10.0).guarantee().arithmetic
        assert "10^13 words with the demo vocabulary at epsilon 5 and 10" in said
        assert "Words closer than 2^-46 of the noise may not be told apart" in said
