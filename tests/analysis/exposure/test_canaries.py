"""Exposure of canaries: chance for a perfect mechanism, growing with copies and with mistakes.

Draws are seeded; 150 canaries. Differences are of six standard errors, so another seed would not
fail in practice.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dxbeam.analysis.exposure.canaries import Exposure, exposure
from dxbeam.errors import ConfigurationError
from dxbeam.mechanisms.santext import SanText
from dxbeam.space.search.neighbors import NeighborSearch
from tests.support.attacked import tabled

SIZE, CANARIES, COPIES = 64, 150, 8
STATED = SanText(1.0)


@pytest.fixture(scope="module")
def search() -> NeighborSearch:
    return tabled(SIZE, 4)


def _secrets() -> Any:
    return np.random.default_rng(0).integers(0, SIZE, CANARIES)


def _released(epsilon: float, search: NeighborSearch) -> Any:
    mechanism = SanText(epsilon)
    words = np.repeat(_secrets(), COPIES)
    shape = (len(words), mechanism.draws(4))
    random = np.random.default_rng(1).integers(0, 2**64, shape, dtype=np.uint64)
    return mechanism.release(words, random, search).reshape(CANARIES, COPIES)


def _exposed(released: Any, search: NeighborSearch, copies: tuple[int, ...]) -> list[Exposure]:
    return exposure(STATED.channel(search), _secrets(), released, np.arange(SIZE), copies)


def _surely_more(one: Exposure, other: Exposure) -> bool:
    return one.bits - 6 * (one.bits - one.low) / 1.96 > other.bits


def test_exposure_grows_with_copies(search: NeighborSearch) -> None:
    once, twice, often = _exposed(_released(1.0, search), search, (1, 2, COPIES))
    assert _surely_more(often, twice)
    assert _surely_more(often, once)
    assert _surely_more(once, once._replace(bits=once.chance))
    assert 0 < once.first < twice.first < often.first <= 1


def test_half_the_noise_exposes_more(search: NeighborSearch) -> None:
    for sound, broken in zip(
        *(_exposed(_released(epsilon, search), search, (1, COPIES)) for epsilon in (1.0, 2.0)),
        strict=True,
    ):
        assert _surely_more(broken, sound)


def test_a_perfect_mechanism_leaves_chance(search: NeighborSearch) -> None:
    """Six standard errors of uniform places; the deviation of their bits is about 1.4."""
    released = np.random.default_rng(2).integers(0, SIZE, (CANARIES, COPIES))
    for found in _exposed(released, search, (1, COPIES)):
        assert abs(found.bits - found.chance) < 6 * 1.44 / np.sqrt(CANARIES)
        assert found.chance == pytest.approx(1.35, abs=0.1)


def test_a_secret_that_stays_is_exposed_by_all_bits(search: NeighborSearch) -> None:
    [found] = _exposed(_secrets()[:, None], search, (1,))
    assert found.bits <= 6
    [certain] = exposure(
        SanText(1000.0).channel(search), _secrets(), _secrets()[:, None], np.arange(SIZE), [1]
    )
    assert (certain.bits, certain.low, certain.high, certain.first) == (6, 6, 6, 1)


def test_what_does_not_fit_is_refused(search: NeighborSearch) -> None:
    channel, one = STATED.channel(search), np.array([[1]])
    with pytest.raises(ConfigurationError, match="must be one of the candidates"):
        exposure(channel, np.array([9]), one, np.arange(4), [1])
    with pytest.raises(ConfigurationError, match="from 1 to 1"):
        exposure(channel, np.array([1]), one, np.arange(4), [2])
