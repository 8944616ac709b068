"""Grids of epsilon, as they are written and as they are found."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dxbeam.analysis import grids
from dxbeam.errors import ConfigurationError


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
