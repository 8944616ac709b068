"""The frontier: counts that add up, choices within a limit of risk, and what cannot be said."""

from __future__ import annotations

import numpy as np
import pytest

from dxbeam.analysis.attackers.success import Success
from dxbeam.analysis.frontier import compute as frontier
from dxbeam.analysis.frontier.compute import Counts, Estimate, Point, best_within, compared
from dxbeam.analysis.measure import proportions
from dxbeam.errors import ConfigurationError
from dxbeam.mechanisms import make_mechanism
from dxbeam.space.search.neighbors import NeighborSearch
from tests.support.attacked import channel_of, numbers, tabled, zipf


@pytest.fixture(scope="module")
def search() -> NeighborSearch:
    return tabled(300, 4)


def _point(name: str, epsilon: float, useful: float, risk: float, vector: float = -1) -> Point:
    around = [Estimate(x, x - 0.02, x + 0.02) for x in (useful, useful / 2, risk, vector)]
    seen = None if vector < 0 else around[3]
    return Point(name, "", None, epsilon, 1_000, around[0], around[1], around[2], seen)


def _measured(name: str, rank_c: float | None, search: NeighborSearch, parts: int = 1) -> Counts:
    mechanism, prior = make_mechanism(name, epsilon=2.0), zipf(300)
    channel = channel_of(mechanism, rank_c, prior, search, 5_000)
    ids, random = np.arange(300), numbers(300, mechanism.draws(4) + 1, 1)
    total = Counts(0, 0, 0, Success(0, 0, 0), Success(0, 0, 0))
    for own in np.array_split(np.arange(300), parts):
        counts = frontier.measured(mechanism, rank_c, ids[own], random[own], channel, search)
        total = total.plus(counts)
    return total


@pytest.mark.parametrize("name", ["laplace", "santext"])
@pytest.mark.parametrize("rank_c", [None, 0.1])
def test_counts_do_not_depend_on_how_words_are_divided(
    name: str, rank_c: float | None, search: NeighborSearch
) -> None:
    assert _measured(name, rank_c, search, 7) == _measured(name, rank_c, search)


def test_utility_is_that_of_measured_shares(search: NeighborSearch) -> None:
    mechanism = make_mechanism("laplace", epsilon=2.0)
    random = numbers(300, mechanism.draws(4) + 1, 1)
    sums = proportions.measure(mechanism, [2.0], [], np.arange(300), random, search)
    counts = _measured("laplace", None, search)
    original, close, _ = sums.totals[0, 0]
    assert (counts.unchanged, counts.useful) == (original, original + close)


def test_a_row_holds_every_value_with_its_interval(search: NeighborSearch) -> None:
    for name in ("laplace", "santext"):
        counts = _measured(name, None, search)
        row = frontier.point(make_mechanism(name, epsilon=2.0), "", None, counts).as_row()
        assert (row["mechanism"], row["rank_c"], row["epsilon"]) == (name, None, 2.0)
        for column in ("useful", "unchanged", "released_word"):
            assert 0 <= row[f"{column}_low"] < row[column] < row[f"{column}_high"] <= 1
        assert row["useful"] == counts.useful / 300
        assert (row["noisy_vector"] is None) == (name == "santext")


def test_the_most_useful_point_within_the_limit_is_chosen() -> None:
    points = [
        _point("laplace", 5, 0.2, 0.05),
        _point("laplace", 10, 0.4, 0.17),
        _point("laplace", 12, 0.6, 0.19),  # its interval reaches 0.21
        _point("santext", 2, 0.5, 0.1),
        _point("tem", 9, 0.9, 0.8),
    ]
    best = best_within(points, 0.2)
    assert [(found.mechanism, found.epsilon) for found in best] == [("santext", 2), ("laplace", 10)]


def test_rank_resampling_makes_a_curve_of_its_own() -> None:
    plain = _point("laplace", 10, 0.4, 0.1)
    resampled = plain._replace(rank_c=0.04, useful=Estimate(0.5, 0.48, 0.52))
    assert best_within([plain, resampled], 0.2) == [resampled, plain]


def test_a_curve_without_the_attacker_is_left_out() -> None:
    points = [_point("laplace", 10, 0.4, 0.1, 0.12), _point("santext", 2, 0.5, 0.1)]
    assert best_within(points, 0.2, frontier.NOISY_VECTOR) == points[:1]
    assert best_within(points[:1], 0.13, frontier.NOISY_VECTOR) == []


@pytest.mark.parametrize("order", [1, -1])
def test_of_equally_useful_points_the_least_epsilon_is_taken(order: int) -> None:
    points = [_point("laplace", epsilon, 0.4, 0.1) for epsilon in (9, 10, 11)][::order]
    assert best_within(points, 0.2)[0].epsilon == 9


def test_points_are_told_apart_only_where_intervals_do_not_meet() -> None:
    a, b, c = (
        _point(name, 1, useful, 0.1) for name, useful in (("a", 0.5), ("b", 0.47), ("c", 0.4))
    )
    verdicts = list(compared([c, a, b]))
    assert [(v.one.mechanism, v.other.mechanism) for v in verdicts] == [
        ("c", "a"),
        ("c", "b"),
        ("a", "b"),
    ]
    assert [verdict.more for verdict in verdicts] == [a, b, None]


@pytest.mark.parametrize(("limit", "attacker"), [(0, "released_word"), (1, "released_word")])
def test_a_limit_that_is_no_share_is_refused(limit: float, attacker: str) -> None:
    with pytest.raises(ConfigurationError, match="`most_risk`"):
        best_within([], limit, attacker)


def test_an_attacker_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="choose from released_word, noisy_vector"):
        best_within([], 0.2, "crystal_ball")
