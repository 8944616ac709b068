"""Grids of epsilon, as they are written and as they are found."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dxbeam.analysis.measure import grids, proportions
from dxbeam.errors import ConfigurationError
from dxbeam.mechanisms import make_mechanism
from tests.support.attacked import numbers, tabled


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("1:4", [1, 2, 3, 4]),
        ("0.5:0.8:0.1", [0.5, 0.6, 0.7, 0.8]),
        ("1,2.5,10", [1, 2.5, 10]),
        ("3", [3]),
        ("2:2", [2]),
        ("1:2:5", [1]),
    ],
)
def test_grids_as_they_are_written(text: str, numbers: list[float]) -> None:
    assert grids.parse(text) == numbers


@pytest.mark.parametrize(
    "text", ["", "a", "1:", "0:1", "-1:2", "2:1", "1:2:0", "1,1", "1:2,3", "∞"]
)
def test_what_is_no_grid(text: str) -> None:
    with pytest.raises(ConfigurationError, match="is neither a range"):
        grids.parse(text)


@given(st.integers(1, 50), st.integers(0, 50), st.sampled_from([0.1, 0.25, 1.0, 3.0]))
def test_a_range_is_even_and_keeps_its_ends(first: int, steps: int, step: float) -> None:
    last = first + steps * step
    numbers = grids.parse(f"{first}:{last}:{step}")
    assert len(numbers) == steps + 1
    assert numbers[0] == first
    assert numbers[-1] == pytest.approx(last)


@given(st.floats(1e-6, 1e6))
def test_steps_are_one_two_or_five(step: float) -> None:
    rounded = grids._round(step)
    assert step * (1 - 1e-6) <= rounded <= 2.5 * step * (1 + 1e-6)
    assert f"{rounded:.0e}"[0] in "125"


@pytest.mark.parametrize("name", ["laplace", "santext", "vickrey"])
def test_few_epsilons_tell_the_whole_range(name: str) -> None:
    """Shares of 1,000 words have a standard error of at most 0.016, those of the trial's of 0.035;
    steps are allowed three of these more than they should be."""
    search, ids = tabled(1_000, 8), np.random.default_rng(1).permutation(1_000)
    mechanism = make_mechanism(name, epsilon=1.0)
    grid = grids.by_shares(mechanism, ids, search, 8)
    assert 6 <= len(grid) <= 8
    assert grid == sorted(set(grid))
    random = numbers(1_000, mechanism.draws(8), 2)
    sums = proportions.measure(mechanism, grid, [], ids, random, search)
    shares = sums.totals[0, :, 0] / sums.words
    assert shares[0] < 0.1
    assert shares[-1] > (0.7 if name == "vickrey" else 0.9)
    assert np.diff(shares).max() < 0.25 + 3 * 0.038
