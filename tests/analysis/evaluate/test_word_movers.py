"""Word Mover's Distance: a linear programme's value, the paper's example, and what it must obey."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment, linprog
from scipy.spatial import distance

from dxbeam.analysis.evaluate import word_movers
from dxbeam.analysis.evaluate.word_movers import exact_distance, movement, relaxed_distance
from dxbeam.space.vocabulary.words import UNKNOWN, Vocabulary
from tests.support import vocabularies

VOCABULARY = vocabularies.random_vocabulary()


def _draw(generator: np.random.Generator, length: int) -> np.ndarray:
    return generator.integers(UNKNOWN, 60, length)


def _pairs(documents: int, equal: bool) -> list[tuple[np.ndarray, np.ndarray]]:
    generator = np.random.default_rng(1)
    lengths = generator.integers(1, 13, (documents, 2))
    return [(_draw(generator, a), _draw(generator, a if equal else b)) for a, b in lengths.tolist()]


def _reference(vocabulary: Vocabulary, one: np.ndarray, other: np.ndarray) -> float:
    """Definition 2 as it stands: a mass for every token, and a programme over all pairs."""
    a, b = len(one), len(other)
    x, y = vocabulary.vectors_of(one), vocabulary.vectors_of(other)
    costs = np.linalg.norm(x[:, None] - y, axis=2)
    rows = np.kron(np.eye(a), np.ones(b))
    columns = np.kron(np.ones(a), np.eye(b))
    sums = np.concatenate([np.full(a, 1 / a), np.full(b, 1 / b)])
    return float(linprog(costs.ravel(), A_eq=np.vstack([rows, columns]), b_eq=sums).fun)


def _exact(one: np.ndarray, other: np.ndarray) -> float:
    found = movement(VOCABULARY, one, other).exact
    assert found is not None
    return found


@pytest.mark.parametrize("equal", [True, False])
def test_it_is_the_value_of_the_linear_programme(equal: bool) -> None:
    """On 200 documents each."""
    for pair in _pairs(200, equal):
        assert _exact(*pair) == pytest.approx(_reference(VOCABULARY, *pair), abs=1e-9)


def test_so_it_is_where_masses_are_too_many_for_an_assignment() -> None:
    for one, other in _pairs(30, equal=False):
        (a, counts_a), (b, counts_b) = (np.unique(ids, return_counts=True) for ids in (one, other))
        x, y = VOCABULARY.vectors_of(a), VOCABULARY.vectors_of(b)
        costs = np.where(a[:, None] == b, 0.0, np.linalg.norm(x[:, None] - y, axis=2))
        distance = exact_distance(costs, counts_a, counts_b, most_assigned=3)
        assert distance == pytest.approx(_reference(VOCABULARY, one, other), abs=1e-9)


@pytest.mark.parametrize("unit", [1e-200, 1e-6, 1e6, 1e150])
def test_neither_the_unit_of_vectors_nor_repeated_words_matter(unit: float) -> None:
    """The prices that an assignment is searched with are of the costs' own size."""
    generator = np.random.default_rng(3)
    costs = np.abs(generator.normal(size=(6, 9)))
    costs[2] = 0.25  # ties
    supply, demand = np.array([20, 1, 1, 30, 2, 9]), np.array([1, 1, 40, 1, 1, 1, 1, 1, 16])
    expected = exact_distance(costs, supply, demand)
    every = np.repeat(np.repeat(costs, supply, axis=0), demand, axis=1)
    assert expected == pytest.approx(every[linear_sum_assignment(every)].sum() / 63)
    assert exact_distance(costs * unit, supply, demand) == pytest.approx(expected * unit)


def test_far_costs_beside_near_ones_are_assigned() -> None:
    costs = np.array([[1.0, 1e12, 2.0], [1e-9, 3.0, 1e12], [1e12, 1e12, 1e-3]])
    one = np.ones(3, np.int64)
    best = costs[linear_sum_assignment(costs)].sum() / 3
    assert exact_distance(costs, one, one) == pytest.approx(best)


def _greedy(costs: np.ndarray, supply: np.ndarray, demand: np.ndarray) -> float:
    """Broken: each word in turn takes the nearest one that is left."""
    every = np.repeat(np.repeat(costs, supply, axis=0), demand, axis=1)
    total = 0.0
    for row in every:
        nearest = int(row.argmin())
        total += row[nearest]
        every[:, nearest] = np.inf
    return float(total)


def test_a_greedy_assignment_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_movers, "_by_assignment", _greedy)
    above = [_exact(*pair) - _reference(VOCABULARY, *pair) for pair in _pairs(50, equal=True)]
    assert max(above) > 0.01


