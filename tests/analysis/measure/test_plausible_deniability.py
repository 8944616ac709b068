"""N_w, S_w and the epsilon of a word's transition."""

from __future__ import annotations

import numpy as np
import pytest

from dxbeam.analysis.measure.plausible_deniability import repeat, transition
from dxbeam.audit.references.choice import santext, tem
from dxbeam.mechanisms import make_mechanism
from dxbeam.space.search.neighbors import NeighborSearch
from tests.support.vocabularies import random_vocabulary

EPSILONS = [0.5, 1.0, 2.0]
REPEATS = 40


@pytest.fixture(scope="module")
def search() -> NeighborSearch:
    return NeighborSearch(random_vocabulary(60, 4))


def _random(rows: int, draws: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 2**64, (rows, draws), dtype=np.uint64)


@pytest.mark.parametrize("name", ["laplace", "vickrey"])
def test_counts_are_those_of_single_releases(name: str, search: NeighborSearch) -> None:
    mechanism = make_mechanism(name, epsilon=1.0)
    ids = np.array([3, 17, 44])
    random = _random(len(ids) * REPEATS, mechanism.draws(4))
    words = repeat(mechanism, EPSILONS, ids, REPEATS, random, search)
    for column, epsilon in enumerate(EPSILONS):
        at = make_mechanism(name, epsilon=epsilon)
        released = at.release(np.repeat(ids, REPEATS), random, search).reshape(3, REPEATS)
        for word, outputs in zip(words, released, strict=True):
            assert word.word == f"w{word.id}"
            assert word.unchanged[column] == np.sum(outputs == word.id)
            assert word.distinct[column] == len(set(outputs.tolist()))
            neighbour = search.nearest_neighbors(np.array([word.id]), 2)[0, 1]
            assert word.nearest[column] == np.sum(outputs == neighbour)


@pytest.mark.parametrize(("name", "reference"), [("santext", santext), ("tem", tem)])
def test_without_noise_they_are_expectations(
    name: str, reference: object, search: NeighborSearch
) -> None:
    ids = np.array([3, 17])
    mechanism = make_mechanism(name, epsilon=1.0)
    words = repeat(mechanism, EPSILONS, ids, REPEATS, _random(0, 1), search)
    for word in words:
        vector = search.vocabulary.vectors_of(np.array([word.id]))[0]
        for column, epsilon in enumerate(EPSILONS):
            at = make_mechanism(name, epsilon=epsilon)
            law = reference(at, search.vocabulary).released(word.id, vector)  # type: ignore[operator]
            assert word.unchanged[column] == pytest.approx(REPEATS * law[word.id], rel=1e-5)
            distinct = np.sum(1 - (1 - law) ** REPEATS)
            assert word.distinct[column] == pytest.approx(distinct, rel=1e-4)


def test_a_transition_lies_where_half_of_the_releases_stay() -> None:
    assert transition([1, 2, 3], np.array([0.0, 4.0, 8.0]), 10) == pytest.approx(2.25)
    assert transition([1, 2, 3], np.array([0.0, 6.0, 4.0]), 10) is None  # not yet for good
    assert transition([1, 2, 3], np.array([5.0, 6.0, 8.0]), 10) is None  # before the grid
    assert transition([1, 2, 3], np.array([6.0, 4.0, 5.0]), 10) == pytest.approx(3.0)
