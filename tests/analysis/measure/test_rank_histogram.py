"""Ranks of released words among the neighbours of the original."""

from __future__ import annotations

import numpy as np

from dxbeam.analysis.measure import proportions
from dxbeam.analysis.measure.rank_histogram import first_ranks, histogram
from dxbeam.analysis.theory.exponential_shares import exponential_shares
from dxbeam.audit.references.choice import santext
from dxbeam.mechanisms import make_mechanism
from dxbeam.space.search.neighbors import NeighborSearch
from tests.support.vocabularies import random_vocabulary


def test_bins_grow_twofold_and_part_close_from_distant() -> None:
    assert first_ranks(300).tolist() == [0, 1, 2, 3, 6, 11, 21, 51, 101, 201]
    assert first_ranks(2).tolist() == [0, 1]
    assert first_ranks(101).tolist() == [0, 1, 2, 3, 6, 11, 21, 51]


def test_a_histogram_counts_places_in_the_order_of_distance() -> None:
    search = NeighborSearch(random_vocabulary(400, 5))
    generator = np.random.default_rng(1)
    ids = np.arange(0, 400, 4)
    released = generator.integers(0, 400, (len(ids), 3))
    released[:10, 0] = ids[:10]
    kinds = proportions.outcomes(ids, released, search)
    first = first_ranks(400)
    expected = np.zeros((3, len(first)))
    for row, word in enumerate(ids):
        order = search.neighbor(np.full(400, word), np.arange(400))
        for column in range(3):
            rank = int(np.flatnonzero(order == released[row, column])[0])
            expected[column, np.searchsorted(first, rank, side="right") - 1] += 1
    assert histogram(ids, released, kinds, search).tolist() == expected.tolist()


def test_expected_ranks_are_sums_of_probabilities() -> None:
    search = NeighborSearch(random_vocabulary(400, 5))
    mechanism = make_mechanism("santext", epsilon=1.0)
    ids = np.array([5, 90])
    _, ranks = exponential_shares(mechanism, [1.0], ids, search)
    first = first_ranks(400)
    expected = np.zeros(len(first))
    for word in ids:
        law = santext(mechanism, search.vocabulary).released(
            int(word), search.vocabulary.vectors_of(np.array([word]))[0]
        )
        order = search.neighbor(np.full(400, word), np.arange(400))
        expected += np.add.reduceat(law[order], first)
    np.testing.assert_allclose(ranks[0], expected, rtol=1e-4)
