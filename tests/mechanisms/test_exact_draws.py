"""What comes out of evenly spaced random numbers: probabilities to one in thousands, unsampled.

A word that is drawn by one random number comes out for as many of K evenly spaced ones as K times
its probability says, give or take one at each end of its part. So a rate that is half a percent too
large shows at once, and there is no false alarm. The laws are those of dxbeam/audit, which are
written a second time from the papers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dxbeam.audit.references.table import REFERENCES
from dxbeam.mechanisms import Mechanism, make_mechanism
from dxbeam.mechanisms.custext import CusText
from dxbeam.mechanisms.public.importance import WordWeights
from dxbeam.mechanisms.public.word_distribution import WordDistribution
from dxbeam.mechanisms.sampling.envelopes import FAR, computed
from dxbeam.mechanisms.santext import SanText
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.space.vocabulary.words import UNKNOWN, Vocabulary
from tests.support.distributions import Floats, random_numbers
from tests.support.vocabularies import random_vocabulary

pytestmark = pytest.mark.slow  # all of them together

NUMBERS = 1 << 14
WEIGHTS = {f"w{i}": 0.5 * i for i in range(9)}

DRAWN: list[tuple[str, dict[str, Any]]] = [
    ("santext", {"epsilon": 1.0}),
    ("santext", {"epsilon": 3.0}),
    ("santext", {"epsilon": 1.0, "importance": WordWeights(WEIGHTS)}),
    ("tem", {"epsilon": 1.0, "beta": 0.4}),
    ("tem", {"epsilon": 2.0}),
    ("tem", {"epsilon": 2.0, "importance": WordWeights(WEIGHTS)}),
    ("custext", {"epsilon": 3.0}),
    ("custext", {"epsilon": 8.0, "cluster_size": 9}),
    ("custext", {"epsilon": 3.0, "scale": "published"}),
    ("cluster_response", {"epsilon": 3.0}),
    ("cluster_response", {"epsilon": 1.0, "cluster_size": 50}),
    ("custext_published", {"epsilon": 6.0, "k": 20}),
]
"""Mechanisms that draw a word by their first random number, clusters as large as users get them.

