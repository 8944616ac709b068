"""Rows of the neighbour table by bounds: what brute force in float64 finds, on every path."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

from dxbeam.space.search import order_candidates, table_search
from dxbeam.space.search.backends import float32_bounds
from dxbeam.space.search.backends.float32_bounds import Float32Bounds, Float32Queries
from dxbeam.space.search.backends.float32_search import Float32Search
from dxbeam.space.search.backends.integer_products import (
    LARGEST_QUERY,
    Factors,
    is_exact,
    onnx_product,
)
from dxbeam.space.search.backends.rounded_words import RoundedQueries, RoundedWords
from dxbeam.space.search.backends.score_bounds import ScoreBounds
from dxbeam.space.search.backends.torch_product import TorchProduct
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.space.search.table_search import TableSearch
from tests.support.products import plain
from tests.support.vocabularies import adversarial, of

Vectors = np.ndarray
Bounds = Callable[[Vectors], ScoreBounds]


def _by_integers(bits: int) -> Bounds:
    product = onnx_product()
    if product is None or not is_exact(product, bits):
        product = plain
    return lambda vectors: RoundedWords(vectors, product, bits)


PATHS: dict[str, Bounds] = {
    "int8": _by_integers(8),
    "int7": _by_integers(7),
    "float32": Float32Bounds,
}
"""By this processor's integer products, or NumPy's where these are wrong, and in float32."""

if find_spec("torch"):  # the extra gpu
    PATHS["torch"] = lambda vectors: RoundedWords(vectors, TorchProduct("cpu"), 8)

every_path = pytest.mark.parametrize("path", PATHS)


def brute(vectors: Vectors, ids: Vectors, depth: int) -> tuple[Vectors, Vectors]:
    """Neighbours and all distances, by sorting distances in float64."""
    wide, rows = vectors.astype(np.float64), []
    apart = np.empty((len(ids), len(vectors)))
    for row, word in enumerate(ids):
        apart[row] = np.sqrt(np.square(wide - wide[word]).sum(axis=1))
        order = np.argsort(apart[row], kind="stable")
        rows.append(order[order != word][:depth])
    return np.array(rows), apart


def _right(search: TableSearch, vectors: Vectors, ids: Vectors, depth: int, rank: int) -> bool:
    return _is(search, ids, depth, rank, *brute(vectors, ids, max(depth, rank)))


def _is(
    search: TableSearch, ids: Vectors, depth: int, rank: int, near: Vectors, apart: Vectors
) -> bool:
    found, radii = search.table(ids, depth, rank)
    return np.array_equal(found, near[:, :depth]) and np.array_equal(
        radii, apart[np.arange(len(ids)), near[:, rank - 1]]
    )


SMALL = 128
"""Of a sample, so that a small vocabulary has words that are not kept."""


def _never(*_: Any) -> Any:
    raise AssertionError("the bounds did not do")


def _normal(words: int, n: int, freedom: int = 50) -> Vectors:
    """Words around the origin: in more dimensions than this all would be about equally near."""
    generator = np.random.default_rng(n)
    vectors = generator.normal(size=(words, min(n, freedom)))
    if n > freedom:
        vectors = vectors @ generator.normal(size=(freedom, n))
    return vectors.astype(np.float32)


@cache
def _rows(n: int) -> tuple[Vectors, Vectors, Vectors, Vectors]:
    """Words, ids of some, and the first 30 neighbours and all distances of these."""
    vectors, ids = _normal(2500, n, 20), np.arange(0, 2500, 20)
    return vectors, ids, *brute(vectors, ids, 30)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("n", [2, 50, pytest.param(1024, marks=pytest.mark.slow)])
@every_path
def test_bounds_find_every_row(path: str, n: int, threads: int) -> None:
    vectors, ids, near, apart = _rows(n)
    missed: list[int] = []
    one_by_one = Float32Search(vectors).neighbor_table

    def counted(ids: Any, depth: int, rank: int) -> Any:
        missed.extend(ids)
        return one_by_one(ids, depth, rank)

    search = TableSearch(vectors, PATHS[path](vectors), counted, threads, least_sample=SMALL)
    assert _is(search, ids, 20, 7, near, apart)
    assert _is(search, ids, 5, 30, near, apart)
    assert len(missed) < len(ids) / 10


@pytest.mark.parametrize("vectors", [pytest.param(v, id=name) for name, v in adversarial()])
@every_path
def test_equal_near_and_distant_vectors(path: str, vectors: Vectors) -> None:
    vectors = vectors.astype(np.float32)
    try:
        bounds = PATHS[path](vectors)
    except ArithmeticError:  # then float32 is used
        assert not vectors.std(axis=0).any()
        return
    row_by_row = Float32Search(vectors).neighbor_table
    search = TableSearch(vectors, bounds, row_by_row, least_sample=SMALL)
    ids = np.arange(0, len(vectors), 57)
    for depth, rank in ((30, 10), (1, 1), (3, 40)):
        assert _right(search, vectors, ids, depth, rank)


@pytest.mark.parametrize("scale", [1e-37, 1e-22, 1e-15, 1e15])
def test_units_that_float32_cannot_square(scale: float) -> None:
    vectors = (_normal(4096, 4) * scale).astype(np.float32)
    ids = np.arange(0, 4096, 60)
    found, _ = NeighborSearch(of(vectors)).neighbor_table(ids, 12)
    assert np.array_equal(found, brute(vectors, ids, 12)[0])


@pytest.mark.parametrize("words", [3, 40, 2047, 2048, 2049])
@every_path
def test_few_words_and_the_borders_of_blocks(path: str, words: int) -> None:
    vectors = _normal(words, 5)
    vectors[words // 2 :] = vectors[: words - words // 2]
    search = TableSearch(vectors, PATHS[path](vectors), Float32Search(vectors).neighbor_table)
    ids = np.arange(0, words, words // 40 + 1)
    for depth in {1, min(words - 1, 30)}:
        assert _right(search, vectors, ids, depth, depth)


@pytest.mark.parametrize("backend", ["int8", "int7", "float32"])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_large_vocabulary_is_searched_by_bounds(
    backend: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dxbeam.space.search.backends.choose_backend.onnx_product", lambda: plain)
    vocabulary = of(_normal(5000, 20))
    search = NeighborSearch(vocabulary, threads, backend)
    assert search.exact_backend.name == backend
    ids = np.arange(0, 5000, 25)
    monkeypatch.setattr(search._float32, "neighbor_table", _never)
    found, radii = search.neighbor_table(ids, 110)
    near, apart = brute(vocabulary.vectors, ids, 110)
    assert np.array_equal(found, near)
    assert np.array_equal(radii, apart[np.arange(len(ids)), near[:, 99]])
    monkeypatch.undo()
    few, _ = search.neighbor_table(ids[:10], 110)
    assert np.array_equal(few, near[:10])
    deep, _ = search.neighbor_table(ids[:64], 4999)
    assert np.array_equal(deep, brute(vocabulary.vectors, ids[:64], 4999)[0])


# A bound that is a twentieth too small is noticed.


def _too_small(monkeypatch: pytest.MonkeyPatch, kind: Any) -> None:
    scores = kind.scores
    monkeypatch.setattr(
        kind,
        "scores",
        lambda self, block, out, errors=1.0: scores(self, block, out, 0.95 * errors),
    )


@pytest.mark.parametrize("bits", LARGEST_QUERY)
def test_a_bound_for_integers_that_is_too_small_is_noticed(
    bits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where rounding makes one word's product as much too small as Cauchy and Schwarz allow."""
    depth, erring = 40, 40  # the last that is to be found; the next is hardly farther away
    apart = np.concatenate([np.linspace(0.3, 0.6, depth - 1), [1, 1 + 2e-6]])
    apart = np.concatenate([apart, np.linspace(1.5, 3, 2900)])
    directions = np.abs(np.random.default_rng(0).normal(size=(len(apart), 8)))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    vectors = np.concatenate([np.zeros((1, 8)), directions * apart[:, None]]).astype(np.float32)
    query, word = vectors[[0, erring]] - vectors.mean(axis=0, dtype=np.float64)

    def worst(factors: Factors, out: Vectors) -> None:
        plain(factors, out)
        queries, zero, words, query_scale, word_scales, bias = factors
        rounded_query = (queries[0].astype(np.float64) - zero) * float(query_scale)
        rounded = words * word_scales.astype(np.float64)
        for column in np.flatnonzero((word_scales >= np.abs(rounded.T - word).T).all(axis=0)):
            allowed = np.linalg.norm(query - rounded_query) * np.linalg.norm(rounded[:, column])
            allowed += np.linalg.norm(query) * np.linalg.norm(word - rounded[:, column])
            out[:, column] = query @ word - allowed + bias[column]

    search = TableSearch(vectors, RoundedWords(vectors, worst, bits), _never)
    ids = np.array([0])
    assert _right(search, vectors, ids, depth, depth)
    _too_small(monkeypatch, RoundedQueries)
    assert not _right(search, vectors, ids, depth, depth)


