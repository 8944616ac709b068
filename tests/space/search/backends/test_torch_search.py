"""Integers by PyTorch: exact on a processor, and on a GPU where there is one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dxbeam.errors import ConfigurationError
from dxbeam.space.search.backends import choose_backend
from dxbeam.space.search.backends.float32_search import Float32Search
from dxbeam.space.search.backends.integer_products import is_exact
from dxbeam.space.search.backends.rounded_words import RoundedWords
from dxbeam.space.search.backends.torch_product import MOST_TERMS, TorchProduct
from dxbeam.space.search.backends.torch_search import TorchSearch
from dxbeam.space.search.neighbors import NeighborSearch
from tests.support.vocabularies import of

torch = pytest.importorskip("torch", reason="the extra gpu is not installed")

DEVICES = [
    "cpu",
    pytest.param(
        "cuda",
        marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU here"),
    ),
]
every_device = pytest.mark.parametrize("device", DEVICES)


def _search(vectors: np.ndarray, device: str) -> TorchSearch:
    product = TorchProduct(device)
    return TorchSearch(RoundedWords(vectors, product, 8), product, Float32Search(vectors))


@pytest.mark.parametrize("n", [1, 300, MOST_TERMS, MOST_TERMS + 1, 2 * MOST_TERMS + 1])
@every_device
def test_products_are_those_of_integers(device: str, n: int) -> None:
    product, generator = TorchProduct(device), np.random.default_rng(n)
    words = generator.integers(-127, 128, (n, 70)).astype(np.int8)
    queries = generator.integers(1, 256, (40, n)).astype(np.uint8)
    words[:, 0], queries[0] = 127, 255  # the largest sum
    found = product.products(product.queries(queries, 128), product.words(words)).cpu().numpy()
    exact = (queries.astype(np.int64) - 128) @ words.astype(np.int64)
    assert np.array_equal(found, exact.astype(np.float32))
    assert is_exact(product, 8, MOST_TERMS)
    assert is_exact(product, 7, MOST_TERMS)


@pytest.mark.parametrize("n", [20, 1500])
@pytest.mark.parametrize("tile", [1, 7, 10_000])
@every_device
def test_the_two_nearest_words_are_those_of_float32(device: str, tile: int, n: int) -> None:
    generator = np.random.default_rng(n)
    vectors = (3 + generator.normal(size=(2500, n))).astype(np.float32)
    vectors[1::50] = vectors[::50]
    queries = vectors[:60] + 0.7 * generator.normal(size=(60, n))
    search = _search(vectors, device)
    search._tile = tile
    for count in (1, 2):
        found, expected = (
            search.nearest(queries, count),
            Float32Search(vectors).nearest(queries, count),
        )
        assert search.nearest_by_integers(queries, count) is not None
        for ours, theirs in zip(found, expected, strict=True):
            assert np.array_equal(ours, theirs)


@every_device
def test_too_many_candidates_and_long_queries_are_left_to_float32(device: str) -> None:
    vectors = np.zeros((3000, 4), np.float32)
    vectors[:, 0] = np.linspace(0, 1e-3, 3000)  # all within one step of rounding
    vectors[0] = 100.0
    search = _search(vectors, device)
    for queries in (np.full((20, 4), 3.0), np.full((1, 4), 1e12)):
        assert search.nearest_by_integers(queries, 1) is None
        expected = Float32Search(vectors).nearest(queries, 1)
        assert search.nearest(queries, 1)[0].tolist() == expected[0].tolist()
    with pytest.raises(ArithmeticError, match="squares"):
        _search((np.eye(4) * 1e12).astype(np.float32), device)
    in_float32 = NeighborSearch(of(np.eye(4) * 1e12), backend="torch")
    assert in_float32.backend.name == "float32"


def test_a_device_that_rounds_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class Rounding(TorchProduct):
        def products(self, queries: Any, words: Any) -> Any:
            return (queries.bfloat16() @ words.bfloat16()).to(torch.float32)

    monkeypatch.setattr(choose_backend, "torch_product", lambda: Rounding("cpu"))
    with pytest.raises(ConfigurationError, match="gets such products wrong"):
        NeighborSearch(of(np.eye(4)), backend="torch").nearest(np.zeros((1, 4)))


def test_the_precision_of_other_products_stays_as_it_was() -> None:
    for precision in ("highest", "medium"):
        torch.set_float32_matmul_precision(precision)
        _search(np.eye(4, dtype=np.float32), "cpu").nearest(np.zeros((1, 4)), 1)
        assert torch.get_float32_matmul_precision() == precision
    torch.set_float32_matmul_precision("highest")
