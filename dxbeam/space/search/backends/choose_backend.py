"""Which search backends there are, and which one finds the nearest words.

    int8, int7   integer_search.py   integer products of onnxruntime, where this processor
                                     multiplies integers of this many bits exactly
    float32      float32_search.py   matrix products in float32, everywhere
    faiss        faiss_search.py     FAISS's flat search, for whoever trusts it more
    torch        torch_search.py     integer products on a GPU (the extra "gpu")
    index        index_search.py     the vocabulary's approximate FAISS index, where it has one

All but the last are exact and give the same answers, so ``release.json`` says "exact" for each of
them: workers of one job may differ in their processors, and releases do not. An index changes what
is released, so the vocabulary decides on it, and ``release.json`` describes it. The log of every
process names its own backend.

Which arithmetic is exact on a processor is found by an example computed with it, and which of those
is the fastest by timing a few hundred words, once in a process. Nothing here asks what kind of
processor it is, so ARM and x86 are told apart by the same two questions.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache

import numpy as np

from dxbeam.errors import ConfigurationError
from dxbeam.space.search.backends.faiss_search import FaissSearch
from dxbeam.space.search.backends.float32_bounds import Float32Bounds
from dxbeam.space.search.backends.float32_search import Float32Search
from dxbeam.space.search.backends.index_search import IndexSearch
from dxbeam.space.search.backends.integer_products import is_exact, onnx_product
from dxbeam.space.search.backends.integer_search import IntegerSearch
from dxbeam.space.search.backends.rounded_words import RoundedWords
from dxbeam.space.search.backends.score_bounds import BoundingBackend, ScoreBounds
from dxbeam.space.search.backends.time_bounds import TIMED_WORDS, seconds_of_a_tile
from dxbeam.space.search.backends.torch_product import MOST_TERMS, gpu_is_there, torch_product
from dxbeam.space.search.backends.torch_search import TorchSearch
from dxbeam.space.vocabulary.words import Vocabulary

AUTO = "auto"
"""Asks for the fastest backend that is exact on this machine."""

FLOAT32, FAISS, TORCH = Float32Search.name, FaissSearch.name, TorchSearch.name
QUERY_BITS = {"int8": 8, "int7": 7}
"""The backends by integer products on a processor, and the bits of their queries. Both take the
same time; the bound of the first is narrower."""


@dataclass(frozen=True)
class Backend:
    """An exact search backend, as flags, YAML, the audit and the documentation read it.

    Attributes:
      name: how ``--search`` and the log call it.
      make: the backend for a vocabulary, given the one that runs everywhere and the threads of a
        search by integers. Called only where it is available.
      package: what it needs and a machine may lack; empty for nothing.
      install: what pip installs for that.
      is_available: whether this machine has it, and computes its products right.
    """

    name: str
    make: Callable[[Vocabulary, Float32Search, int], BoundingBackend]
    package: str = ""
    install: str = ""
    is_available: Callable[[], bool] = lambda: True


def _integers(name: str) -> Backend:
    bits = QUERY_BITS[name]

    def is_available() -> bool:
        product = onnx_product()
        return product is not None and is_exact(product, bits)

    def make(vocabulary: Vocabulary, float32: Float32Search, threads: int) -> BoundingBackend:
        product = onnx_product()
        assert product
        words = RoundedWords(vocabulary.vectors, product, bits, vocabulary.rounded)
        return IntegerSearch(words, float32, threads)

    return Backend(name, make, "onnxruntime", "onnxruntime", is_available)


def _torch_is_available() -> bool:
    on_device = torch_product()
    return on_device is not None and is_exact(on_device, 8, MOST_TERMS)


def _make_torch(vocabulary: Vocabulary, float32: Float32Search, _: int) -> BoundingBackend:
    on_device = torch_product()
    assert on_device
    words = RoundedWords(vocabulary.vectors, on_device, 8, vocabulary.rounded)
    return TorchSearch(words, on_device, float32)


BACKENDS: dict[str, Backend] = {
    backend.name: backend
    for backend in (
        *map(_integers, QUERY_BITS),
        Backend(FLOAT32, lambda _, float32, __: float32),
        Backend(FAISS, lambda vocabulary, float32, _: FaissSearch(vocabulary.vectors, float32)),
        Backend(TORCH, _make_torch, "torch", "'dxbeam[gpu]'", _torch_is_available),
    )
}
"""The exact backends by name."""

NAMES = (AUTO, *BACKENDS)
"""What can be asked for."""

VARIABLE = "DXBEAM_SEARCH"
"""The environment variable that names the backend of a process where its caller asks for none."""

_LOG = logging.getLogger(__name__)

_FASTEST: dict[tuple[str, int], str] = {}
"""What won the trial between integers and float32 in this process, by the number of dimensions."""


@cache
def _log_once(message: str) -> None:
    _LOG.info(message)


def check_name(backend: str) -> None:
    """Refuses what is none of NAMES."""
    if backend not in NAMES:
        raise ConfigurationError(f"`search` {backend}: choose from {', '.join(NAMES)}")


def from_environment(backend: str) -> str:
    """The name that a caller gives, or what the environment variable says where it is ``auto``."""
    check_name(backend)
    if backend == AUTO:
        backend = os.environ.get(VARIABLE) or AUTO
        check_name(backend)
    return backend


def is_exact_here(name: str) -> bool:
    """Whether this machine has a backend, one of BACKENDS, and computes its products right."""
    return BACKENDS[name].is_available()


def exact_backend(
    vocabulary: Vocabulary, float32: Float32Search, name: str, threads: int
) -> BoundingBackend:
    """The exact backend of this name, or the fastest one; refused where this machine has none.

    Vectors whose lengths float32 cannot square are searched by float32, which settles them in
    float64, whatever the name.
    """
    check_name(name)
    if name == AUTO:
        with suppress(RuntimeError):  # a GPU whose memory is full, or whose driver fails
            if gpu_is_there() and is_exact_here(TORCH):
                return _logged(TORCH, vocabulary, float32, threads)
        name = _fastest(vocabulary)
    elif not is_exact_here(name):
        needed = BACKENDS[name]
        raise ConfigurationError(
            f"`search` {name}: {needed.package} is not installed here (pip install "
            f"{needed.install}), or this processor gets such products wrong; auto takes what is "
            "right"
        )
    return _logged(name, vocabulary, float32, threads)


def _logged(
    name: str, vocabulary: Vocabulary, float32: Float32Search, threads: int
) -> BoundingBackend:
    """The backend of this name, which is exact here; the log says so."""
    backend: BoundingBackend = float32
    with suppress(ArithmeticError):  # vectors whose squares float32 cannot hold
        backend = BACKENDS[name].make(vocabulary, float32, threads)
    _log_once(f"nearest words are searched exactly, by the backend {backend.name}")
    return backend


def _fastest(vocabulary: Vocabulary) -> str:
    """The name of the fastest backend that is exact on this processor.

    FAISS's flat search is not tried, as it is float32 once more, by an older BLAS; nor is PyTorch,
    which is for GPUs.
    """
    integers = next(filter(is_exact_here, QUERY_BITS), None)
    product = onnx_product() if integers else None
    if integers is None or product is None:
        return FLOAT32
    if len(vocabulary) < TIMED_WORDS:  # so few are found at once by any
        return integers
    trial = (integers, vocabulary.dimensions)
    if trial not in _FASTEST:
        sample = np.array(vocabulary.vectors[:TIMED_WORDS])
        try:
            bounds: dict[str, ScoreBounds] = {
                integers: RoundedWords(sample, product, QUERY_BITS[integers]),
                FLOAT32: Float32Bounds(sample),
            }
        except ArithmeticError:
            return FLOAT32
        seconds = {name: seconds_of_a_tile(backend, sample) for name, backend in bounds.items()}
        _FASTEST[trial] = min(seconds, key=lambda name: seconds[name])
        _LOG.info(
            "a trial of %d words took %s",
            TIMED_WORDS,
            ", ".join(f"{1e3 * s:.2f} ms by {name}" for name, s in seconds.items()),
        )
    return _FASTEST[trial]


def index_backend(vocabulary: Vocabulary, exact: Callable[[], BoundingBackend]) -> IndexSearch:
    """The backend of an approximate index; ``exact`` serves where that finds too few words."""
    _log_once("nearest words are looked for approximately, by the vocabulary's FAISS index")
    return IndexSearch(vocabulary.index, vocabulary.vectors, exact)
