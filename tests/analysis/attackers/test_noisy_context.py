"""The attacker that reads noisy vectors in order: its candidates, and what context adds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import softmax

from dxbeam.analysis.attackers.context import read_texts, share_right
from dxbeam.analysis.attackers.noisy_context import candidates_from_vectors
from dxbeam.analysis.attackers.word_pairs import learn_pairs
from dxbeam.mechanisms import make_mechanism
from dxbeam.space.search.neighbors import NeighborSearch
from tests.support.attacked import drawn, tabled, zipf
from tests.support.every_word import log_emissions

WORDS = 60


@pytest.fixture(scope="module")
def search() -> NeighborSearch:
    return tabled(WORDS, 4)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("laplace", {}),
        ("vickrey", {}),
        ("mahalanobis", {"covariance_weight": 0.5}),
        ("gaussian", {"clip": 3.0, "delta": 0.01}),
        ("coordinate_laplace", {"clip": 3.0}),
        ("trlaplace", {"clip": 3.0, "delta": 0.3}),
    ],
)
def test_candidates_have_the_posterior_of_the_definition(
    name: str, parameters: dict[str, float], search: NeighborSearch
) -> None:
    mechanism, prior = make_mechanism(name, epsilon=2.0, **parameters), zipf(WORDS)
    noisy = drawn(mechanism, None, prior, 40, search).noisy
    assert noisy is not None
    logs = log_emissions(mechanism, search.vocabulary, noisy)[:, :-1] + np.log(prior.shares)
    found = candidates_from_vectors(mechanism, noisy, prior, search, WORDS)
    exact = np.take_along_axis(softmax(logs, axis=1), found.ids, axis=1)
    np.testing.assert_allclose(found.posterior, exact, rtol=1e-4, atol=1e-9)
    assert (np.sort(found.ids, axis=1) == np.arange(WORDS)).all()


def test_context_tells_words_that_single_vectors_do_not(search: NeighborSearch) -> None:
    """Each word is followed by the next one; by six standard errors over 40 texts."""
    texts = [(start + np.arange(20)) % WORDS for start in range(40)]
    pairs = learn_pairs([np.arange(10 * WORDS) % WORDS], WORDS)
    mechanism, prior = make_mechanism("laplace", epsilon=1.0), zipf(WORDS)
    random = np.random.default_rng(1).integers(0, 2**64, (800, mechanism.draws(4)), dtype=np.uint64)
    every = np.concatenate(texts)
    noisy = search.vocabulary.vectors_of(every) + mechanism.noise(random, search)
    candidates = candidates_from_vectors(mechanism, noisy, prior, search)
    alone = share_right(texts, np.split(candidates.ids[:, 0], 40))
    share, low, _ = share_right(texts, read_texts(candidates, texts, pairs))
    assert share - 6 * (share - low) / 1.96 > alone[0]


def test_shares_of_some_words_count_these_alone() -> None:
    texts, guesses = (
        [np.array([0, 1, 2]), np.array([1, 1])],
        [np.array([0, 1, 0]), np.array([0, 1])],
    )
    assert share_right(texts, guesses)[0] == 3 / 5
    assert share_right(texts, guesses, np.array([False, True, False]))[0] == 2 / 3
