"""Thresholds between neighbours are half-planes of the noise."""

from __future__ import annotations

import numpy as np
import pytest

from dxbeam.analysis import geometry
from dxbeam.analysis.noisy_dot_product import cdf
from dxbeam.space.neighbors import NeighborSearch
from tests.support.vocabularies import of, random_vocabulary


def test_thresholds_are_those_of_the_definition() -> None:
    vocabulary = random_vocabulary(300, 6)
    ids = np.arange(0, 300, 11)
    rows = {row.pair: row for row in geometry.thresholds(ids, NeighborSearch(vocabulary))}
    vectors = vocabulary.vectors.astype(np.float64)
    expected: dict[str, list[float]] = {pair: [] for pair in geometry.PAIRS}
    for word in ids:
        distances = np.sqrt(np.square(vectors - vectors[word]).sum(axis=1))
        order = np.argsort(distances, kind="stable")
        for pair, (a, b) in geometry.PAIRS.items():
            x, y = order[a], order[b]
            apart = np.sqrt(np.square(vectors[x] - vectors[y]).sum())
            expected[pair].append((distances[y] ** 2 - distances[x] ** 2) / (2 * apart))
    for pair, values in expected.items():
        assert rows[pair].values == pytest.approx(values, abs=1e-9)
        assert rows[pair].mean == pytest.approx(np.mean(values))
        assert rows[pair].left_out == 0


def test_words_at_one_place_are_left_out_and_counted() -> None:
    places = np.zeros((6, 2))
    places[:, 0] = [0, 1, 1, 5, 9, 9]
    rows = geometry.thresholds(np.arange(6), NeighborSearch(of(places)))
    assert [row.pair for row in rows] == ["z(w, x1)", "z(x1, x2)"]  # there is no 101st neighbour
    assert [row.left_out for row in rows] == [4, 2]


def test_both_ways_of_figure_six() -> None:
    rows = geometry.thresholds(np.arange(100), NeighborSearch(random_vocabulary(200, 6)))
    [point, *_] = geometry.nearer(rows, 6, [2.0])
    assert point.at_mean == pytest.approx(float(cdf(rows[0].mean, 6, 2.0)))
    assert point.mean == pytest.approx(float(np.mean(cdf(rows[0].values, 6, 2.0))))
