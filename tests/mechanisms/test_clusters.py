"""Mechanisms over public clusters: exact ratios, exact distributions, and what is published.

False-alarm rate 1e-6 a test.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pytest

from dxbeam.errors import ConfigurationError
from dxbeam.mechanisms import make_mechanism
from dxbeam.mechanisms.cluster_response import ClusterResponse
from dxbeam.mechanisms.custext import CALIBRATED, PUBLISHED, CusText
from dxbeam.mechanisms.published.custext_published import CusTextPublished
from dxbeam.mechanisms.sampling.cluster_choice import NUMBERS
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.space.vocabulary.clusters import clusters
from dxbeam.space.vocabulary.words import UNKNOWN, Vocabulary
from dxbeam.text.configuration import Configuration
from tests.support import vocabularies
from tests.support.distributions import Floats, Ids, chi_square_p, judge, random_numbers

ROWS = 20_000
EPSILONS = [0.001, 0.5, 3.0, 20.0, 41.0, 500.0]


def counts_of(mechanism: Any, vocabulary: Vocabulary) -> dict[int, dict[int, int]]:
    """Of every word, how many of the 2^62 numbers each word has: by bisection for every border."""
    search = NeighborSearch(vocabulary)

    def released(word: int, number: int) -> int:
        draw = np.array([[number << 2]], np.uint64)
        return int(mechanism.release(np.array([word]), draw, search)[0])

    found: dict[int, dict[int, int]] = {}
    for word in range(len(vocabulary)):
        found[word], start = {}, 0
        while start < NUMBERS:
            chosen, low, high = released(word, start), start, NUMBERS
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if released(word, middle) == chosen else (low, middle)
            found[word][chosen] = found[word].get(chosen, 0) + high - start
            start = high
    return found


def largest_exact_loss(counts: dict[int, dict[int, int]], words: list[int]) -> Decimal:
    with localcontext() as context:
        context.prec = 50
        return max(
            (Decimal(counts[x][y]) / Decimal(counts[other][y])).ln()
            for x in words
            for other in words
            for y in words
        )


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(
    "made",
    [
        lambda epsilon: CusText(epsilon, 4),
        lambda epsilon: CusText(epsilon, 4, PUBLISHED),
        lambda epsilon: ClusterResponse(epsilon, 4),
    ],
    ids=["custext", "custext published", "cluster_response"],
)
def test_the_largest_ratio_of_the_numbers_themselves_is_within_epsilon(
    made: Any, epsilon: float
) -> None:
    """In whole numbers, all of which are looked at; and all of epsilon is used where it can be."""
    vocabulary = vocabularies.random_vocabulary(9, 3)
    mechanism, numbers = made(epsilon), clusters(vocabulary, 4)
    counts = counts_of(mechanism, vocabulary)
    for cluster in (0, 1):
        words = np.flatnonzero(numbers == cluster).tolist()
        for word in words:
            assert sorted(counts[word]) == words, "every word of the cluster, and no other"
            assert sum(counts[word].values()) == NUMBERS
        loss = largest_exact_loss(counts, words)
        assert loss <= Decimal(epsilon)
        if getattr(mechanism, "scale", CALIBRATED) == CALIBRATED and epsilon < 41:
            assert float(loss) > epsilon * (1 - 1e-6)


@pytest.mark.parametrize("words", [5, 300, 3000])
@pytest.mark.parametrize("name", ["custext", "cluster_response"])
def test_released_words_have_the_enumerated_distribution(name: str, words: int) -> None:
    vocabulary = vocabularies.random_vocabulary(words, 6)
    mechanism = make_mechanism(name, epsilon=2.0)
    search, numbers, p_values = NeighborSearch(vocabulary), clusters(vocabulary, 20), {}
    apart = np.linalg.norm(vocabulary.vectors - np.asarray(vocabulary.unknown_vector), axis=1)
    for word in (0, words // 2, words - 1, UNKNOWN):
        own = int(apart.argmin()) if word == UNKNOWN else word
        members = np.flatnonzero(numbers == numbers[own])
        distribution = np.zeros(words)
        distribution[members] = (
            weighed(vocabulary, members, own, 2.0)
            if name == "custext"
            else np.where(members == own, np.exp(2.0), 1.0) / (np.exp(2.0) + len(members) - 1)
        )
        random = random_numbers(ROWS, mechanism.draws(6), seed=word + 2)
        released = mechanism.release(np.full(ROWS, word), random, search)
        p_values[str(word)] = chi_square_p(np.bincount(released, minlength=words), distribution)
    judge(p_values)


def weighed(vocabulary: Vocabulary, members: Ids, own: int, epsilon: float) -> Floats:
    """custext's distribution, with t by bisection."""
    vectors = vocabulary.vectors[members].astype(np.float64)
    apart = np.linalg.norm(vectors[:, None] - vectors, axis=2)

    def logs(t: float) -> Floats:
        scores = -t * epsilon * apart / (2 * apart.max())
        return np.asarray(scores - np.log(np.exp(scores).sum(axis=1, keepdims=True)))

    def fits(t: float) -> bool:
        return bool((logs(t).max(axis=0) - logs(t).min(axis=0)).max() <= epsilon)

    low, high = 1.0, 16.0
    while high - low > 1e-6:
        low, high = ((low + high) / 2, high) if fits((low + high) / 2) else (low, (low + high) / 2)
    return np.asarray(np.exp(logs(low)[np.flatnonzero(members == own)[0]]))


