"""Thresholds between neighbours are half-planes of the noise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta

from benchmarks.noisy_dot_product import release_bounds
from dxbeam.analysis.measure.proportions import released_words
from dxbeam.analysis.theory import geometry
from dxbeam.analysis.theory.noisy_dot_product import cdf
from dxbeam.mechanisms import make_mechanism
from dxbeam.space.search.neighbors import NeighborSearch
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
    [row] = geometry.thresholds(np.arange(1), NeighborSearch(of(places)))
    assert row.pair == "z(w, x1)"  # its two neighbours are at one place


def test_intervals_of_words_in_texts_are_over_texts() -> None:
    """A text that says one word again and again tells no more than one that says it once."""
    search = NeighborSearch(random_vocabulary(300, 6))
    ids = np.array([3, 50, 120, 290])
    once = geometry.thresholds(ids, search)
    texts = np.repeat(np.arange(4), 25)
    often = geometry.thresholds(np.repeat(ids, 25), search, texts)
    by_words = geometry.thresholds(np.repeat(ids, 25), search)
    for row, repeated, words in zip(once, often, by_words, strict=True):
        assert repeated[1:4] == pytest.approx(row[1:4])
        assert words.high - words.low < (row.high - row.low) / 4


def test_a_single_word_has_no_interval() -> None:
    [row, *_] = geometry.thresholds(np.array([3]), NeighborSearch(random_vocabulary(300, 6)))
    assert (row.low, row.high) == (-np.inf, np.inf)


def test_both_ways_of_figure_six() -> None:
    rows = geometry.thresholds(np.arange(100), NeighborSearch(random_vocabulary(200, 6)))
    [point, *_] = geometry.nearer(rows, 6, [2.0])
    assert point.at_mean == pytest.approx(float(cdf(rows[0].mean, 6, 2.0)))
    assert point.mean == pytest.approx(float(np.mean(cdf(rows[0].values, 6, 2.0))))


def test_measured_frequencies_lie_below_the_bounds() -> None:
    """40 words, 2,000 draws each, at three epsilons; each word itself and 100 neighbours.

    A frequency is taken for a violation where its Clopper-Pearson interval at 1e-6 over all 12,120
    comparisons is above the bound: a false alarm once in a million runs, if every probability
    were as large as its bound, and much more rarely as none is.
    """
    vocabulary = random_vocabulary(1000, 20)
    search = NeighborSearch(vocabulary)
    ids, epsilons, draws = np.arange(0, 1000, 25), [2.0, 4.0, 8.0], 2000
    mechanism = make_mechanism("laplace", epsilon=1.0)
    generator = np.random.default_rng(5)
    found = {bound.word: bound for bound in geometry.bounds(ids, epsilons, search)}
    for word in ids:
        random = generator.integers(0, 2**64, (draws, mechanism.draws(20)), dtype=np.uint64)
        released = released_words(mechanism, epsilons, np.full(draws, word), random, search)
        group = search.nearest_neighbors(np.array([word]), 101)[0]
        for column, epsilon in enumerate(epsilons):
            bounds = release_bounds(vocabulary.vectors_of(group), epsilon)
            assert found[word].original[column] == pytest.approx(bounds[0])
            assert found[word].nearest[column] == pytest.approx(bounds[1])
            counts = (released[:, column][:, None] == group).sum(axis=0)
            above = counts > draws * bounds  # elsewhere the interval begins below the bound
            low = beta.ppf(1e-6 / 12_120, counts[above], draws - counts[above] + 1)
            assert np.all(low <= bounds[above])


def test_bounds_leave_out_words_with_a_twin() -> None:
    places = np.zeros((4, 2))
    places[:, 0] = [0, 0, 3, 5]
    made = geometry.bounds(np.arange(4), [1.0], NeighborSearch(of(places)))
    assert [bound.word for bound in made] == [2, 3]
