"""Which search backend finds the nearest words: the one place where that is decided.

    int8, int7   integer_search.py   integer products (the extra "fast"), where this processor
                                     multiplies integers of so many bits exactly
    float32      float32_search.py   matrix products in float32, everywhere
    index        index_search.py     the vocabulary's approximate FAISS index, where it has one

The first three are exact and give the same answers, so ``release.json`` says "exact" for each of
them: workers of one job may differ in their processors, and releases do not. An index changes what
is released, so the vocabulary decides on it, and ``release.json`` describes it. The log of every
process names its own backend.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from functools import cache

from dxbeam.errors import ConfigurationError
from dxbeam.space.float32_search import Float32Search
from dxbeam.space.index_search import IndexSearch
from dxbeam.space.integer_products import is_exact, onnx_product
from dxbeam.space.integer_search import IntegerSearch
from dxbeam.space.score_bounds import BoundingBackend
from dxbeam.space.vocabulary import Vocabulary

FLOAT32 = Float32Search.name
QUERY_BITS = {"int8": 8, "int7": 7}
"""The backends by integer products, the faster first, and the bits of their queries."""

EXACT_BACKENDS = (*QUERY_BITS, FLOAT32)
"""Names of the exact backends, the fastest first."""

VARIABLE = "DXBEAM_SEARCH"
"""The environment variable that names the exact backend to be used."""

_LOG = logging.getLogger(__name__)


@cache
def _log_once(message: str) -> None:
    _LOG.info(message)


def check_name(name: str | None) -> None:
    """Refuses a name that is no exact backend's; None stands for the fastest.

    Raises:
      ConfigurationError: there is no such backend.
    """
    if name not in (*EXACT_BACKENDS, None):
        raise ConfigurationError(f"{VARIABLE} is one of {', '.join(EXACT_BACKENDS)}")


def exact_backend(
    vocabulary: Vocabulary, float32: Float32Search, name: str | None, threads: int
) -> BoundingBackend:
    """The exact backend of this name; without one, the fastest that is exact on this machine.

    Vectors whose lengths float32 cannot square are searched by float32, which settles them in
    float64, whatever the name.

    Args:
      vocabulary: the words.
      float32: the backend for these words that runs everywhere.
      name: one of EXACT_BACKENDS, or None.
      threads: of a search by integers.

    Raises:
      ConfigurationError: the backend cannot be had on this machine.
    """
    check_name(name)
    wanted = EXACT_BACKENDS if name is None else (name,)
    product = onnx_product() if wanted != (FLOAT32,) else None
    chosen = next(
        (n for n in wanted if n == FLOAT32 or (product and is_exact(product, QUERY_BITS[n]))), None
    )
    if chosen is None:
        raise ConfigurationError(
            f"{VARIABLE}={name}: onnxruntime is not installed, or this processor gets such "
            f"products wrong; unset {VARIABLE}"
        )
    backend: BoundingBackend = float32
    if product is not None and chosen in QUERY_BITS:
        bits = QUERY_BITS[chosen]
        with suppress(ArithmeticError):  # vectors whose squares float32 cannot hold
            backend = IntegerSearch(
                vocabulary.vectors, product, bits, float32, threads, vocabulary.rounded
            )
    _log_once(f"nearest words are searched exactly, by the backend {backend.name}")
    return backend


def index_backend(vocabulary: Vocabulary, exact: Callable[[], BoundingBackend]) -> IndexSearch:
    """The backend of a vocabulary that has an approximate index.

    Args:
      vocabulary: the words.
      exact: makes the exact backend; called where the index finds too few words.
    """
    _log_once("nearest words are looked for approximately, by the vocabulary's FAISS index")
    return IndexSearch(vocabulary.index, vocabulary.vectors, exact)
