"""Noise on one whole number: the closed form, its crossings, and draws of it."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import pytest
from scipy import stats

from dxbeam.analysis.theory.one_dimension import (
    CLOSE_FROM,
    EPSILONS,
    ORIGINAL_FROM,
    drawn_shares,
    shares,
)


@pytest.mark.parametrize(
    ("epsilon", "original", "close", "distant"),
    [
        (0.001, 0.0005, 0.0951, 0.9044),
        (0.005, 0.0025, 0.3925, 0.6050),
        (0.01, 0.0050, 0.6290, 0.3660),
        (0.1, 0.0488, 0.9512, 0.0000),
        (1, 0.3935, 0.6065, 0.0000),
        (2, 0.6321, 0.3679, 0.0000),
        (5, 0.9179, 0.0821, 0.0000),
        (10, 0.9933, 0.0067, 0.0000),
    ],
)
def test_the_shares_have_these_values(
    epsilon: float, original: float, close: float, distant: float
) -> None:
    assert shares(epsilon) == pytest.approx((original, close, distant), abs=6e-5)


@pytest.mark.parametrize("epsilon", [1e-12, *EPSILONS])
def test_small_shares_are_as_accurate_as_large_ones(epsilon: float) -> None:
    with localcontext() as context:
        context.prec = 60
        half, beyond = (-Decimal(epsilon) / 2).exp(), (-Decimal(epsilon) * Decimal("100.5")).exp()
        expected = [float(share) for share in (1 - half, half - beyond, beyond)]
    assert shares(epsilon) == pytest.approx(expected, rel=1e-12, abs=0)
    assert sum(shares(epsilon)) == pytest.approx(1, abs=1e-12)


def test_where_the_shares_cross() -> None:
    assert pytest.approx(0.0069, abs=5e-5) == CLOSE_FROM
    assert pytest.approx(1.386, abs=5e-4) == ORIGINAL_FROM
    assert shares(CLOSE_FROM).close == pytest.approx(shares(CLOSE_FROM).distant, rel=1e-12)
    assert shares(ORIGINAL_FROM).original == pytest.approx(shares(ORIGINAL_FROM).close, rel=1e-12)


def test_draws_are_of_these_shares() -> None:
    """A correct sampler fails with probability 123e-6 at most."""
    for row in drawn_shares(EPSILONS, draws=10_000, seed=0):
        counted = row.original, row.close, row.distant
        for (share, low, high), exact in zip(counted, shares(row.epsilon), strict=True):
            count = round(share * row.draws)
            assert stats.binomtest(count, row.draws, exact).pvalue > 1e-6
            assert low <= share <= high


def test_the_same_seed_draws_the_same() -> None:
    assert drawn_shares([0.1, 1.0], 10_000, seed=3) == drawn_shares([0.1, 1.0], 10_000, seed=3)
    assert drawn_shares([0.1, 1.0], 10_000, seed=3) != drawn_shares([0.1, 1.0], 10_000, seed=4)


def test_the_grid_of_the_figure_spans_all_three_regions() -> None:
    assert EPSILONS[0] == 0.001
    assert EPSILONS[-1] == 10
    assert math.isclose(EPSILONS[1] / EPSILONS[0], 10**0.1, rel_tol=0.01)