Of 119 words the last cluster of 20 has 39, nearly twice as many."""


def released_of_all_numbers(mechanism: Mechanism, words: Vocabulary, word: int) -> Floats:
    """How often each word comes out of evenly spaced first numbers, a share of one."""
    random = random_numbers(NUMBERS, mechanism.draws(words.dimensions), seed=0)
    random[:, 0] = np.arange(NUMBERS, dtype=np.uint64) * np.uint64(2**64 // NUMBERS)
    random[:, 0] += np.uint64(2**63 // NUMBERS)
    released = mechanism.release(np.full(NUMBERS, word), random, NeighborSearch(words))
    return np.bincount(released, minlength=len(words)) / NUMBERS


def furthest_from_its_law(mechanism: Mechanism, words: Vocabulary) -> float:
    """Over words of all kinds, how far a share is from the probability, in numbers."""
    law = REFERENCES[mechanism.name].reference(mechanism, words).released
    assert law is not None
    originals = np.array([0, 8, len(words) // 2, len(words) - 1, UNKNOWN])
    places = words.vectors_of(originals)
    return max(
        float(np.abs(released_of_all_numbers(mechanism, words, word) - law(word, place)).max())
        for word, place in zip(originals.tolist(), places, strict=True)
    ) * NUMBERS  # fmt: skip


@pytest.mark.parametrize(("name", "parameters"), DRAWN)
def test_each_word_has_its_share_of_all_random_numbers(
    name: str, parameters: dict[str, Any]
) -> None:
    mechanism = make_mechanism(name, **parameters)
    for words in (random_vocabulary(119, 3), random_vocabulary(119, 150)):
        assert furthest_from_its_law(mechanism, words) < 2.5


@pytest.mark.parametrize(("name", "parameters"), [DRAWN[0], DRAWN[3], DRAWN[6]])
def test_half_a_percent_of_epsilon_shows(name: str, parameters: dict[str, Any]) -> None:
    """So the test above can fail: shares at another epsilon are not those of this one."""
    words = random_vocabulary(100, 3)
    mechanism = make_mechanism(name, **parameters)
    other = make_mechanism(name, **{**parameters, "epsilon": parameters["epsilon"] * 1.005})
    law = REFERENCES[name].reference(other, words).released
    assert law is not None
    apart = released_of_all_numbers(mechanism, words, 50) - law(
        50, words.vectors_of(np.array([50]))[0]
    )
    assert np.abs(apart).max() * NUMBERS > 4


@pytest.mark.parametrize("size", [2, 9, 20, 256])
@pytest.mark.parametrize("epsilon", [0.5, 3.0, 20.0])
def test_no_ratio_within_a_cluster_is_above_epsilon_at_any_size(size: int, epsilon: float) -> None:
    """All of epsilon is used, and not a millionth more, in clusters as large as can be."""
    for n in (1, 3, 200):
        vectors = np.random.default_rng(size).normal(size=(size, n))
        apart = np.linalg.norm(vectors[:, None] - vectors, axis=2)
        [counts] = CusText(epsilon, size).counts(apart[None])
        logs = np.log(counts.astype(np.longdouble))
        loss = float((logs.max(axis=0) - logs.min(axis=0)).max())
        assert epsilon * (1 - 1e-6) < loss <= epsilon


@pytest.mark.parametrize("importance", [None, WordWeights(WEIGHTS)], ids=["plain", "weights"])
@pytest.mark.parametrize("cap", [np.inf, 4.0])
def test_an_envelope_is_nowhere_below_what_it_bounds(cap: float, importance: Any) -> None:
    """Of 400 words 20 are near; no word beyond them weighs more than the bound of them all."""
    words = random_vocabulary(400, 3)
    search, originals = NeighborSearch(words), np.array([0, 7, 399, UNKNOWN])
    distribution = WordDistribution(1.0, cap=cap, importance=importance)
    envelopes = computed(originals, 20, distribution, search)
    rho = np.zeros(401) if importance is None else np.append(importance.of(words), 0.0)
    for row, word in enumerate(originals.tolist()):
        apart = np.linalg.norm(words.vectors - words.vectors_of(originals[[row]]), axis=1)
        weights = distribution.weights(apart, apart.min())
        near = envelopes.near[row][envelopes.near[row] != FAR]
        beyond = np.setdiff1d(np.arange(400), near)
        assert (weights[beyond] <= envelopes.bound[row] * (1 + 1e-9)).all()
        assert envelopes.bound[row] == pytest.approx(weights[near].min())
        factors = np.exp(-(rho[:-1] + rho[word]) / 2)
        together = float(factors.sum() * envelopes.bound[row])
        shares = np.diff(envelopes.sums[row], prepend=0.0)
        assert shares[envelopes.near[row] == FAR] == pytest.approx([together])
        own = np.where(np.arange(400) == word, 1.0, factors)
        expected = (weights * own)[near]
        assert shares[envelopes.near[row] != FAR] == pytest.approx(expected, rel=1e-6)


def test_two_lists_of_weights_are_two_laws_over_one_search() -> None:
    """As many words with as large weights: what is kept for one list is not taken for the other."""
    words = random_vocabulary(100, 3)
    first, second = (
        SanText(1.0, importance=WordWeights({w: 6.0, "w1": 2.0})) for w in ("w2", "w3")
    )
    search, random = NeighborSearch(words), random_numbers(2000, first.draws(3), seed=1)
    ids = np.full(2000, 50)
    for mechanism in (first, second, first):
        alone = mechanism.release(ids, random, NeighborSearch(words))
        assert np.array_equal(mechanism.release(ids, random, search), alone)
