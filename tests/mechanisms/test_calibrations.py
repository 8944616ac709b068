"""Numbers that mechanisms derive from their parameters, against other ways to compute them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dxbeam.errors import ConfigurationError
from dxbeam.mechanisms import make_mechanism
from dxbeam.mechanisms.coordinate_laplace import CoordinateLaplace
from dxbeam.mechanisms.gaussian import Gaussian
from dxbeam.mechanisms.mahalanobis import Mahalanobis, shape_of
from dxbeam.mechanisms.published.truncated_gumbel import candidate_counts
from dxbeam.mechanisms.sampling.clipping import clipped
from dxbeam.mechanisms.sampling.noise import coordinate_laplace, gaussian, gaussian_draws
from dxbeam.mechanisms.santext_plus import SanTextPlus
from dxbeam.mechanisms.tem import TEM
from dxbeam.mechanisms.vickrey import Vickrey
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.space.vocabulary.words import Vocabulary
from tests.support.distributions import ALPHA, random_numbers
from tests.support.vocabularies import of, with_neighbors

pytestmark = pytest.mark.slow  # all of them together


def gaussian_delta(sigma: float, distance: float, epsilon: float) -> float:
    """The smallest true delta of Gaussian noise (Balle and Wang 2018, theorem 8)."""
    ratio, loss = distance / sigma, epsilon * distance
    return float(
        stats.norm.cdf(ratio / 2 - loss / ratio)
        - math.exp(loss) * stats.norm.cdf(-ratio / 2 - loss / ratio)
    )


@given(
    st.floats(0.1, 30),
    st.floats(1e-12, 0.1),
    st.floats(0.1, 20),
    st.floats(1e-3, 1),
)
def test_the_gaussian_delta_is_kept_at_every_distance(
    epsilon: float, delta: float, distance: float, share: float
) -> None:
    sigma = Gaussian(epsilon, delta, distance).sigma
    assert gaussian_delta(sigma, distance * share, epsilon) <= delta
    exceeds = stats.norm.sf(epsilon * sigma - distance / (2 * sigma))
    assert exceeds == pytest.approx(delta, rel=1e-6), "no more noise than the proof needs"


@given(st.floats(0.01, 30), st.floats(1e-10, 0.4), st.floats(0.1, 10), st.floats(1e-3, 1))
def test_of_clipped_vectors_the_gaussian_delta_is_kept_with_less_noise(
    epsilon: float, delta: float, clip: float, share: float
) -> None:
    sigma = Gaussian(epsilon, delta, clip=clip).sigma
    assert sigma <= Gaussian(epsilon, delta, 2 * clip).sigma
    if 2 * epsilon * clip < 300:  # beyond, the reference overflows
        nearer, farthest = (
            gaussian_delta(sigma, 2 * clip * part, epsilon) for part in (share, 1.0)
        )
        assert nearer <= farthest * (1 + 1e-6) + 1e-13
        assert farthest == pytest.approx(delta, rel=1e-4, abs=1e-13), "and no more than it needs"


def test_the_analytic_deviation_is_the_papers() -> None:
    """Balle and Wang 2018, figure 1: the classical one is too large below 1, and false above it."""
    epsilon, delta = 0.5, 1e-5
    classical = math.sqrt(2 * math.log(1.25 / delta)) * 2 / epsilon
    assert 0.7 < Gaussian(epsilon / 2, delta, clip=1.0).sigma / classical < 0.9
    assert Gaussian(100.0, 1e-6, clip=50.0).sigma > 0, "where exp(loss) is no float"


def test_a_distance_that_clipped_vectors_do_not_have_is_refused() -> None:
    assert Gaussian(1.0, distance=3.0, clip=1.5) == Gaussian(1.0, clip=1.5)
    with pytest.raises(ConfigurationError, match=r"at most 3 apart.*leave distance out"):
        Gaussian(1.0, distance=4.0, clip=1.5)


@pytest.mark.parametrize("n", [1, 2, 7])
def test_coordinates_have_their_distributions(n: int) -> None:
    """Kolmogorov and Smirnov, false-alarm rate 1e-6 each."""
    rows, rate, limit, sigma = 20_000, 1.7, 0.8, 0.6
    random = random_numbers(rows, gaussian_draws(n), seed=n)
    noise = gaussian(random, n, sigma)
    assert stats.kstest(noise.ravel(), stats.norm(scale=sigma).cdf).pvalue > ALPHA
    numbers = random_numbers(rows, n, seed=n + 50)
    noise = coordinate_laplace(numbers, n, rate)
    assert stats.kstest(noise.ravel(), stats.laplace(scale=1 / rate).cdf).pvalue > ALPHA
    noise = coordinate_laplace(numbers, n, rate, limit)
    assert np.abs(noise).max() <= limit
    inside = stats.laplace(scale=1 / rate)
    share = inside.cdf(noise) - inside.cdf(-limit)
    distribution = share / (inside.cdf(limit) - inside.cdf(-limit))
    assert stats.kstest(distribution.ravel(), "uniform").pvalue > ALPHA


def test_clipping_shortens_and_brings_nothing_further_apart() -> None:
    vectors = np.random.default_rng(0).normal(size=(200, 9)) * 3
    short = clipped(vectors, 5.0)
    lengths = np.linalg.norm(short, axis=1)
    assert lengths.max() <= 5.0 * (1 + 1e-15)
    inside = np.linalg.norm(vectors, axis=1) <= 5.0
    assert np.array_equal(short[inside], vectors[inside])
    before = np.linalg.norm(vectors[1:] - vectors[:-1], axis=1)
    after = np.linalg.norm(short[1:] - short[:-1], axis=1)
    assert (after <= before * (1 + 1e-15)).all()
    assert clipped(np.zeros((1, 9)), 5.0).tolist() == [[0.0] * 9]


def test_clipping_is_part_of_the_mechanism() -> None:
    """Words beyond the ball in one direction cannot be told apart."""
    vectors = np.array([[1.0, 0.0], [40.0, 0.0], [90.0, 0.0]], np.float32)
    search = NeighborSearch(Vocabulary(["a", "b", "c"], vectors))
    mechanism = CoordinateLaplace(1.0, clip=2.0)
    random = random_numbers(2000, 2, seed=4)
    released = [mechanism.release(np.full(2000, word), random, search) for word in (1, 2)]
    assert np.array_equal(*released)


def test_the_covariance_is_scaled_and_regularized() -> None:
    words = with_neighbors(500, 6)
    vectors = words.vectors.astype(np.float64)
    covariance = np.cov(vectors, rowvar=False)
    expected = 0.3 * covariance * 6 / covariance.trace() + 0.7 * np.eye(6)
    assert np.allclose(shape_of(words, 0.3), expected, rtol=1e-10)
    assert np.linalg.eigvalsh(shape_of(words, 0.3)).min() >= 0.7
    same = Vocabulary(["a", "b"], np.ones((2, 3), np.float32))
    assert np.allclose(shape_of(same, 0.3), 0.7 * np.eye(3)), "words at one place"


def test_stretched_noise_has_a_gamma_length_once_it_is_unstretched() -> None:
    words = with_neighbors(500, 6)
    mechanism, search = Mahalanobis(3.0, 0.6), NeighborSearch(words)
    noise = mechanism.noise(random_numbers(20_000, mechanism.draws(6), seed=9), search)
    inverse = np.linalg.inv(shape_of(words, 0.6))
    lengths = np.sqrt(np.einsum("bi,ij,bj->b", noise, inverse, noise))
    assert stats.kstest(lengths, stats.gamma(6, scale=1 / 3.0).cdf).pvalue > ALPHA
    assert Mahalanobis(3.0, 0.6).guarantee().euclidean_epsilon == pytest.approx(3 / math.sqrt(0.4))


def test_vickrey_takes_the_second_word_as_often_as_its_distance_says() -> None:
    """On a line the noisy word's place and the two distances are known: exact integration."""
    places, epsilon, t, rows = np.array([-1.0, 0.2, 1.5]), 1.3, 0.4, 60_000
    search = NeighborSearch(Vocabulary(["a", "b", "c"], places[:, None].astype(np.float32)))
    mechanism = Vickrey(epsilon, t)
    grid = np.linspace(-30, 30, 600_001)
    apart = np.abs(grid[:, None] - places.astype(np.float32))
    order = np.argsort(apart, axis=1)
    near, far = (np.take_along_axis(apart, order[:, i : i + 1], 1)[:, 0] for i in (0, 1))
    first = (1 - t) * far / (t * near + (1 - t) * far)
    for word in range(3):
        density = np.exp(-epsilon * np.abs(grid - places[word])) * epsilon / 2
        distribution = np.array(
            [
                (density * np.where(order[:, 0] == z, first, 0)).sum()
                + (density * np.where(order[:, 1] == z, 1 - first, 0)).sum()
                for z in range(3)
            ]
        ) * (grid[1] - grid[0])
        random = random_numbers(rows, mechanism.draws(1), seed=word)
        released = mechanism.release(np.full(rows, word), random, search)
        counts = np.bincount(released, minlength=3)
        assert stats.chisquare(counts, distribution / distribution.sum() * rows).pvalue > ALPHA


