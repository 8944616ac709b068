"""The inverse distribution function of the ranks: exact for every number, to the last rank.

Nothing here is random but the choice of numbers, so nothing can be a false alarm. Broken copies
show that the checks can fail.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_FLOOR, Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dxbeam.mechanisms.sampling.resampling import RankResampling
from dxbeam.space.search.neighbors import Ids
from tests.support.distributions import rank_distribution

pytestmark = pytest.mark.exhaustive

Ranks = Callable[[np.ndarray, float, int], Ids]
"""(uint64 [B, 1], epsilon * c, N) -> ranks."""


def right(random: np.ndarray, rate: float, words: int) -> Ids:
    return RankResampling(rate / 2.0).ranks(random, 2.0, words)


# Flat, steep, and both far beyond any real table; the third as GloVe at epsilon 10, c 0.02.
DISTRIBUTIONS = [
    (0.25, 12),
    (3.0, 5),
    (0.2, 400_000),
    (1e-4, 30_000),
    (1e-9, 1000),
    (0.7, 1),
    (50.0, 2),
]


def check_distribution(ranks: Ranks) -> None:
    """On a regular grid of numbers, every rank has its share to within one point of the grid."""
    points = 2**17
    grid = (np.arange(points, dtype=np.uint64) * np.uint64(2**64 // points))[:, None]
    for rate, words in DISTRIBUTIONS:
        drawn = ranks(grid, rate, words)
        assert drawn.min() >= 0, (rate, words)
        assert drawn.max() < words, (rate, words)
        found = np.cumsum(np.bincount(drawn, minlength=words)) / points
        exact = np.cumsum(rank_distribution(words, rate))
        assert np.abs(found - exact).max() <= 1.01 / points, (rate, words)


def exact_rank(number: int, rate: float, words: int) -> Decimal:
    """-ln(e^(-rate N) + v (1 - e^(-rate N))) / rate with 60 digits; the rank is its floor."""
    with localcontext() as context:
        context.prec = 60
        tail = (-Decimal(rate) * words).exp()
        v = (Decimal(number) + 1) / 2**64
        return -(tail + v * (1 - tail)).ln() / Decimal(rate)


def check_numbers(ranks: Ranks, numbers: list[int], rate: float, words: int) -> None:
    """Number by number, those aside that lie on a border as far as float64 can tell."""
    drawn = ranks(np.array(numbers, np.uint64)[:, None], rate, words)
    for number, rank in zip(numbers, drawn.tolist(), strict=True):
        exact = exact_rank(number, rate, words)
        doubt = Decimal("1e-15") * (exact + 1 + 1 / Decimal(rate))
        if abs(exact - exact.to_integral_value()) > doubt:
            expected = min(int(exact.to_integral_value(ROUND_FLOOR)), words - 1)
            assert rank == expected, (number, rate, words)


DEEP = [1, 3, 2**10 + 1, 2**20 + 1, 2**30 + 1, 2**40 + 1, 2**52 + 1, 2**60, 2**63, 2**64 - 1]
"""Numbers that lead to ranks of every depth: the first to ranks of probability 1e-19."""


def test_every_rank_has_its_share() -> None:
    check_distribution(right)


@pytest.mark.parametrize(("rate", "words"), DISTRIBUTIONS)
def test_deep_ranks_are_drawn_as_exactly_as_others(rate: float, words: int) -> None:
    check_numbers(right, DEEP, rate, words)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 2**20), min_size=1, max_size=20),
    st.floats(1e-6, 100),
    st.integers(1, 2_000_000),
)
def test_every_number_gives_its_exact_rank(numbers: list[int], rate: float, words: int) -> None:
    check_numbers(right, numbers, rate, words)


def test_the_last_rank_of_four_hundred_thousand_words_can_be_drawn() -> None:
    lowest = np.zeros((1, 1), np.uint64)
    assert right(lowest, 1e-5, 400_000).tolist() == [399_999]
    assert right(lowest, 100.0, 400_000).tolist() == [0]


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1), st.floats(1e-4, 10))
def test_larger_numbers_never_give_larger_ranks(one: int, other: int, rate: float) -> None:
    smaller, larger = sorted((one, other))
    ranks = right(np.array([[smaller], [larger]], np.uint64), rate, 5000).tolist()
    assert ranks[0] >= ranks[1]


def _on_coarse_numbers(random: np.ndarray, rate: float, words: int) -> Ids:
    return right(random >> np.uint64(50) << np.uint64(50), rate, words)


def _never_below(smallest: float) -> Ranks:
    return lambda random, rate, words: right(
        np.maximum(random, np.uint64(smallest * 2.0**64)), rate, words
    )


def _not_truncated(random: np.ndarray, rate: float, words: int) -> Ids:
    """The geometric distribution on all integers, its tail folded into the last rank."""
    v = (random[:, 0].astype(np.float64) + 1) * 2.0**-64
    return np.minimum(np.floor(-np.log(v) / rate), words - 1).astype(np.int64)


def _one_minus_v(random: np.ndarray, rate: float, words: int) -> Ids:
    """The textbook form, whose 1 - v loses the deep ranks."""
    v = (random[:, 0].astype(np.float64) + 1) * 2.0**-64
    with np.errstate(divide="ignore"):
        ranks = np.log1p((1 - v) * np.expm1(-rate * words)) / -rate
    return np.clip(ranks, 0, words - 1).astype(np.int64)


BROKEN: dict[str, Ranks] = {
    "numbers of 14 bits": _on_coarse_numbers,
    "numbers never below 1e-9": _never_below(1e-9),
    "not truncated": _not_truncated,
    "deep ranks lost by cancellation": _one_minus_v,
    "cut at a table of 256": lambda random, rate, words: np.minimum(
        right(random, rate, words), 256
    ),
    "rank off by one": lambda random, rate, words: np.minimum(
        right(random, rate, words) + 1, words - 1
    ),
    "the word itself never": lambda random, rate, words: np.minimum(
        np.maximum(right(random, rate, words), 1), words - 1
    ),
    "the last rank never": lambda random, rate, words: np.minimum(
        right(random, rate, words), max(words - 2, 0)
    ),
    "one word too many": lambda random, rate, words: right(random, rate, words + 1),
    "rate 0.1 % too large": lambda random, rate, words: right(random, 1.001 * rate, words),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_ranks_are_caught(name: str) -> None:
    with pytest.raises(AssertionError):  # noqa: PT012 — either check may be the one to see it
        check_distribution(BROKEN[name])
        for rate, words in DISTRIBUTIONS:
            check_numbers(BROKEN[name], DEEP, rate, words)
