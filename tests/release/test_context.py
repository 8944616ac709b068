"""Epsilon in context: the factor between words as far apart as words are."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from dxbeam.mechanisms import MECHANISMS, make_mechanism
from dxbeam.mechanisms.laplace import Laplace
from dxbeam.mechanisms.santext_plus import SanTextPlus
from dxbeam.mechanisms.tem import TEM
from dxbeam.release.context import as_dicts, in_context
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.space.vocabulary.words import Vocabulary
from dxbeam.text.bag_of_words import BagOfWords
from dxbeam.text.configuration import Configuration
from tests.support.vocabularies import of


def _on_a_ring(words: int, radius: float) -> Vocabulary:
    """Every word has two nearest neighbours at one distance, and all see the same distances."""
    angles = 2 * np.pi * np.arange(words) / words
    return of(radius * np.column_stack([np.cos(angles), np.sin(angles)]))


def test_the_factors_are_those_of_neighbours_of_a_typical_pair_and_of_the_farthest() -> None:
    search = NeighborSearch(_on_a_ring(500, 10.0))
    nearest, close, typical, farthest = in_context(Laplace(2.0).guarantee(), search)
    assert (nearest.rank, close.rank, typical.rank, farthest.rank) == (1, 100, None, None)
    assert nearest.distance == pytest.approx(20 * np.sin(np.pi / 500), rel=1e-4)
    assert close.distance == pytest.approx(20 * np.sin(50 * np.pi / 500), rel=1e-4)
    assert typical.distance == pytest.approx(20 * np.sin(np.pi / 4), rel=1e-2)
    assert farthest.distance == pytest.approx(20, rel=1e-6)
    for pair in (nearest, close, typical, farthest):
        assert pair.exponent == pytest.approx(2 * pair.distance)
    assert "its nearest word" in nearest.sentence
    assert "100th nearest word" in close.sentence
    assert "a typical word (median distance 14)" in typical.sentence
    assert "the farthest word seen (distance 20)" in farthest.sentence


def test_a_small_vocabulary_has_a_last_neighbour() -> None:
    found = in_context(Laplace(2.0).guarantee(), NeighborSearch(_on_a_ring(5, 1)))
    assert [pair.rank for pair in found] == [1, 4, None, None]
    assert in_context(Laplace(2.0).guarantee(), NeighborSearch(of(np.zeros((1, 2))))) == []


@pytest.mark.parametrize("length", [None, 1, 7])
def test_what_caps_the_exponent_of_one_word_is_heeded(length: int | None) -> None:
    """In a bag, too, one changed word costs no more than that: not the cap of the whole bag."""
    bag = None if length is None else BagOfWords(length)
    search = NeighborSearch(_on_a_ring(500, 10.0))
    clipped = make_mechanism("coordinate_laplace", epsilon=2.0, clip=0.5)
    nearest, *others = in_context(Configuration(clipped, bag=bag).guarantee(), search)
    assert nearest.exponent == pytest.approx(2 * nearest.distance)
    assert [pair.exponent for pair in others] == [2.0] * 3
    capped = TEM(3.0, 0.3)
    pairs = in_context(Configuration(capped, bag=bag).guarantee(), search)
    for pair in pairs:
        assert pair.exponent == pytest.approx(3 * min(pair.distance, capped.gamma(500)))
    assert pairs[-1].exponent < 3 * pairs[-1].distance


def test_beyond_its_reach_a_guarantee_promises_nothing() -> None:
    promise = make_mechanism("gaussian", epsilon=2.0, distance=1.0, delta=1e-6).guarantee()
    search = NeighborSearch(_on_a_ring(500, 10.0))
    nearest, *others = in_context(promise, search)
    assert nearest.exponent == pytest.approx(2 * nearest.distance)
    assert "up to a probability of 1e-06" in nearest.sentence
    assert [pair.exponent for pair in others] == [None] * 3
    assert all("nothing is promised" in pair.sentence for pair in others)
    of_a_bag = in_context(BagOfWords(5).guarantee(promise), search)
    assert [pair.delta for pair in of_a_bag] == pytest.approx([1e-6] * 4)


def test_where_common_words_are_not_covered_it_is_about_the_others_alone() -> None:
    """The first half of the words, which nothing is promised for, lie in the thick of it."""
    places = np.concatenate([np.arange(50) * 0.01, 100 + np.arange(50) * 2.0])
    search = NeighborSearch(of(places[:, None]))
    promise = SanTextPlus(2.0, 0.3, 0.5).guarantee()
    nearest, _, _, farthest = in_context(promise, search)
    assert nearest.distance == 2
    assert farthest.distance == 98
    assert in_context(BagOfWords(3).guarantee(promise), search) == []
    for words in (1, 2, 3, 7, 100, 33_860):
        for share in (1e-9, 0.25, 0.5, 0.9, 0.95):
            made = SanTextPlus(2.0, 0.3, share)
            assert made.guarantee().first_covered(words) == made.first_sensitive(words)


@pytest.mark.parametrize("name", sorted(MECHANISMS))
def test_it_is_written_with_names_that_say_what_is_what(name: str) -> None:
    promise = make_mechanism(name, epsilon=0.3).guarantee()
    found = in_context(promise, NeighborSearch(_on_a_ring(300, 1.0)))
    assert bool(found) == (promise.euclidean_epsilon is not None)
    written = json.loads(json.dumps(as_dicts(found), allow_nan=False))
    for row, pair in zip(written, found, strict=True):
        distance = "largest_distance" if row["words"] == "farthest pair seen" else "median_distance"
        assert set(row) == {"words", "neighbor_rank", distance, "exponent", "delta"}
        assert row["delta"] == promise.delta
        assert (row["neighbor_rank"] is None) == (row["words"] != "neighbours")
        assert row[distance] == pair.distance


def test_without_a_euclidean_reading_nothing_is_said() -> None:
    other = dataclasses.replace(Laplace(2.0).guarantee(), euclidean_epsilon=None)
    assert in_context(other, NeighborSearch(_on_a_ring(50, 1.0))) == []
