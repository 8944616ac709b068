"""Search by 8-bit integers: exact whatever rounding does, and out of the way where it cannot be."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from dxbeam import integer_search
from dxbeam.integer_search import IntegerSearch
from dxbeam.neighbors import NeighborSearch
from dxbeam.vocabulary import Vocabulary, distances
from tests.vocabularies import of

pytest.importorskip("onnxruntime", reason="the extra 'fast' is not installed")


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
def test_the_two_nearest_words_are_exact(words: int, noise: float) -> None:
    vocabulary = _vocabulary(words, 50)
    queries = _queries(vocabulary, noise, 60)
    search = IntegerSearch(vocabulary.vectors)
    for count in (1, 2):
        found = search.nearest(queries, count)
        assert found is not None
        ids, lengths = found
        assert ids.tolist() == _brute(vocabulary, queries, count)
        assert np.array_equal(lengths, distances(vocabulary.vectors[ids], queries[:, None, :]))


@pytest.mark.parametrize("part", ["_residuals", "_rounded_lengths"])
def test_without_either_part_of_the_bound_the_answer_is_wrong(part: str) -> None:
    """So the tests around this one would notice a bound that is too small."""
    half = np.random.default_rng(0).normal(size=(150, 2)).astype(np.float32)
    vocabulary = of(np.concatenate([half, -half]))  # the mean is 0
    if part == "_residuals":  # queries that rounding leaves as they are
        queries = np.random.default_rng(1).integers(-126, 127, (3000, 2)).astype(np.float64)
        queries[::100] = 127.0
    else:
        queries = _queries(vocabulary, 0.3, 3000)
    search = IntegerSearch(vocabulary.vectors)
    nearest = _brute(vocabulary, queries, 1)
    assert search.nearest(queries, 1)[0].tolist() == nearest  # type: ignore[index]
    setattr(search, part, np.zeros(len(vocabulary)))
    assert search.nearest(queries, 1)[0].tolist() != nearest  # type: ignore[index]


def test_too_many_candidates_are_left_to_float32() -> None:
    vectors = np.zeros((3000, 4))
    vectors[:, 0] = np.linspace(0, 1e-3, 3000)  # all within one step of rounding
    vectors[0] = 100.0
    vocabulary = of(vectors)
    queries = np.full((20, 4), 3.0)
    assert IntegerSearch(vocabulary.vectors).nearest(queries, 1) is None
    assert NeighborSearch(vocabulary).nearest(queries).tolist() == [
        row[0] for row in _brute(vocabulary, queries, 1)
    ]


def test_a_processor_on_which_products_saturate_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    product = integer_search._product

    def saturating(*arguments: object) -> None:
        product(*arguments)  # type: ignore[arg-type]
        out = arguments[-1]
        np.clip(out, -(2**15), 2**15 - 1, out=out)  # type: ignore[call-overload]

    monkeypatch.setattr(integer_search, "_product", saturating)
    vocabulary = _vocabulary(50, 4)
    with pytest.raises(ArithmeticError, match="saturate"):
        IntegerSearch(vocabulary.vectors)
    queries = _queries(vocabulary, 1.0, 20)
    assert NeighborSearch(vocabulary).nearest(queries).tolist() == [
        row[0] for row in _brute(vocabulary, queries, 1)
    ]


@pytest.mark.parametrize("threads", [1, 3])
def test_without_the_extra_the_answer_is_the_same(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    vocabulary = _vocabulary(3000, 20)
    queries = _queries(vocabulary, 1.0, 600)
    fast = NeighborSearch(vocabulary, threads)
    assert fast._integers is not None
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    plain = NeighborSearch(vocabulary, threads)
    assert plain._integers is None
    assert fast.nearest(queries).tolist() == plain.nearest(queries).tolist()
    for ours, theirs in zip(fast.nearest_two(queries), plain.nearest_two(queries), strict=True):
        assert np.array_equal(ours, theirs)


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_lengths_that_float32_cannot_square_are_left_alone(scale: float) -> None:
    with pytest.raises(ArithmeticError, match="squares"):
        IntegerSearch((np.eye(4) * scale).astype(np.float32))
    assert IntegerSearch(np.eye(4, dtype=np.float32)).nearest(np.full((1, 4), 1e12), 1) is None