def test_randomised_response_keeps_more_at_every_epsilon() -> None:
    """Where distances within a cluster are nearly alike, as in many dimensions."""
    search = NeighborSearch(vocabularies.random_vocabulary(400, 200))
    ids = np.tile(np.arange(400), 50)
    random = random_numbers(len(ids), 1, seed=1)
    for epsilon in (1.0, 2.0, 5.0):
        kept = [
            float((mechanism.release(ids, random, search) == ids).mean())
            for mechanism in (
                CusText(epsilon, 20, PUBLISHED),
                CusText(epsilon),
                ClusterResponse(epsilon),
            )
        ]
        assert kept == sorted(kept)


def test_the_sentence_says_that_the_cluster_is_published() -> None:
    for mechanism in (CusText(2.0), ClusterResponse(2.0)):
        promise = Configuration(mechanism).guarantee()  # needs no consent: it promises what it does
        assert "which cluster a word belongs to is published" in promise.sentence
        assert "infinite between words of different clusters" in promise.sentence
        assert promise.one_word(1000) == (np.inf, 0.0)


def test_words_outside_the_vocabulary_are_as_the_word_nearest_to_their_vector() -> None:
    vocabulary = vocabularies.random_vocabulary(100, 3)
    search, random = NeighborSearch(vocabulary), random_numbers(500, 20, seed=3)
    apart = np.linalg.norm(vocabulary.vectors - np.asarray(vocabulary.unknown_vector), axis=1)
    nearest = np.full(500, apart.argmin())
    unknown = np.full(500, UNKNOWN)
    for name in ("custext", "cluster_response", "diffractor", "diffractor_tem"):
        mechanism = make_mechanism(name, epsilon=1.0)
        assert np.array_equal(
            mechanism.release(unknown, random, search), mechanism.release(nearest, random, search)
        )


def test_words_at_one_place_are_drawn_alike() -> None:
    """Nothing is divided by a largest distance of 0."""
    search = NeighborSearch(vocabularies.of(np.ones((6, 2))))
    random = random_numbers(ROWS, 1, seed=4)
    released = CusText(3.0, 3).release(np.zeros(ROWS, np.int64), random, search)
    assert chi_square_p(np.bincount(released, minlength=6), np.repeat([1 / 3, 0], 3)) > 1e-6


def test_published_sets_of_neighbours_rule_words_out() -> None:
    """A word has others to become than the next one, at any epsilon; a cluster's words have not."""
    vocabulary = vocabularies.random_vocabulary(300, 20)
    search, ids = NeighborSearch(vocabulary), np.repeat(np.arange(300), 100)

    def pairs(mechanism: Any) -> int:
        random = random_numbers(len(ids), mechanism.draws(20), seed=5)
        released = mechanism.release(ids, random, search)
        sets = {frozenset(released[ids == word].tolist()) for word in range(300)}
        return len(sets)

    assert pairs(CusTextPublished(0.01, 3)) > 250
    assert pairs(CusText(0.01, 3)) == 100


@pytest.mark.parametrize(
    ("name", "parameters", "said"),
    [
        ("custext", {"cluster_size": 1}, "cluster_size must be a whole number from 2 to 256"),
        ("custext", {"cluster_size": 2.5}, "cluster_size must be a whole number"),
        ("custext", {"scale": "loose"}, "scale must be one of calibrated, published, not loose"),
        ("custext", {"scale": 3.0}, "scale must be one of calibrated, published, not 3"),
        ("cluster_response", {"cluster_size": "many"}, "cluster_size must be a number, not many"),
        ("diffractor", {"orders": 0}, "orders must be a whole number from 1 to 16"),
        ("diffractor_tem", {"gamma": 0}, "gamma must be a whole number from 1"),
        ("diffractor_tem", {"shape": "square"}, "shape must be one of ring, line, not square"),
        ("vickrey", {"noise_of": "tem"}, "noise_of must be one of laplace, mahalanobis, gaussian"),
        ("vickrey", {"clip": 1.0}, "vickrey takes clip only with the noise of a mechanism that"),
        ("vickrey", {"noise_of": "gaussian", "delta": 2.0}, "delta must be at least"),
    ],
)
def test_parameters_out_of_range_are_refused(
    name: str, parameters: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigurationError, match=said):
        make_mechanism(name, epsilon=2.0, **parameters)


@pytest.mark.parametrize("epsilon", [3.0, 10.0, 1e4])
def test_a_cluster_of_equal_vectors_is_drawn_from_alike_at_any_epsilon(epsilon: float) -> None:
    """In whole numbers; words that differ are drawn by their distances next to it."""
    vocabulary = vocabularies.of(np.array([0, 0, 0, 5, 6, 7, 8])[:, None])
    with np.errstate(all="raise", under="ignore"):
        counts = counts_of(CusText(epsilon, 3), vocabulary)
    for word in range(3):
        assert set(counts[word]) == {0, 1, 2}
        assert max(counts[word].values()) - min(counts[word].values()) <= 2**10
    assert largest_exact_loss(counts, [3, 4, 5, 6]) <= Decimal(epsilon)
    closest = vocabularies.of(np.array([0, 1e-45, 0, 5, 6, 7, 8])[:, None])
    with np.errstate(all="raise", under="ignore"):
        assert largest_exact_loss(counts_of(CusText(epsilon, 3), closest), [0, 1, 2]) <= epsilon
