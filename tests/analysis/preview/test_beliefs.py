"""What a page says of attackers and of words that stay, against direct computations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dxbeam.analysis.attackers.channel import known_channel
from dxbeam.analysis.attackers.noisy_vector import noise_density
from dxbeam.analysis.attackers.prior import Prior
from dxbeam.analysis.measure.settings import promises
from dxbeam.analysis.preview.belief_means import BELIEF_DRAWS, NAMED, Beliefs
from dxbeam.analysis.preview.beliefs import beliefs
from dxbeam.analysis.preview.beliefs_by_formula import sums_over_words
from dxbeam.analysis.preview.chances import chances
from dxbeam.analysis.preview.draws import drawn, new_keys
from dxbeam.mechanisms import MECHANISMS, make_mechanism
from dxbeam.mechanisms.public.base_measure import FrequencyBase
from dxbeam.space.search.neighbors import NeighborSearch
from tests.support import tiny

GRID = [float(f"{value:.3g}") for value in np.geomspace(0.5, 40, 60)]
IDS = np.array([-1, 0, 3, 40, 250])
KEYS = [bytes(range(32)), bytes(range(32, 64))]


@pytest.fixture(scope="module")
def search() -> NeighborSearch:
    return NeighborSearch(tiny.vocabulary(), 1)


@pytest.fixture(scope="module")
def prior(search: NeighborSearch) -> np.ndarray:
    weights = 1 / np.arange(1, len(search.vocabulary) + 1)
    return np.asarray(weights / weights.sum())


@pytest.mark.parametrize("name", ["santext", "tem", "base"])
def test_beliefs_of_released_words_are_those_of_the_formula(
    name: str, search: NeighborSearch, prior: np.ndarray
) -> None:
    base = {"base": FrequencyBase()} if name == "base" else {}
    name = "santext" if base else name
    seen = beliefs(make_mechanism(name, epsilon=1.0, **base), IDS, GRID, prior, search, KEYS)
    assert seen.sees == "word"
    for column, epsilon in enumerate(seen.grid):
        mechanism = make_mechanism(name, epsilon=epsilon, **base)
        [random] = drawn(mechanism, 8, len(IDS) * BELIEF_DRAWS, KEYS[:1])
        random = random[:, : mechanism.draws(8)]
        released = mechanism.release(np.repeat(IDS, BELIEF_DRAWS), random, search)
        channel = known_channel(mechanism, Prior("", prior), search)
        joint = np.concatenate([rows.copy() for _, rows in channel.joint(released)])
        posterior = joint / joint.sum(axis=1, keepdims=True)
        _compare(seen, column, posterior)


@pytest.mark.parametrize("name", ["laplace", "mahalanobis", "gaussian", "vickrey"])
def test_beliefs_of_noisy_vectors_are_those_of_the_density(
    name: str, search: NeighborSearch, prior: np.ndarray
) -> None:
    mechanism = make_mechanism(name, epsilon=1.0)
    seen = beliefs(mechanism, IDS, GRID, prior, search, KEYS)
    assert seen.sees == "vector"
    source = mechanism.source if name == "vickrey" else mechanism
    for column, epsilon in enumerate(seen.grid):
        there = replace(source, epsilon=epsilon)
        density = noise_density(there, search)
        [random] = drawn(there, 8, len(IDS) * BELIEF_DRAWS, KEYS[:1])
        noise = there.noise(random[:, : there.draws(8)], search)
        noisy = there.noise_starts(np.repeat(IDS, BELIEF_DRAWS), search) + noise
        turned = np.eye(8) if density.coordinates is None else density.coordinates
        starts = density.starts(search.vocabulary.vectors.astype(float)) @ turned
        apart = np.linalg.norm((noisy @ turned)[:, None] - starts, axis=2)
        logs = np.log(prior) + density.log_density(apart)
        posterior = np.exp(logs - logs.max(axis=1, keepdims=True))
        _compare(seen, column, posterior / posterior.sum(axis=1, keepdims=True))


def _compare(seen: Beliefs, column: int, posterior: np.ndarray) -> None:
    by_word = posterior.reshape(len(IDS), BELIEF_DRAWS, -1)
    for row, word in enumerate(IDS):
        mean = by_word[row].mean(axis=0)
        shares = seen.shares[row, column]
        np.testing.assert_allclose(shares, np.sort(mean)[::-1][:NAMED], atol=2e-4)
        np.testing.assert_allclose(shares, mean[seen.words[row, column]], atol=2e-4)
        if word >= 0:
            assert abs(seen.truth[row, column] - mean[word]) < 2e-4
            right = (by_word[row].argmax(axis=1) == word).sum()
            assert seen.right[row, column] == right
        else:
            assert seen.truth[row, column] == seen.right[row, column] == 0


def test_every_mechanism_that_is_offered_has_beliefs(
    search: NeighborSearch, prior: np.ndarray
) -> None:
    """Where there is neither a formula nor a density of a length, by simulated pairs."""
    offered = [name for name in MECHANISMS if promises(name) and name != "fluent"]
    kinds = {}
    for name in offered:
        seen = beliefs(make_mechanism(name, epsilon=1.0), IDS, GRID, prior, search, KEYS)
        kinds[name] = seen.sees
        assert seen.shares.min() >= 0
        assert seen.shares.sum(axis=2).max() <= 1 + 1e-5
    assert set(kinds.values()) == {"word", "vector", "pairs"}
    assert kinds["coordinate_laplace"] == kinds["custext"] == "pairs"


def test_sums_over_some_words_are_near_those_over_all(search: NeighborSearch) -> None:
    steps = [make_mechanism("santext", epsilon=epsilon) for epsilon in (0.5, 2.0, 10.0)]
    every = sums_over_words(steps, search)
    for step, row in zip(steps, every, strict=True):
        apart = np.linalg.norm(
            search.vocabulary.vectors[:, None] - search.vocabulary.vectors, axis=2
        )
        np.testing.assert_allclose(row, np.exp(-step.epsilon * apart / 2).sum(axis=1), rtol=1e-3)
    some = sums_over_words(steps, search, 150)
    assert np.abs(np.log(some / every)).mean() < 0.1


@pytest.mark.parametrize("name", ["santext", "tem", "laplace", "vickrey", "base"])
def test_how_likely_words_stay(name: str, search: NeighborSearch) -> None:
    """Counted in 2,000 draws; false alarm below 1 in 10,000, at 5 deviations of each of 20."""
    base = {"base": FrequencyBase()} if name == "base" else {}
    name = "santext" if base else name
    mechanism = make_mechanism(name, epsilon=1.0, **base)
    seen = chances(mechanism, IDS, GRID, search)
    assert seen.stay[0].max() == 0
    columns = range(0, len(seen.grid), len(seen.grid) // 5)
    for column in columns:
        there = make_mechanism(name, epsilon=seen.grid[column], **base)
        [random] = drawn(there, 8, 2_000, new_keys(1))
        random = random[:, : there.draws(8)]
        for row, word in enumerate(IDS[1:].tolist(), 1):
            kept = (there.release(np.full(2_000, word), random, search) == word).mean()
            share = seen.stay[row, column] / (seen.of or 100)
            deviation = np.sqrt(max(kept * (1 - kept), 0.002) * (1 / 2_000 + bool(seen.of) / 32))
            assert abs(share - kept) < 5 * deviation + 0.005 + 0.03 * bool(seen.of)