def test_cosines_are_those_of_scipy_and_one_of_different_words_is_found() -> None:
    """Broken: each word counted once, however often it occurs."""
    broken = 0.0
    for one, other in _pairs(50, equal=False):
        found = movement(VOCABULARY, one, other).cosine
        means = [VOCABULARY.vectors_of(ids).mean(axis=0) for ids in (one, other)]
        assert found == pytest.approx(1 - distance.cosine(*means), abs=1e-6)
        once = movement(VOCABULARY, np.unique(one), np.unique(other)).cosine
        assert found is not None
        assert once is not None
        broken = max(broken, abs(found - once))
    assert broken > 0.1


def test_a_bound_from_one_side_alone_is_found() -> None:
    """Broken: the relaxed distance is the larger one of going there and of coming back."""
    line = vocabularies.line_vocabulary([0, 1, 10])
    assert movement(line, np.array([0]), np.array([0, 2])).relaxed == pytest.approx(5)
    assert movement(line, np.array([0, 2]), np.array([0])).relaxed == pytest.approx(5)


def test_a_sum_in_place_of_the_mean_is_found() -> None:
    """Broken: the seed's proofs use the sum, its Definition 2 the mean."""
    for one, other in _pairs(20, equal=True):
        if len(one) > 1 and _exact(one, other) > 0:
            assert len(one) * _exact(one, other) != pytest.approx(
                _reference(VOCABULARY, one, other), rel=0.1
            )


def test_the_relaxed_distance_is_no_exact_one() -> None:
    """Broken: the lower bound in place of the distance."""
    pairs = _pairs(50, equal=True)
    relaxed = [movement(VOCABULARY, *pair).relaxed for pair in pairs]
    exact = [_exact(*pair) for pair in pairs]
    assert all(bound <= distance + 1e-12 for bound, distance in zip(relaxed, exact, strict=True))
    assert np.mean(relaxed) < 0.95 * np.mean(exact)


def test_the_paper_moves_a_third_of_each_of_three_words() -> None:
    """Figures 1 to 3: a total of T = 1 + 2 + 3 for whole words is T / 3 for masses of a third."""
    line = vocabularies.line_vocabulary([0, 1, 10, 12, 20, 23])
    found = movement(line, np.array([0, 2, 4]), np.array([5, 1, 3]))
    assert found.exact == pytest.approx((1 + 2 + 3) / 3)
    assert found.relaxed == pytest.approx((1 + 2 + 3) / 3)


def test_the_same_words_in_any_order_are_at_a_distance_of_zero() -> None:
    generator = np.random.default_rng(2)
    for one, _ in _pairs(20, equal=True):
        found = movement(VOCABULARY, one, generator.permutation(one))
        assert (found.exact, found.relaxed) == (0, 0)
        assert found.cosine == pytest.approx(1)


def test_as_often_means_as_often_in_proportion() -> None:
    assert _exact(np.array([3, 4]), np.array([3, 3, 4, 4])) == 0
    assert _exact(np.array([3, 4]), np.array([3, 4, 4])) > 0


def test_it_is_symmetric_and_obeys_the_triangle() -> None:
    one, other, third = (_draw(np.random.default_rng(seed), 7 + seed) for seed in range(3))
    assert _exact(one, other) == pytest.approx(_exact(other, one))
    assert _exact(one, third) <= _exact(one, other) + _exact(other, third) + 1e-9


def test_noise_moves_no_word_further_than_it_carries_it() -> None:
    """Word i can go to word i, so the mean of these distances is an upper bound."""
    for one, other in _pairs(20, equal=True):
        moves = VOCABULARY.vectors_of(one) - VOCABULARY.vectors_of(other)
        assert _exact(one, other) <= np.linalg.norm(moves, axis=1).mean() + 1e-9


def test_words_at_the_same_place_are_as_one() -> None:
    costs = np.zeros((2, 2))
    counts = np.array([1, 1])
    assert exact_distance(costs, counts, counts) == 0
    assert relaxed_distance(costs, counts, counts) == 0
    assert exact_distance(np.array([[0.0, 0.0]]), np.array([2]), counts) == 0


def test_long_texts_have_the_bound_alone() -> None:
    long = np.arange(word_movers.MOST_WORDS + 1) % 50
    found = movement(VOCABULARY, long, long[::-1])
    assert found.exact is None
    assert found.relaxed == 0
    uneven = movement(VOCABULARY, long[:200], long[:201])
    assert uneven.exact is None


def test_nothing_is_said_of_a_text_without_words() -> None:
    nothing = np.array([], np.int64)
    assert movement(VOCABULARY, nothing, np.array([1])) == (None, None, None)
