"""Which search backend finds the nearest words: the one place where that is decided.

    int8, int7   integer_search.py   integer products of onnxruntime, where this processor
                                     multiplies integers of so many bits exactly
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

EXACT_BACKENDS = (*QUERY_BITS, FLOAT32, FAISS, TORCH)
"""Names of the exact backends."""

SEARCHES = (AUTO, *EXACT_BACKENDS)
"""What can be asked for."""

VARIABLE = "DXBEAM_SEARCH"
"""The environment variable that names the backend of a process where its caller asks for none."""

_LOG = logging.getLogger(__name__)

_FASTEST: dict[tuple[str, int], str] = {}
"""What won the trial between integers and float32 in this process, by the number of dimensions."""


@cache
def _log_once(message: str) -> None:
    _LOG.info(message)


def check_name(search: str) -> None:
    """Refuses a name that is none of SEARCHES.

    Raises:
      ConfigurationError: so it is.
    """
    if search not in SEARCHES:
        raise ConfigurationError(f"`search` {search}: choose from {', '.join(SEARCHES)}")


def asked_for(search: str) -> str:
    """The name that a caller gives, or what the environment variable says where it is ``auto``.

    Raises:
      ConfigurationError: one of them is none of SEARCHES.
    """
    check_name(search)
    if search == AUTO:
        search = os.environ.get(VARIABLE) or AUTO
        check_name(search)
    return search


def is_exact_here(name: str) -> bool:
    """Whether this machine has an exact backend, and computes its products right.

    Args:
      name: one of EXACT_BACKENDS.
    """
    if name == TORCH:
        on_device = torch_product()
        return on_device is not None and is_exact(on_device, 8, MOST_TERMS)
    if name not in QUERY_BITS:
        return True
    product = onnx_product()
    return product is not None and is_exact(product, QUERY_BITS[name])


def exact_backend(
    vocabulary: Vocabulary, float32: Float32Search, name: str, threads: int
) -> BoundingBackend:
    """The exact backend of this name, or the fastest one.

    Vectors whose lengths float32 cannot square are searched by float32, which settles them in
    float64, whatever the name.

    Args:
      vocabulary: the words.
      float32: the backend for these words that runs everywhere.
      name: one of SEARCHES.
      threads: of a search by integers.

    Raises:
      ConfigurationError: the backend cannot be had on this machine.
    """
    check_name(name)
    if name == AUTO:
        with suppress(RuntimeError):  # a GPU whose memory is full, or whose driver fails
            if gpu_is_there() and is_exact_here(TORCH):
                return _made(TORCH, vocabulary, float32, threads)
        name = _fastest(vocabulary)
    elif not is_exact_here(name):
        needed, package = ("torch", "'dxbeam[gpu]'") if name == TORCH else ("onnxruntime",) * 2
        raise ConfigurationError(
            f"`search` {name}: {needed} is not installed here (pip install {package}), or this "
            "processor gets such products wrong; auto takes what is right"
        )
    return _made(name, vocabulary, float32, threads)


def _made(
    name: str, vocabulary: Vocabulary, float32: Float32Search, threads: int
) -> BoundingBackend:
    """The backend of this name, which is exact here; the log says so."""
    vectors, rounded = vocabulary.vectors, vocabulary.rounded
    on_device = torch_product() if name == TORCH else None
    product = onnx_product() if name in QUERY_BITS else None
    backend: BoundingBackend = float32
    with suppress(ArithmeticError):  # vectors whose squares float32 cannot hold
        if on_device is not None:
            backend = TorchSearch(vectors, on_device, float32, rounded)
        elif product is not None:
            bits = QUERY_BITS[name]
            backend = IntegerSearch(vectors, product, bits, float32, threads, rounded)
        elif name == FAISS:
            backend = FaissSearch(vectors, float32)
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
        seconds = {name: seconds_of_a_tile(made, sample) for name, made in bounds.items()}
        _FASTEST[trial] = min(seconds, key=lambda name: seconds[name])
        _LOG.info(
            "a trial of %d words took %s",
            TIMED_WORDS,
            ", ".join(f"{1e3 * s:.2f} ms by {name}" for name, s in seconds.items()),
        )
    return _FASTEST[trial]


def index_backend(vocabulary: Vocabulary, exact: Callable[[], BoundingBackend]) -> IndexSearch:
    """The backend of a vocabulary that has an approximate index.

    Args:
      vocabulary: the words.
      exact: makes the exact backend; called where the index finds too few words.
    """
    _log_once("nearest words are looked for approximately, by the vocabulary's FAISS index")
    return IndexSearch(vocabulary.index, vocabulary.vectors, exact)
