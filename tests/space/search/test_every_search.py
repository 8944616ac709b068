"""Every exact search gives the words that brute force in float64 does, whatever the vocabulary.

And each would not, were its bound a twentieth too small: where rounding errs as much as it may.
"""

from __future__ import annotations

from typing import Any

import faiss
import numpy as np
import pytest

from dxbeam.space.search.backends import choose_backend, float32_search
from dxbeam.space.search.backends.choose_backend import BACKENDS, is_exact_here
from dxbeam.space.search.backends.faiss_search import FaissSearch
from dxbeam.space.search.backends.float32_search import Float32Search
from dxbeam.space.search.backends.rounded_words import RoundedQueries
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.space.vocabulary.words import distances
from tests.support.products import plain
from tests.support.vocabularies import adversarial, of

pytestmark = pytest.mark.slow  # all of them together

ROUNDOFF = 2.0**-24


@pytest.fixture(params=BACKENDS)
def path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Every search; those by integers with NumPy's products where this processor's are wrong."""
    name: str = request.param
    if name == "torch":
        pytest.importorskip("torch", reason="the extra gpu is not installed")
    elif not is_exact_here(name):
        monkeypatch.setattr(choose_backend, "onnx_product", lambda: plain)
    return name


def _is_right(vectors: np.ndarray, queries: np.ndarray, path: str) -> bool:
    """Whether nearest words and their distances are those of brute force, one word or two."""
    vocabulary = of(vectors)
    order = np.empty((len(queries), min(2, len(vectors))), np.int64)
    for row, query in enumerate(queries):
        apart = distances(vocabulary.vectors, query)
        order[row] = np.argsort(apart, kind="stable")[: order.shape[1]]
    exact = distances(vocabulary.vectors[order], queries[:, None, :])
    search = NeighborSearch(vocabulary, 1, path)
    right = np.array_equal(search.nearest(queries), order[:, 0])
    if len(vectors) > 1:
        ids, apart = search.nearest_two(queries)
        right &= np.array_equal(ids, order) and np.array_equal(apart, exact)
    return right


def _queries(vectors: np.ndarray, count: int = 12) -> np.ndarray:
    """At words, around words, between two equally near ones, and far from all."""
    generator = np.random.default_rng(7)
    wide = np.float32(vectors).astype(np.float64)
    words = wide[generator.integers(0, len(vectors), count)]
    spread = np.abs(wide - wide.mean(axis=0)).max() + 1e-30
    noise = generator.normal(size=words.shape) * spread / np.sqrt(words.shape[1])
    middle = (wide[generator.integers(0, len(vectors), count)] + words) / 2
    return np.concatenate([words, words + 0.1 * noise, middle, words + 100 * noise])


@pytest.mark.parametrize("vectors", [pytest.param(v, id=name) for name, v in adversarial()])
def test_equal_near_and_distant_vectors(path: str, vectors: np.ndarray) -> None:
    assert _is_right(vectors, _queries(vectors), path)


@pytest.mark.parametrize("words", [1, 2, 15, 16, 17, 600])
def test_few_words(path: str, words: int) -> None:
    vectors = np.random.default_rng(words).normal(size=(words, 5))
    assert _is_right(vectors, _queries(vectors), path)


@pytest.mark.parametrize("n", [1, 2, 3, 17, 300, 1024])
def test_any_number_of_dimensions(path: str, n: int) -> None:
    generator = np.random.default_rng(n)
    vectors = generator.normal(size=(300, n)) * np.exp(generator.normal(size=n))
    assert _is_right(vectors, _queries(vectors), path)


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning", "ignore:invalid:RuntimeWarning")
@pytest.mark.parametrize("scale", [1e-37, 1e-22, 1e-9, 1e9, 1e15])
def test_units_that_float32_can_hardly_square(path: str, scale: float) -> None:
    vectors = np.random.default_rng(0).normal(size=(300, 4)) * scale
    assert _is_right(vectors, _queries(vectors), path)
    assert _is_right(vectors, np.full((3, 4), 1e25), path)


BETWEEN = 0.025
"""Of the error, by which the second word is farther: less than the twentieth that is taken away."""


def _rounded_word(largest: int) -> tuple[np.ndarray, np.ndarray]:
    """A word whose rounding takes away as much as it may, all of it along the query; mean 0."""
    lost, length = 0.499 / 127, 127.0
    score = length * lost - (1 + lost**2) / 2
    other = (score - BETWEEN * length * lost) / length
    return np.array([[1, lost], [0, other], [-1, -lost - other]]), np.array([[0.0, length]])


def _rounded_query(largest: int) -> tuple[np.ndarray, np.ndarray]:
    """A query whose rounding takes away as much as it may, all of it along the word; mean 0."""
    lost, length = 0.499, 0.5
    score = lost * length - length**2 / 2
    other = (score - BETWEEN * lost * length) / largest
    words = np.array([[0, length], [other, 0]])
    return np.concatenate([words, -words]), np.array([[largest, lost]])


@pytest.mark.parametrize("case", [_rounded_word, _rounded_query])
@pytest.mark.parametrize("path", ["int8", "int7", "torch"], indirect=True)
def test_a_bound_for_integers_that_is_too_small_is_noticed(
    path: str, case: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors, queries = case(63 if path == "int7" else 127)
    assert _is_right(vectors, queries, path)
    bound = RoundedQueries.bound
    monkeypatch.setattr(RoundedQueries, "bound", lambda *given: 0.95 * bound(*given))
    assert not _is_right(vectors, queries, path)


def test_a_bound_for_float32_that_is_too_small_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the products of the two nearest words err as much as they may, towards each other."""
    n, length = 500, 1000.0
    error = n * ROUNDOFF * length
    vectors = np.zeros((3000, n), np.float32)
    vectors[:, 0] = -1
    vectors[:2, 0] = 1, 1 - 0.05 * error / length
    query = np.zeros((1, n))
    query[0, 0] = length

    class Worst:
        def __getattr__(self, name: str) -> Any:
            return getattr(np, name)

        def matmul(self, queries: np.ndarray, words: np.ndarray, out: np.ndarray) -> np.ndarray:
            out[:] = queries.astype(np.float64) @ words.astype(np.float64)
            out[:, (words == vectors[0][:, None]).all(axis=0)] += 2 * error
            out[:, (words == vectors[1][:, None]).all(axis=0)] -= 2 * error
            return out

    monkeypatch.setattr(float32_search, "np", Worst())
    assert Float32Search(vectors).nearest(query, 1)[0] == 0
    right = Float32Search._error
    monkeypatch.setattr(Float32Search, "_error", lambda *given: 0.95 * right(*given))
    assert Float32Search(vectors).nearest(query, 1)[0] == 1


def test_a_bound_for_faiss_that_is_too_small_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the nearest word comes out as much too far as it may, and so is not among the first."""
    n = 500
    error = n * ROUNDOFF
    apart = np.sqrt(1 + error * np.concatenate([[0, 0.01], np.linspace(0.98, 0.99, 30)]))
    vectors = np.zeros((len(apart), n), np.float32)
    vectors[:, 0] = apart
    asked = []

    def worst(queries: np.ndarray, words: np.ndarray, k: int) -> Any:
        asked.append(k)
        squares = np.square(queries[:, None, :] - words.astype(np.float64)).sum(axis=2)
        squares[:, 0] += error
        order = np.argsort(squares, axis=1, kind="stable")[:, :k]
        return np.take_along_axis(squares, order, axis=1).astype(np.float32), order

    monkeypatch.setattr(faiss, "knn", worst)
    query = np.zeros((1, n))
    search = FaissSearch(vectors, Float32Search(vectors))
    assert search.nearest(query, 1)[0] == 0
    assert asked == [16, 32]
    right = FaissSearch._errors
    monkeypatch.setattr(FaissSearch, "_errors", lambda *given: 0.95 * right(*given))
    assert search.nearest(query, 1)[0] == 1