_LAST_PLACE = 2.0**-23
"""Of a float32 from 1 to 2."""


def _at(distances: Vectors, n: int) -> Vectors:
    """A first word, and others at such distances from it."""
    vectors = np.zeros((len(distances) + 1, n), np.float32)
    vectors[:, 0] = 1
    vectors[1:, 1] = distances
    return vectors


def test_a_bound_for_float32_that_is_too_small_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the product of one word errs as much as it may in some order of summation."""
    n, depth = 500, 40
    order = np.random.default_rng(0).permutation(2999)
    erring = 1 + order.tolist().index(depth - 1)  # the last that is to be found
    vectors = _at(1 + _LAST_PLACE * order, n)

    class Worst:
        def __getattr__(self, name: str) -> Any:
            return getattr(np, name)

        def matmul(self, queries: Vectors, words: Vectors, out: Vectors) -> None:
            q, w = queries.astype(np.float64), words.astype(np.float64)
            lengths = np.linalg.norm(q, axis=1)[:, None] * np.linalg.norm(w, axis=0)
            errs = (vectors[erring] == words.T).all(axis=1)
            out[:] = q @ w - n * 2.0**-24 * lengths * errs

    monkeypatch.setattr(float32_bounds, "np", Worst())
    # The limit has a separate margin, for distances in float32, which would make up for it.
    monkeypatch.setattr(table_search, "at_most", lambda squares, _: squares)
    search = TableSearch(vectors, Float32Bounds(vectors), _never, survivors=1000)
    ids = np.array([0])
    assert _right(search, vectors, ids, depth, depth)
    _too_small(monkeypatch, Float32Queries)
    assert not _right(search, vectors, ids, depth, depth)


def test_a_bound_on_squared_distances_that_is_too_small_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where sums err as much as they may: of two words, upwards for the nearer one."""
    n, pairs = 500, 50
    near = 1 + np.arange(pairs) / 256
    distances = np.concatenate([near, near + 2 * _LAST_PLACE, np.linspace(1.5, 3, 2900)])
    vectors = _at(distances, n)

    def worst(queries: Vectors, row: Vectors, among: Vectors, word: Vectors) -> Vectors:
        wide = among[word].astype(np.float64) - queries[row]
        sign = np.where(word <= pairs, 1, -1)
        return (np.square(wide).sum(axis=1) * (1 + sign * (n + 2) * 2.0**-24)).astype(np.float32)

    monkeypatch.setattr(table_search, "squared_distances", worst)
    search = TableSearch(vectors, Float32Bounds(vectors), _never)
    ids = np.array([0])
    assert _right(search, vectors, ids, pairs, pairs)
    right = order_candidates._relative_error(n)
    monkeypatch.setattr(order_candidates, "_relative_error", lambda _: 0.95 * right)
    assert not _right(search, vectors, ids, pairs, pairs)
