"""The attacker that reads noisy vectors in order: its candidates, and what context adds."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.special import softmax

from dxbeam.analysis.attackers.context import Candidates, read_texts, share_right
from dxbeam.analysis.attackers.noisy_context import candidates_from_vectors
from dxbeam.analysis.attackers.prior import Prior
from dxbeam.analysis.attackers.word_pairs import learn_pairs
from dxbeam.mechanisms import make_mechanism
from dxbeam.space.search.neighbors import NeighborSearch
from tests.support.attacked import chained, drawn, tabled, zipf
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


def _best_of_all_sequences(logs: np.ndarray, law: np.ndarray, length: int) -> list[np.ndarray]:
    """The most probable word at each place of texts, by sums over every sequence of words.

    Args:
      logs: float64 [T, N], log-densities of noisy vectors given each word.
      law: float64 [N, N], how probable a word is after another; the first one is any.
      length: of each text.
    """
    every = np.array(list(itertools.product(range(len(law)), repeat=length)))
    prior = np.log(law[every[:, :-1], every[:, 1:]]).sum(axis=1)
    guesses = []
    for text in logs.reshape(-1, length, len(law)):
        chances = softmax(prior + text[np.arange(length), every].sum(axis=1))
        at_each = [np.bincount(every[:, t], chances, len(law)) for t in range(length)]
        guesses.append(np.argmax(at_each, axis=1))
    return guesses


def test_none_beats_the_exact_posterior() -> None:
    """Six words, texts of four; the law is known exactly: by 4.7 standard errors, once in 10^6."""
    few, length, texts = tabled(6, 2), 4, chained(600, 4, 6, 0.6, 2)
    law = np.full((6, 6), 0.4 / 6) + 0.6 * np.roll(np.eye(6), 1, axis=1)
    mechanism, uniform = make_mechanism("laplace", epsilon=0.8), Prior("uniform", np.full(6, 1 / 6))
    every = np.concatenate(texts)
    random = np.random.default_rng(3).integers(
        0, 2**64, (len(every), mechanism.draws(2)), dtype=np.uint64
    )
    noisy = few.vocabulary.vectors_of(every) + mechanism.noise(random, few)
    logs = log_emissions(mechanism, few.vocabulary, noisy)[:, :-1]
    best = _best_of_all_sequences(logs, law, length)
    candidates = candidates_from_vectors(mechanism, noisy, uniform, few)
    some = Candidates(*(part[:, :3] for part in candidates))
    pairs, more = (learn_pairs(chained(n, length, 6, 0.6, n), 6) for n in (300, 6_000))
    attackers = {
        "word by word": np.split(candidates.ids[:, 0], len(texts)),
        "context": read_texts(candidates, texts, pairs),
        "context, few candidates": read_texts(some, texts, pairs),
        "context, much text": read_texts(candidates, texts, more),
    }
    for name, guesses in attackers.items():
        apart = [
            int((guess == text).sum()) - int((exact == text).sum())
            for text, guess, exact in zip(texts, guesses, best, strict=True)
        ]
        assert np.mean(apart) < 4.7 * np.std(apart) / np.sqrt(len(apart)), name
        assert share_right(texts, guesses)[1] > 1 / 6, f"{name} is above chance"
    exact, low, _ = share_right(texts, best)
    assert low > share_right(texts, attackers["word by word"])[0], "context is worth something"
    assert share_right(texts, attackers["context"])[0] > 0.97 * exact
