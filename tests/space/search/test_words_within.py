"""Words within a radius, with and without the neighbour table."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.space.vocabulary.words import UNKNOWN, distances
from tests.support import tiny

WORDS = tiny.vocabulary(300)


@pytest.mark.parametrize("depth", [0, 5, 40, 299])
def test_all_words_within_a_radius_are_there(depth: int) -> None:
    table = NeighborSearch(WORDS).neighbor_table(np.arange(300), depth)[0] if depth else None
    words = dataclasses.replace(WORDS, neighbor_ids=table)
    ids, within = np.arange(UNKNOWN, 300), NeighborSearch(words).within
    exact = [distances(words.vectors, vector) for vector in words.vectors_of(ids)]
    radii = (1e-9, float(np.median([row[8] for row in np.sort(exact)])), 1e9)
    for radius in radii:
        near, apart = within.of(ids, radius)
        for row, some, each in zip(exact, near, apart, strict=True):
            assert some.tolist() == np.flatnonzero(row < radius).tolist()
            assert each.tolist() == row[some].tolist()
    in_table = [int(within.in_table(ids, radius).sum()) for radius in radii]
    assert not in_table[2]
    assert in_table[:2] == [0, 0] if not depth else in_table[0] == 300
    assert not within.of(ids[:0], 1.0)[0]
