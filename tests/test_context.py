"""Epsilon in context: the factor at the distance of typical neighbours."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from dxbeam.context import in_context
from dxbeam.mechanisms import make_mechanism
from dxbeam.mechanisms.laplace import Laplace
from dxbeam.neighbors import NeighborSearch
from dxbeam.vocabulary import Vocabulary
from tests.vocabularies import of


def _on_a_ring(words: int, radius: float) -> Vocabulary:
    """Every word has two nearest neighbours at one distance, and all see the same distances."""
    angles = 2 * np.pi * np.arange(words) / words
    return of(radius * np.column_stack([np.cos(angles), np.sin(angles)]))


def test_the_factors_are_those_at_the_first_and_the_hundredth_neighbour() -> None:
    search = NeighborSearch(_on_a_ring(500, 10.0))
    nearest, close = in_context(Laplace(2.0).guarantee(), search)
    assert (nearest.rank, close.rank) == (1, 100)
    assert nearest.distance == pytest.approx(20 * np.sin(np.pi / 500), rel=1e-4)
    assert close.distance == pytest.approx(20 * np.sin(50 * np.pi / 500), rel=1e-4)
    assert close.exponent == pytest.approx(2 * close.distance)
    assert "its nearest word" in nearest.sentence
    assert "100th nearest word" in close.sentence


def test_a_small_vocabulary_has_a_last_neighbour() -> None:
    assert [n.rank for n in in_context(Laplace(2.0).guarantee(), NeighborSearch(_on_a_ring(5, 1)))]
    assert in_context(Laplace(2.0).guarantee(), NeighborSearch(of(np.zeros((1, 2))))) == []


def test_what_caps_the_exponent_is_heeded() -> None:
    promise = make_mechanism("coordinate_laplace", epsilon=2.0, clip=0.5).guarantee()
    nearest, close = in_context(promise, NeighborSearch(_on_a_ring(500, 10.0)))
    assert nearest.exponent == pytest.approx(2 * nearest.distance)
    assert close.exponent == 2.0


def test_beyond_its_reach_a_guarantee_promises_nothing() -> None:
    promise = make_mechanism("gaussian", epsilon=2.0, distance=1.0, delta=1e-6).guarantee()
    nearest, close = in_context(promise, NeighborSearch(_on_a_ring(500, 10.0)))
    assert nearest.exponent == pytest.approx(2 * nearest.distance)
    assert "up to a probability of 1e-06" in nearest.sentence
    assert close.exponent is None
    assert "nothing is promised" in close.sentence


def test_without_a_euclidean_reading_nothing_is_said() -> None:
    other = dataclasses.replace(Laplace(2.0).guarantee(), euclidean_epsilon=None)
    assert in_context(other, NeighborSearch(_on_a_ring(50, 1.0))) == []
