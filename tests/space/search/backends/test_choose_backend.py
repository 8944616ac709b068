"""The choice of a search backend: of those that are right here the fastest, or what is named."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dxbeam.errors import ConfigurationError
from dxbeam.space.search.backends import choose_backend
from dxbeam.space.search.backends.choose_backend import BACKENDS
from dxbeam.space.search.backends.rounded_words import RoundedWords
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.space.vocabulary.words import Vocabulary
from tests.support.products import plain, saturating
from tests.support.vocabularies import of


@pytest.fixture(autouse=True)
def _as_in_a_new_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing is asked for, and no trial was made; in trials integers win."""
    monkeypatch.delenv("DXBEAM_SEARCH", raising=False)
    monkeypatch.setattr(choose_backend, "_FASTEST", {})
    monkeypatch.setattr(
        choose_backend,
        "seconds_of_a_tile",
        lambda bounds, _: 1.0 if isinstance(bounds, RoundedWords) else 2.0,
    )
    choose_backend._log_once.cache_clear()
    yield
    choose_backend._log_once.cache_clear()


def _vocabulary(words: int, n: int) -> Vocabulary:
    return of(np.random.default_rng(0).normal(size=(words, n)))


def _queries(vocabulary: Vocabulary, count: int) -> np.ndarray:
    generator = np.random.default_rng(1)
    rows = generator.integers(0, len(vocabulary), count)
    return vocabulary.vectors[rows] + generator.normal(size=(count, vocabulary.dimensions))


def _never(*arguments: Any) -> None:
    arguments[-1].fill(0)


def _with_product(monkeypatch: pytest.MonkeyPatch, product: Any) -> None:
    monkeypatch.setattr(choose_backend, "onnx_product", lambda: product)


def test_the_page_on_searches_has_a_row_for_each_name() -> None:
    page = Path(__file__).parents[4] / "docs" / "reference" / "searches.md"
    rows = re.findall(r"^\| `(\w+)` \|", page.read_text("utf-8"), re.MULTILINE)
    assert sorted(rows) == sorted(choose_backend.NAMES)


@pytest.mark.parametrize(
    ("product", "chosen"),
    [(plain, "int8"), (saturating, "int7"), (_never, "float32"), (None, "float32")],
)
@pytest.mark.parametrize("threads", [1, 3])
def test_what_is_exact_and_fastest_is_used_and_all_answer_alike(
    threads: int, product: Any, chosen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if product is None:  # it is not installed
        monkeypatch.setitem(sys.modules, "onnxruntime", None)
    else:
        _with_product(monkeypatch, product)
    vocabulary = _vocabulary(3000, 20)
    queries = _queries(vocabulary, 600)
    search = NeighborSearch(vocabulary, threads)
    assert search.exact_backend.name == chosen
    in_float32 = NeighborSearch(vocabulary, threads, "float32")
    assert in_float32.exact_backend.name == "float32"
    assert search.nearest(queries).tolist() == in_float32.nearest(queries).tolist()
    pairs = zip(search.nearest_two(queries), in_float32.nearest_two(queries), strict=True)
    for ours, theirs in pairs:
        assert np.array_equal(ours, theirs)


def test_integers_that_are_exact_and_slow_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a processor has instructions for float32 only; found once for all vocabularies."""
    _with_product(monkeypatch, plain)
    trials = []

    def seconds(bounds: Any, vectors: np.ndarray) -> float:
        trials.append(type(bounds))
        return 2.0 if isinstance(bounds, RoundedWords) else 1.0

    monkeypatch.setattr(choose_backend, "seconds_of_a_tile", seconds)
    for words in (3000, 4000):
        assert NeighborSearch(_vocabulary(words, 20)).backend.name == "float32"
    assert len(trials) == 2
    assert NeighborSearch(_vocabulary(3000, 20), backend="int8").backend.name == "int8"


def test_a_gpu_is_used_where_one_is_there_and_right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choose_backend, "gpu_is_there", lambda: True)
    monkeypatch.setattr(choose_backend, "torch_product", lambda: None)  # PyTorch does not load
    _with_product(monkeypatch, plain)
    vocabulary = _vocabulary(600, 4)
    assert NeighborSearch(vocabulary).backend.name == "int8"

    def full(*_: Any) -> None:
        raise RuntimeError("CUDA out of memory")

    with monkeypatch.context() as patch:
        patch.setattr(choose_backend, "is_exact_here", lambda _: True)
        patch.setattr(choose_backend, "torch_product", lambda: "a GPU")
        patch.setattr(choose_backend, "TorchSearch", full)
        assert NeighborSearch(vocabulary).backend.name == "int8"
    pytest.importorskip("torch", reason="the extra gpu is not installed")
    from dxbeam.space.search.backends.torch_product import TorchProduct

    monkeypatch.setattr(choose_backend, "torch_product", lambda: TorchProduct("cpu"))
    assert NeighborSearch(vocabulary).backend.name == "torch"
    queries = _queries(vocabulary, 20)
    assert np.array_equal(
        NeighborSearch(vocabulary).nearest(queries),
        NeighborSearch(vocabulary, backend="float32").nearest(queries),
    )


def test_a_trial_takes_some_time_and_changes_no_setting_of_blas() -> None:
    from dxbeam.space.search.backends.time_bounds import TIMED_WORDS, seconds_of_a_tile

    vectors = _vocabulary(TIMED_WORDS, 20).vectors
    assert 0 < seconds_of_a_tile(RoundedWords(vectors, plain, 8), vectors) < np.inf


@pytest.mark.parametrize("by", ["argument", "variable"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_backend_is_used_where_it_is_asked_for(
    backend: str, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _with_product(monkeypatch, plain)
    if backend == "torch":
        pytest.importorskip("torch", reason="the extra gpu is not installed")
    if by == "variable":
        monkeypatch.setenv("DXBEAM_SEARCH", backend)
        search = NeighborSearch(_vocabulary(50, 4))
    else:
        monkeypatch.setenv("DXBEAM_SEARCH", "int7")  # the argument comes first
        search = NeighborSearch(_vocabulary(50, 4), backend=backend)
    assert search.backend.name == backend


def test_the_log_names_the_backend_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    _with_product(monkeypatch, plain)
    with caplog.at_level("INFO", logger="dxbeam"):
        for search in ("int7", "int7", "float32", "auto", "auto"):
            NeighborSearch(_vocabulary(600, 4), backend=search).nearest(np.zeros((1, 4)))
    assert [record.message for record in caplog.records] == [
        "nearest words are searched exactly, by the backend int7",
        "nearest words are searched exactly, by the backend float32",
        "a trial of 512 words took 1000.00 ms by int8, 2000.00 ms by float32",
        "nearest words are searched exactly, by the backend int8",
    ]


def test_a_backend_that_is_wrong_here_or_unknown_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _with_product(monkeypatch, saturating)
    vocabulary = _vocabulary(50, 4)
    monkeypatch.setattr(choose_backend, "torch_product", lambda: None)
    for search, package in (("int8", "onnxruntime"), ("torch", r"'dxbeam\[gpu\]'")):
        with pytest.raises(ConfigurationError, match=rf"install {package}\).*such products wrong"):
            NeighborSearch(vocabulary, backend=search).nearest(np.zeros((1, 4)))
    refused = f"`search` int4: choose from {', '.join(choose_backend.NAMES)}"
    with pytest.raises(ConfigurationError, match=refused):
        NeighborSearch(vocabulary, backend="int4")
    monkeypatch.setenv("DXBEAM_SEARCH", "int4")
    with pytest.raises(ConfigurationError, match=refused):
        NeighborSearch(vocabulary)