def test_vickrey_at_its_ends() -> None:
    search = NeighborSearch(with_neighbors())
    ids = np.arange(300)
    random = random_numbers(300, Vickrey(2.0).draws(7), seed=1)
    laplace = make_mechanism("laplace", epsilon=2.0).release(ids, random, search)
    assert np.array_equal(Vickrey(2.0, 0.0).release(ids, random, search), laplace)
    assert (Vickrey(2.0, 1.0).release(ids, random, search) != laplace).all()


def test_the_number_of_candidates_is_a_truncated_poisson_number() -> None:
    shares = candidate_counts(300)
    distribution = stats.poisson(math.log(300))
    k = np.arange(1, len(shares) + 1)
    exact = distribution.sf(k - 1) / distribution.sf(0)
    assert np.allclose(shares[:40], exact[:40], rtol=1e-9, atol=0)
    assert shares[64] == pytest.approx(exact[64], rel=0.1), "cut off at 65"
    assert len(candidate_counts(3)) == 3


def test_gamma_is_the_papers() -> None:
    assert TEM(10.0).gamma(33_860) == pytest.approx(0.2 * math.log(0.999 * 33_859 / 0.001))
    assert TEM(10.0).gamma(1) == pytest.approx(0.2 * math.log(999))


def test_what_is_sensitive() -> None:
    assert SanTextPlus(5.0, sensitive=0.25).first_sensitive(100) == 75
    assert SanTextPlus(5.0, sensitive=1.0).first_sensitive(100) == 0
    assert SanTextPlus(5.0, sensitive=1e-9).first_sensitive(100) == 99


