"""Canaries planted under settings: chance where nothing is drawn, more with less noise and copies.

Random numbers are fixed, so nothing here fails by chance. Differences are beyond both intervals.
"""

from __future__ import annotations

import numpy as np
import pytest

from dxbeam.analysis.exposure.canaries import Exposure
from dxbeam.analysis.exposure.planted import COPIES, classes_of_secrets, plant, rows_of
from dxbeam.mechanisms.laplace import Laplace
from dxbeam.mechanisms.santext import SanText
from dxbeam.space.search.neighbors import NeighborSearch
from tests.support.attacked import tabled

SIZE, CANARIES = 64, 100
EVERY = {"all words": np.arange(SIZE)}


@pytest.fixture(scope="module")
def search() -> NeighborSearch:
    return tabled(SIZE, 4)


def _planted(search: NeighborSearch, mechanism: object, c: float | None = None) -> list[Exposure]:
    [(_, candidates, exposed)] = plant(mechanism, c, EVERY, CANARIES, search)  # type: ignore[arg-type]
    assert candidates == SIZE
    assert [each.copies for each in exposed] == list(COPIES)
    return exposed


@pytest.mark.parametrize("c", [None, 0.5])
@pytest.mark.parametrize("kind", [SanText, Laplace])
def test_exposure_grows_with_copies_and_epsilon(
    search: NeighborSearch, kind: type, c: float | None
) -> None:
    """An estimated channel and a formula, with rank resampling and without."""
    low, high = (_planted(search, kind(epsilon), c) for epsilon in (0.5, 2.0))
    assert low[-1].low > low[0].high
    assert high[0].low > low[0].high
    for one, other in zip(low, high, strict=True):
        assert one.first < other.first


def test_noise_without_end_leaves_chance(search: NeighborSearch) -> None:
    for exposed in _planted(search, SanText(0.001)):
        assert exposed.low < exposed.chance < exposed.high
        assert exposed.first_low < 1 / SIZE < exposed.first_high


def test_rows_are_in_shares_and_bits(search: NeighborSearch) -> None:
    rows = list(rows_of("names", SIZE, _planted(search, SanText(1000.0))))
    assert len(rows) == 2 * len(COPIES)
    first, bits = rows[:2]
    assert first.measure == "canaries, names, in 1 document: first guess right"
    assert first.success == 1
    assert first.chance == 1 / SIZE
    assert bits.measure == "canaries, names, in 1 document: exposure, bits of 6"
    assert bits.success == 6
    assert bits.n == CANARIES
    assert rows[-1].sees == "the secret's place in 10 documents"


def test_classes_need_two_words() -> None:
    classes = classes_of_secrets(["the", "1999", "cat", "dog"])
    assert classes["all words"].tolist() == [0, 1, 2, 3]
    assert "numbers" not in classes
    assert "the last quarter of the words" not in classes
    assert classes_of_secrets(["1", "2"])["numbers"].tolist() == [0, 1]
