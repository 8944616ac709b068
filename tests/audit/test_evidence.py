"""P-values against distributions computed another way."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from dxbeam.audit import evidence


@pytest.mark.parametrize("heads", [0, 3, 11, 40])
def test_coins_of_one_kind_are_binomial(heads: int) -> None:
    shown, shares = np.arange(40) < heads, np.full(40, 0.3)
    below, above = stats.binom.cdf(heads, 40, 0.3), stats.binom.sf(heads - 1, 40, 0.3)
    found = evidence.coins(shown, shares)
    assert found.p_value == pytest.approx(min(1.0, 2 * min(below, above)), rel=1e-9)
    assert found.statistic == pytest.approx(heads - 12)


def test_coins_of_many_kinds_are_enumerated() -> None:
    shares = np.array([0.1, 0.5, 0.9, 0.99, 0.3])
    chances = {
        shown: math.prod(p if head else 1 - p for head, p in zip(shown, shares, strict=True))
        for shown in itertools.product([False, True], repeat=5)
    }
    for shown in chances:
        below = sum(chance for other, chance in chances.items() if sum(other) <= sum(shown))
        above = sum(chance for other, chance in chances.items() if sum(other) >= sum(shown))
        found = evidence.coins(np.array(shown), shares)
        assert found.p_value == pytest.approx(min(1.0, 2 * min(below, above)))


def test_no_coins_tell_nothing() -> None:
    assert evidence.coins(np.zeros(0, bool), np.zeros(0)).p_value == 1.0