@pytest.mark.parametrize(
    ("name", "parameters", "said"),
    [
        ("gaussian", {"delta": 0.5}, "delta must be at least 1e-15 and below 0.5"),
        ("gaussian", {"delta": 0}, "delta"),
        ("gaussian", {"distance": -1}, "distance must be a positive"),
        ("gaussian", {"clip": 0}, "clip must be a positive"),
        ("coordinate_laplace", {"clip": 0}, "clip must be a positive"),
        ("trlaplace", {"clip": "nan"}, "clip must be a positive"),
        ("trlaplace", {"delta": 2}, "delta"),
        ("mahalanobis", {"covariance_weight": 1}, "at most 0.999999, not 1"),
        ("mahalanobis", {"covariance_weight": 1 - 1e-15}, "at most 0.999999"),
        ("mahalanobis", {"covariance_weight": -0.1}, "between 0 and 1"),
        ("vickrey", {"t": 1.1}, "t must be between 0 and 1"),
        ("santext_plus", {"p": 2}, "p must be between 0 and 1"),
        ("santext_plus", {"sensitive": 0}, "sensitive must be above 0"),
        ("tem", {"beta": 0}, "beta must be above 0"),
        ("tem", {"beta": 0.7}, "below 0.5"),
    ],
)
def test_parameters_out_of_range_are_refused(
    name: str, parameters: dict[str, float | str], said: str
) -> None:
    with pytest.raises(ConfigurationError, match=said):
        make_mechanism(name, epsilon=3.0, **parameters)


def test_stretched_noise_has_the_vocabularys_covariance() -> None:
    """Along the ray on which words lie it is widest; a transposed factor turns it away from there.

    20,000 draws, at six standard deviations.
    """
    n, along = 2, np.array([0.6, 0.8])
    places = np.linspace(-3, 3, 50)[:, None] * along
    search = NeighborSearch(of(places))
    mechanism = Mahalanobis(1.0, 0.9)
    noise = mechanism.noise(random_numbers(20_000, mechanism.draws(n), seed=0), search)
    expected = 0.9 * n * np.outer(along, along) + 0.1 * np.eye(n)
    covariance = noise.T @ noise / len(noise)
    covariance *= np.trace(expected) / np.trace(covariance)
    assert np.abs(covariance - expected).max() < 0.06
    assert expected[1, 1] - expected[0, 0] > 0.5, "a transposed factor swaps these or worse"
