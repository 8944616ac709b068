"""A scan of all words finds the best by offset and distance, exactly."""

from __future__ import annotations

import numpy as np
import pytest

from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.space.search.offset_scan import best_by_scan
from dxbeam.space.search.offset_search import NOTHING
from dxbeam.space.vocabulary.words import Vocabulary, distances


@pytest.mark.parametrize("cap", [np.inf, 2.0])
def test_it_finds_what_comparing_in_float64_finds(cap: float) -> None:
    """Among them words of one place, words far from the origin, and words that are never wanted."""
    generator = np.random.default_rng(0)
    vectors = generator.normal(0, 1, (400, 5)).astype(np.float32)
    vectors[200:220] = vectors[:20]
    vectors[300:] += 1000
    vocabulary = Vocabulary([f"w{i}" for i in range(400)], vectors)
    search, offsets = NeighborSearch(vocabulary), np.round(generator.normal(0, 2, 400))
    offsets[10:15] = -np.inf
    ids = np.array([0, 5, 12, 200, 310, 399])
    found = best_by_scan(ids, offsets, 0.7, cap, 9, search)
    for word, row in zip(ids.tolist(), found.tolist(), strict=True):
        apart = distances(vectors, vectors[word].astype(np.float64))
        values = offsets - 0.7 * np.minimum(apart, cap)
        values[word] = -np.inf
        assert row == np.lexsort((np.arange(400), -values))[:9].tolist()
    assert (best_by_scan(ids[:1], offsets[:], 0.7, cap, 500, search) == NOTHING).sum() == 500 - 394
