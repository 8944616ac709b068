"""One draw of noise answers every epsilon as a search in float64 does at each."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from dxbeam.analysis.measure import every_epsilon, proportions
from dxbeam.analysis.measure.every_epsilon import Floats, Ids, Lines, Sizes
from dxbeam.mechanisms import MECHANISMS, Mechanism, ScalesNoise, make_mechanism
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.space.vocabulary.words import Vocabulary
from tests.support.vocabularies import grid_vocabulary, random_vocabulary

EPSILONS = [0.2 * 1.1**step for step in range(70)]
SCALING = [
    "laplace",
    "mahalanobis",
    "mahalanobis_published",
    "gaussian",
    "coordinate_laplace",
]


def direct(mechanism: Mechanism, ids: Ids, random: Ids, search: NeighborSearch) -> Ids:
    """The same by one search per epsilon, with every distance in float64."""
    vectors = search.vocabulary.vectors.astype(np.float64)
    noise = mechanism.noise(random, search) / mechanism.noise_scale  # type: ignore[attr-defined]
    starts = mechanism.noise_starts(ids, search)  # type: ignore[attr-defined]
    found = []
    for epsilon in EPSILONS:
        scale = make_mechanism(mechanism.name, epsilon=epsilon).noise_scale  # type: ignore[attr-defined]
        noisy = starts + scale * noise
        scores = noisy @ vectors.T - np.square(vectors).sum(axis=1) / 2
        found.append(scores.argmax(axis=1))
    return np.stack(found, axis=1)


def wrong_answers(
    name: str, vocabulary: Vocabulary, words: int = 300, **sizes: int
) -> tuple[int, int]:
    """How many answers differ from the direct search, of how many."""
    search, generator = NeighborSearch(vocabulary), np.random.default_rng(3)
    mechanism = make_mechanism(name, epsilon=1.0)
    ids = generator.integers(0, len(vocabulary), words)
    shape = (words, mechanism.draws(vocabulary.dimensions))
    random = generator.integers(0, 2**64, shape, dtype=np.uint64)
    released = proportions.released_words(
        mechanism, EPSILONS, ids, random, search, sizes=Sizes(**sizes)
    )
    expected = direct(mechanism, ids, random, search)
    return int((released != expected).sum()), released.size


@pytest.mark.parametrize("name", SCALING)
def test_answers_are_those_of_a_direct_search(name: str) -> None:
    wrong, answers = wrong_answers(name, random_vocabulary(500, 20))
    assert answers > 20_000
    assert wrong == 0


def test_equally_near_words_are_told_apart_by_their_ids() -> None:
    twins = random_vocabulary(100, 5)
    doubled = np.concatenate([twins.vectors, twins.vectors])
    vocabulary = Vocabulary([f"w{i}" for i in range(200)], doubled, lowercase=False)
    assert wrong_answers("laplace", vocabulary)[0] == 0


def test_mechanisms_that_scale_their_noise_say_so() -> None:
    """Every mechanism that says so is tested here, and scales its noise as it says."""
    search = NeighborSearch(grid_vocabulary())
    for name, made in MECHANISMS.items():
        assert hasattr(made, "noise_scale") == (name in SCALING)
    for name in SCALING:
        assert isinstance(make_mechanism(name, epsilon=1.0), ScalesNoise)
        one, other = (make_mechanism(name, epsilon=epsilon) for epsilon in (0.5, 4.0))
        shape = (50, one.draws(2))
        random = np.random.default_rng(0).integers(0, 2**64, shape, dtype=np.uint64)
        noises = [made.noise(random, search) / made.noise_scale for made in (one, other)]  # type: ignore[attr-defined]
        np.testing.assert_allclose(*noises, rtol=1e-12)


def _chord(at_zero: Floats, slopes: Floats, scales: Floats, error: Floats, most: int) -> Ids:
    ends = [int((at_zero + scales[index] * slopes).argmax()) for index in (0, -1)]
    return np.unique(ends)


def _higher_id(start: Floats, noise: Floats, scales: Floats, words: Lines, ids: Ids) -> Ids:
    return every_epsilon_settled(start, noise, scales, words, ids[::-1])


def _reversed(start: Floats, noise: Floats, scales: Floats, words: Lines, ids: Ids) -> Ids:
    return every_epsilon_settled(start, noise, scales[::-1], words, ids)


every_epsilon_settled = every_epsilon._settled


@pytest.mark.parametrize(
    ("place", "broken"),
    [("_candidates", _chord), ("_settled", _higher_id), ("_settled", _reversed)],
)
def test_broken_copies_are_found(
    place: str, broken: Callable[..., Ids], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(every_epsilon, place, broken)
    twins = random_vocabulary(100, 5)
    doubled = np.concatenate([twins.vectors, twins.vectors])
    vocabulary = Vocabulary([f"w{i}" for i in range(200)], doubled, lowercase=False)
    assert wrong_answers("laplace", vocabulary)[0] > 0


def test_intervals_with_many_candidates_are_halved() -> None:
    assert wrong_answers("laplace", random_vocabulary(500, 20), words=50, candidates=1)[0] == 0


def test_answers_do_not_depend_on_how_many_words_are_taken_at_once() -> None:
    assert wrong_answers("laplace", random_vocabulary(500, 20), words=50, scores=1, rows=7)[0] == 0


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 1.0])
def test_answers_do_not_depend_on_where_an_interval_is_looked_into(
    share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So no rounding of where two lines cross can lose a word."""
    monkeypatch.setattr(
        every_epsilon,
        "_crossing",
        lambda *given: given[-2] + share * (given[-1] - given[-2]),
    )
    assert wrong_answers("laplace", random_vocabulary(500, 20), words=50)[0] == 0
