"""Bayes on the noisy vector: the words of the largest prior times density, ties by id."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dxbeam.analysis.attackers.noisy_vector import guess_from_vectors, has_noise_density
from dxbeam.analysis.attackers.prior import Prior, uniform_prior
from dxbeam.errors import ConfigurationError
from dxbeam.mechanisms import MECHANISMS, AddsNoise, make_mechanism
from dxbeam.mechanisms.mahalanobis import shape_of
from dxbeam.mechanisms.sampling.clipping import clipped
from dxbeam.space.search.neighbors import NeighborSearch
from tests.support.attacked import drawn, tabled, zipf
from tests.support.vocabularies import grid_vocabulary, of

WORDS, N = 300, 6
SETTINGS = {
    "laplace": {"epsilon": 2.0},
    "vickrey": {"epsilon": 2.0},
    "gaussian": {"epsilon": 4.0},
    "mahalanobis": {"epsilon": 2.0, "covariance_weight": 0.5},
    "coordinate_laplace": {"epsilon": 2.0, "clip": 4.0},
    "trlaplace": {"epsilon": 2.0},
    "trlaplace_published": {"epsilon": 0.05},
}


@pytest.fixture(scope="module")
def search() -> NeighborSearch:
    return tabled(WORDS, N)


def _log_density(name: str, noisy: np.ndarray, search: NeighborSearch) -> np.ndarray:
    """From the definitions, for every word, in float64."""
    mechanism = make_mechanism(name, **SETTINGS[name])
    words = search.vocabulary.vectors.astype(np.float64)
    epsilon = mechanism.epsilon
    if name not in ("laplace", "vickrey", "gaussian", "mahalanobis"):
        apart = np.abs(noisy - clipped(words, mechanism.clip))
        logs = -epsilon / math.sqrt(N) * apart.sum(axis=1)
        if "limit" in dir(mechanism):
            logs[apart.max(axis=1) > mechanism.limit(N) + 1e-9] = -np.inf
        return logs
    difference = noisy - words
    if name == "gaussian":
        return -np.square(difference).sum(axis=1) / (2 * mechanism.sigma**2)
    if name == "mahalanobis":
        inverse = np.linalg.inv(shape_of(search.vocabulary, mechanism.covariance_weight))
        return -epsilon * np.sqrt(np.einsum("ij,jk,ik->i", difference, inverse, difference))
    return -epsilon * np.sqrt(np.square(difference).sum(axis=1))


@pytest.mark.parametrize("name", SETTINGS)
def test_guesses_are_those_of_the_definition(name: str, search: NeighborSearch) -> None:
    mechanism, prior = make_mechanism(name, **SETTINGS[name]), zipf(WORDS)
    noisy = drawn(mechanism, None, prior, 200, search).noisy
    assert noisy is not None
    guesses = guess_from_vectors(mechanism, noisy, prior, 10, search)
    for vector, found in zip(noisy, guesses, strict=True):
        scores = _log_density(name, vector, search) + np.log(prior.shares)
        assert found.tolist() == np.lexsort((np.arange(WORDS), -scores))[:10].tolist()


def test_of_clipped_words_with_normal_noise_too(search: NeighborSearch) -> None:
    mechanism, prior = make_mechanism("gaussian", epsilon=4.0, clip=2.0), zipf(WORDS)
    words = clipped(search.vocabulary.vectors.astype(np.float64), 2.0)
    assert (np.linalg.norm(search.vocabulary.vectors, axis=1) > 2.0).sum() > WORDS / 10
    noisy = drawn(mechanism, 0.1, prior, 50, search).noisy
    assert noisy is not None
    guesses = guess_from_vectors(mechanism, noisy, prior, 10, search)
    for query, found in zip(noisy, guesses, strict=True):
        logs = -np.square(query - words).sum(axis=1) / (2 * mechanism.sigma**2)
        scores = logs + np.log(prior.shares)
        assert found.tolist() == np.lexsort((np.arange(WORDS), -scores))[:10].tolist()


@pytest.mark.parametrize("name", ["laplace", "gaussian"])
def test_without_a_prior_the_guess_is_what_the_mechanism_chose(
    name: str, search: NeighborSearch
) -> None:
    mechanism, prior = make_mechanism(name, **SETTINGS[name]), uniform_prior(WORDS)
    draws = drawn(mechanism, 0.1, prior, 500, search)
    assert draws.noisy is not None
    guesses = guess_from_vectors(mechanism, draws.noisy, prior, 1, search)[:, 0]
    assert (guesses == draws.chosen).all()
    assert (draws.chosen != draws.released).any()


def test_ties_go_to_the_lowest_id_whatever_the_batch() -> None:
    """Midpoints of a grid: four words at one distance, and copies of every word."""
    grid = grid_vocabulary(4, 2).vectors
    search = NeighborSearch(of(np.concatenate([grid, grid]) * np.float32(1e3) / 3))
    middle = (grid[:8].astype(np.float64) + grid[5:13]) / 2 * 1e3 / 3
    mechanism, prior = make_mechanism("laplace", epsilon=0.01), uniform_prior(32)
    together = guess_from_vectors(mechanism, middle, prior, 4, search)
    alone = [guess_from_vectors(mechanism, row[None], prior, 4, search)[0] for row in middle]
    assert (together == alone).all()
    exact = np.stack(
        [np.square(search.vocabulary.vectors.astype(float) - row).sum(axis=1) for row in middle]
    )
    for row, found in zip(exact, together, strict=True):
        assert found.tolist() == np.lexsort((np.arange(32), np.sqrt(row)))[:4].tolist()


def test_a_word_from_which_no_noise_leads_there_is_never_guessed() -> None:
    search = NeighborSearch(of([[0.0], [4.0]]))
    mechanism = make_mechanism("trlaplace", epsilon=5.0, clip=4.0, delta=0.4)
    beyond = np.array([[4.0 - 1.1 * mechanism.limit(1)]])
    likely = Prior("nearly sure", np.array([1e-9, 1 - 1e-9]))
    assert guess_from_vectors(mechanism, beyond, likely, 1, search).tolist() == [[0]]


def test_only_noise_of_a_known_density_can_be_attacked(search: NeighborSearch) -> None:
    for name in MECHANISMS:
        mechanism = make_mechanism(name, epsilon=0.05)
        assert has_noise_density(mechanism) == (name in SETTINGS)
        assert isinstance(mechanism, AddsNoise) or name not in SETTINGS
        if name not in SETTINGS:
            with pytest.raises(ConfigurationError, match="attack the released word instead"):
                guess_from_vectors(mechanism, np.zeros((1, N)), zipf(WORDS), 1, search)


def test_vickrey_is_attacked_by_the_noise_that_it_adds(search: NeighborSearch) -> None:
    vickrey = make_mechanism("vickrey", epsilon=2.0, noise_of="mahalanobis")
    source = make_mechanism("mahalanobis", epsilon=2.0)
    noisy = search.vocabulary.vectors[:20] + np.ones(N)
    guesses = [guess_from_vectors(m, noisy, zipf(WORDS), 3, search) for m in (vickrey, source)]
    assert np.array_equal(*guesses)
