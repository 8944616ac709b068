"""Search by 8-bit integers: exact whatever rounding does, and out of the way where it cannot be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dxbeam.space.search.backends import integer_products
from dxbeam.space.search.backends.float32_search import Float32Search
from dxbeam.space.search.backends.integer_products import LARGEST_QUERY, Product
from dxbeam.space.search.backends.integer_search import IntegerSearch
from dxbeam.space.search.backends.rounded_words import RoundedWords
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.space.vocabulary.words import Vocabulary, distances
from tests.support.products import BITS, plain, saturating
from tests.support.vocabularies import of


def _onnx_where_exact(bits: int) -> list[Any]:
    try:
        product = integer_products.OnnxProduct()
    except ImportError:
        return []
    return [(product, bits)] if integer_products.is_exact(product, bits) else []


KINDS: list[tuple[Product, int]] = [
    *[(plain, bits) for bits in BITS],
    (saturating, 7),
    *[kind for bits in BITS for kind in _onnx_where_exact(bits)],
]
"""Products that are exact for this many bits: those of any processor, and of this one."""

every_kind = pytest.mark.parametrize(
    ("product", "bits"),
    KINDS,
    ids=[f"{getattr(product, '__name__', 'onnx')}{bits}" for product, bits in KINDS],
)


def _search(vectors: np.ndarray, product: Product, bits: int) -> IntegerSearch:
    return IntegerSearch(RoundedWords(vectors, product, bits), Float32Search(vectors))


def _vocabulary(words: int, n: int, seed: int = 0) -> Vocabulary:
    return of(np.random.default_rng(seed).normal(size=(words, n)))


def _queries(vocabulary: Vocabulary, noise: float, count: int = 500) -> np.ndarray:
    generator = np.random.default_rng(1)
    rows = generator.integers(0, len(vocabulary), count)
    return vocabulary.vectors[rows] + noise * generator.normal(size=(count, vocabulary.dimensions))


def _brute(vocabulary: Vocabulary, queries: np.ndarray, count: int) -> list[list[int]]:
    vectors = vocabulary.vectors.astype(np.float64)
    return [
        np.argsort(np.square(vectors - query).sum(axis=1), kind="stable")[:count].tolist()
        for query in queries
    ]


@pytest.mark.parametrize("words", [2, 2047, 2048, 2049, 5000])
@pytest.mark.parametrize("noise", [0.0, 0.3, 30.0])
@every_kind
def test_the_two_nearest_words_are_exact(
    product: Product, bits: int, words: int, noise: float
) -> None:
    vocabulary = _vocabulary(words, 50)
    queries = _queries(vocabulary, noise, 60)
    search = _search(vocabulary.vectors, product, bits)
    for count in (1, 2):
        found = search.nearest_by_integers(queries, count)
        assert found is not None
        ids, lengths = found
        assert ids.tolist() == _brute(vocabulary, queries, count)
        assert np.array_equal(lengths, distances(vocabulary.vectors[ids], queries[:, None, :]))


@pytest.mark.parametrize("part", ["residuals", "rounded_lengths"])
@every_kind
def test_without_either_part_of_the_bound_the_answer_is_wrong(
    product: Product, bits: int, part: str
) -> None:
    """So the tests around this one would notice a bound that is too small."""
    half = np.random.default_rng(0).normal(size=(150, 2)).astype(np.float32)
    vocabulary = of(np.concatenate([half, -half]))  # the mean is 0
    if part == "residuals":  # queries that rounding leaves as they are
        largest = LARGEST_QUERY[bits]
        generator = np.random.default_rng(1)
        queries = generator.integers(1 - largest, largest, (3000, 2)).astype(np.float64)
        queries[::100] = largest
    else:
        queries = _queries(vocabulary, 0.3, 3000)
    search = _search(vocabulary.vectors, product, bits)
    nearest = _brute(vocabulary, queries, 1)
    assert search.nearest_by_integers(queries, 1)[0].tolist() == nearest  # type: ignore[index]
    setattr(search.bounds, part, np.zeros(len(vocabulary)))
    assert search.nearest_by_integers(queries, 1)[0].tolist() != nearest  # type: ignore[index]


@every_kind
def test_too_many_candidates_are_left_to_float32(product: Product, bits: int) -> None:
    vectors = np.zeros((3000, 4))
    vectors[:, 0] = np.linspace(0, 1e-3, 3000)  # all within one step of rounding
    vectors[0] = 100.0
    vocabulary = of(vectors)
    queries = np.full((20, 4), 3.0)
    assert _search(vocabulary.vectors, product, bits).nearest_by_integers(queries, 1) is None
    assert NeighborSearch(vocabulary).nearest(queries).tolist() == [
        row[0] for row in _brute(vocabulary, queries, 1)
    ]


def test_a_product_that_saturates_is_known_by_an_example() -> None:
    assert [integer_products.is_exact(plain, bits) for bits in BITS] == [True, True]
    assert [integer_products.is_exact(saturating, bits) for bits in BITS] == [False, True]


def test_a_product_that_errs_in_a_partly_filled_tile_is_known_by_an_example() -> None:
    """As onnxruntime 1.23 does with AMX."""

    def errs(*arguments: Any) -> None:
        plain(*arguments)
        scores = arguments[-1]
        scores[31::32, scores.shape[1] // 16 * 16 :] += 1.0

    assert not integer_products.is_exact(errs, 8)


def test_a_product_that_saturates_would_give_wrong_answers() -> None:
    """So it matters that it is known."""
    half = np.array([[1.0, 1.0], [0.9, 0.55]])
    vectors = np.concatenate([half, -half]).astype(np.float32)  # the mean is 0
    nearest = [
        _search(vectors, saturating, bits).nearest_by_integers(np.ones((1, 2)), 1)[0].tolist()  # type: ignore[index]
        for bits in BITS
    ]
    assert nearest == [[[1]], [[0]]]


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_lengths_that_float32_cannot_square_are_left_alone(scale: float) -> None:
    with pytest.raises(ArithmeticError, match="squares"):
        _search((np.eye(4) * scale).astype(np.float32), plain, 8)
    search = _search(np.eye(4, dtype=np.float32), plain, 8)
    assert search.nearest_by_integers(np.full((1, 4), 1e12), 1) is None
