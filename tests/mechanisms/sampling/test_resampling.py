"""Rank resampling: tables, depth, what it sees; tests/statistical tests its distribution."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dxbeam.mechanisms.sampling.resampling import RankResampling
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.space.vocabulary.words import Vocabulary
from tests.support.vocabularies import grid_vocabulary, of, random_vocabulary


def _random(rows: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2**64, (rows, 1), dtype=np.uint64)


def _with_table(vocabulary: Vocabulary, depth: int) -> NeighborSearch:
    table, radii = NeighborSearch(vocabulary).neighbor_table(np.arange(len(vocabulary)), depth)
    return NeighborSearch(
        Vocabulary(vocabulary.words, vocabulary.vectors, neighbor_ids=table, close_radius=radii)
    )


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from([random_vocabulary(80, 4), grid_vocabulary(9, 2)]),
    st.sampled_from([0, 1, 5, 40, 1000]),
    st.sampled_from([1e-4, 0.01, 0.3]),
    st.integers(0, 1000),
)
def test_how_deep_the_table_is_has_no_influence(
    vocabulary: Vocabulary, depth: int, c: float, seed: int
) -> None:
    """Ranks beyond the table are those of a full sort in float64, ties by id."""
    released = np.random.default_rng(seed).integers(0, len(vocabulary), 60)
    random = _random(60, seed)
    resampling = RankResampling(c)
    ranks = resampling.ranks(random, 2.0, len(vocabulary))
    expected = []
    for word, rank in zip(released, ranks, strict=True):
        difference = vocabulary.vectors.astype(np.float64) - vocabulary.vectors[word]
        distances = np.square(difference).sum(axis=1)
        distances[word] = -1
        expected.append(int(np.argsort(distances, kind="stable")[rank]))
    plain, tabled = NeighborSearch(vocabulary), _with_table(vocabulary, depth)
    assert resampling.resample(released, random, 2.0, plain).tolist() == expected
    assert resampling.resample(released, random, 2.0, tabled).tolist() == expected


def test_each_word_depends_on_its_own_number_alone() -> None:
    search, released, random = NeighborSearch(random_vocabulary()), np.arange(200), _random(200)
    resampling = RankResampling(0.01)
    together = resampling.resample(released, random, 5.0, search)
    order = np.random.default_rng(1).permutation(200)
    assert (
        resampling.resample(released[order], random[order], 5.0, search) == together[order]
    ).all()
    alone = resampling.resample(released[17:18], random[17:18], 5.0, search)
    assert alone.tolist() == [together[17]]
    assert released.tolist() == list(range(200)), "the argument is left as it was"


def test_a_steep_distribution_changes_nothing_and_a_flat_one_reaches_every_word() -> None:
    search = NeighborSearch(random_vocabulary())
    released = np.arange(200)
    steep, flat = RankResampling(1000.0), RankResampling(1e-9)
    assert (steep.resample(released, _random(200), 5.0, search) == released).all()
    around_one = flat.resample(np.full(4000, 3), _random(4000), 5.0, search)
    assert len(set(around_one.tolist())) == 200


@pytest.mark.parametrize("c", [1e-9, 0.02, 1e9])
def test_one_word_is_its_own_and_only_neighbour(c: float) -> None:
    search = NeighborSearch(of([[1.0, 2.0]]))
    assert RankResampling(c).resample(
        np.zeros(50, np.int64), _random(50), 5.0, search
    ).tolist() == ([0] * 50)


def test_c_is_in_units_of_one_over_epsilon() -> None:
    random = _random(1000)
    assert (
        RankResampling(0.02).ranks(random, 10.0, 300) == RankResampling(0.2).ranks(random, 1.0, 300)
    ).all()


def test_the_original_word_is_not_among_its_arguments() -> None:
    """What it cannot see it cannot leak: this is why it costs no privacy."""
    assert list(inspect.signature(RankResampling.resample).parameters) == [
        "self", "released", "random", "epsilon", "search"
    ]  # fmt: skip
