"""Clusters, orders and words left over, against searches through all words each time."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.space.vocabulary.clusters import clusters, partition
from dxbeam.space.vocabulary.word_order import word_order
from dxbeam.space.vocabulary.words import Vocabulary
from tests.support import vocabularies


def nearest_left(vocabulary: Vocabulary, word: int, left: npt.NDArray[np.bool_]) -> int:
    """By (distance, id)."""
    vectors = vocabulary.vectors.astype(np.float64)
    apart = np.sqrt(np.square(vectors - vectors[word]).sum(axis=1))
    return int(np.where(left, apart, np.inf).argmin())


def clusters_by_all_words(vocabulary: Vocabulary, size: int) -> list[int]:
    left, numbers, number = np.ones(len(vocabulary), bool), np.zeros(len(vocabulary), int), 0
    while left.sum() >= 2 * size:
        seed = word = int(left.argmax())
        for _ in range(size):
            numbers[word], left[word] = number, False
            word = nearest_left(vocabulary, seed, left)
        number += 1
    numbers[left] = number
    return list(numbers)


def order_by_all_words(vocabulary: Vocabulary, start: int) -> list[int]:
    left, order = np.ones(len(vocabulary), bool), [start]
    left[start] = False
    while left.any():
        order.append(nearest_left(vocabulary, order[-1], left))
        left[order[-1]] = False
    return order


def tabled(vocabulary: Vocabulary) -> Vocabulary:
    ids = np.arange(len(vocabulary))
    table, radii = NeighborSearch(vocabulary).neighbor_table(ids, 128)
    return dataclasses.replace(vocabulary, neighbor_ids=table, close_radius=radii)


def long_vectors() -> Vocabulary:
    """A large coordinate, equal for all, in which float32 loses the others."""
    vectors = np.random.default_rng(4).normal(0, 2, (300, 5))
    vectors[:, -1] = 1e8
    return vocabularies.of(vectors)


PLACES: dict[str, Callable[[], Vocabulary]] = {
    "one word": lambda: vocabularies.random_vocabulary(1),
    "two words": lambda: vocabularies.random_vocabulary(2),
    "40 words": lambda: vocabularies.random_vocabulary(40),
    "700 words": lambda: vocabularies.random_vocabulary(700),
    "700 words with neighbours": lambda: tabled(vocabularies.random_vocabulary(700)),
    "a grid": lambda: vocabularies.grid_vocabulary(7, 3),
    "one place": lambda: vocabularies.of(np.ones((90, 3))),
    "long vectors": long_vectors,
}


@pytest.mark.parametrize("name", PLACES)
def test_clusters_are_seeds_with_their_nearest_words(name: str) -> None:
    vocabulary = PLACES[name]()
    for size in (2, 20):
        assert list(clusters(vocabulary, size)) == clusters_by_all_words(vocabulary, size)


@pytest.mark.parametrize("name", PLACES)
def test_an_order_goes_on_to_the_nearest_word_that_is_left(name: str) -> None:
    vocabulary = PLACES[name]()
    for start in {0, len(vocabulary) // 2}:
        order = word_order(vocabulary, start)
        assert order.dtype == np.int32
        assert list(order) == order_by_all_words(vocabulary, start)


@pytest.mark.parametrize(("words", "sizes"), [(39, [39]), (40, [20, 20]), (1017, [20] * 49 + [37])])
def test_clusters_have_a_size_and_the_last_one_what_is_left(words: int, sizes: list[int]) -> None:
    parts = partition(vocabularies.random_vocabulary(words), 20)
    assert list(parts.size) == sizes
    assert sorted(parts.members) == list(range(words))
    at = parts.start[parts.number] + parts.place
    assert list(parts.members[at]) == list(range(words))
