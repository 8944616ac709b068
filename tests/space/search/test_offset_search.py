"""The words of the largest offset - rate * distance, against a look at all words."""

from __future__ import annotations

import numpy as np
import pytest

from dxbeam.space.search.backends import choose_backend
from dxbeam.space.search.backends.backend import Floats, Ids
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.space.search.offset_search import NOTHING, OffsetSearch
from dxbeam.space.vocabulary.words import Vocabulary
from tests.support import tiny

COUNT = 12


def _offsets(words: int) -> Floats:
    """As logarithms of frequencies are: most of the large ones come first."""
    shuffled = np.random.default_rng(4).normal(0, 1, words)
    return np.asarray(-np.log(np.arange(words) + 1.5) + shuffled)


def _by_all(
    vocabulary: Vocabulary, query: Floats, offsets: Floats, rate: float, power: int = 1
) -> Ids:
    apart = np.sqrt(np.square(vocabulary.vectors.astype(np.float64) - query).sum(axis=1))
    return np.lexsort((np.arange(len(offsets)), -(offsets - rate * apart**power)))


@pytest.mark.parametrize("backend", ["float32", "int8", "int7"])
@pytest.mark.parametrize(("words", "dimensions"), [(6000, 40), (2500, 2), (30, 3), (5, 3)])
@pytest.mark.parametrize(("rate", "power"), [(0.5, 1), (10.0, 1), (2.0, 2)])
def test_the_best_words_are_found(
    backend: str, words: int, dimensions: int, rate: float, power: int
) -> None:
    if not choose_backend.is_exact_here(backend):
        pytest.skip(f"{backend} is not exact here")
    vocabulary = tiny.vocabulary(words, dimensions)
    search = NeighborSearch(vocabulary, backend=backend)
    offsets = _offsets(words)
    noise = np.random.default_rng(1).standard_t(4, (60, dimensions))
    queries = vocabulary.vectors[np.arange(60) % words] + noise
    bounds = search.exact_backend.bounds
    made = OffsetSearch(vocabulary.vectors, bounds, offsets, rate, power=power)
    found = made.best(queries, COUNT)
    for row, query in enumerate(queries):
        right = _by_all(vocabulary, query, offsets, rate, power)[:COUNT]
        filled = np.append(right, [NOTHING] * (COUNT - len(right)))
        assert found.words[row].tolist() == filled.tolist()


def test_words_far_below_the_best_are_left_out() -> None:
    vocabulary = tiny.vocabulary(3000, 20)
    offsets, rate, width = _offsets(3000), 10.0, 3.0
    bounds = NeighborSearch(vocabulary, backend="float32").exact_backend.bounds
    queries = vocabulary.vectors[:50] + np.random.default_rng(2).normal(0, 1, (50, 20))
    found = OffsetSearch(vocabulary.vectors, bounds, offsets, rate).best(queries, COUNT, width)
    numbers = (found.words != NOTHING).sum(axis=1)
    assert numbers.min() < COUNT
    for row, query in enumerate(queries):
        right = _by_all(vocabulary, query, offsets, rate)
        apart = np.sqrt(np.square(vocabulary.vectors[right].astype(np.float64) - query).sum(axis=1))
        values = offsets[right] - rate * apart
        kept = right[values >= values[0] - width][:COUNT]
        assert found.words[row, : numbers[row]].tolist() == kept.tolist()
        assert not np.isfinite(found.distances[row, numbers[row] :]).any()


def test_a_guess_that_is_too_high_costs_time_and_no_word() -> None:
    vocabulary = tiny.vocabulary(3000, 20)
    offsets = _offsets(3000)[::-1].copy()  # the frequent words last
    bounds = NeighborSearch(vocabulary, backend="float32").exact_backend.bounds
    queries = vocabulary.vectors[:30] + np.random.default_rng(2).normal(0, 1, (30, 20))
    search = OffsetSearch(vocabulary.vectors, bounds, offsets, 4.0, margin=-8.0)
    best = search.best(queries, COUNT)
    for row, query in enumerate(queries):
        assert best.words[row].tolist() == _by_all(vocabulary, query, offsets, 4.0)[:COUNT].tolist()


def test_batches_and_threads_change_no_bit() -> None:
    vocabulary = tiny.vocabulary(3000, 20)
    bounds = NeighborSearch(vocabulary).exact_backend.bounds
    queries = np.random.default_rng(2).normal(0, 3, (1100, 20))
    one = OffsetSearch(vocabulary.vectors, bounds, _offsets(3000), 3.0).best(queries, COUNT)
    two = OffsetSearch(vocabulary.vectors, bounds, _offsets(3000), 3.0, 2).best(queries, COUNT)
    few = OffsetSearch(vocabulary.vectors, bounds, _offsets(3000), 3.0).best(
        queries[700:707], COUNT
    )
    assert one.words.tobytes() == two.words.tobytes()
    assert one.distances.tobytes() == two.distances.tobytes()
    assert few.distances.tobytes() == one.distances[700:707].tobytes()


def test_more_words_than_a_block_has_are_found_once_each() -> None:
    vocabulary = tiny.vocabulary(4500, 4)
    offsets, count = _offsets(4500), 2300
    bounds = NeighborSearch(vocabulary, backend="float32").exact_backend.bounds
    queries = np.random.default_rng(3).normal(0, 1, (3, 4))
    found = OffsetSearch(vocabulary.vectors, bounds, offsets, 2.0).best(queries, count)
    for row, query in enumerate(queries):
        right = _by_all(vocabulary, query, offsets, 2.0)[:count]
        assert found.words[row].tolist() == right.tolist()
