"""Builds the approximate FAISS index that index_search.py searches.

How often it finds the nearest word is measured in dxbeam/mechanisms/sampling/index_recall.py, and
is recorded in the vocabulary's manifest.

An exact search gives a word the same answer in every batch. An index need not: FAISS may round a
distance to a list's centre differently for another number of queries, and then look at another
list. It was seen once in 16,000 queries, for batches below 40.
"""

from __future__ import annotations

from typing import Any

import faiss
import numpy as np

from dxbeam.errors import ConfigurationError
from dxbeam.space.vocabulary.words import Vocabulary

EXACT = "Flat"

_TRAINING_WORDS = 100_000
_WORDS_PER_BLOCK = 65_536


def check_index(factory: str, parameters: str, dimensions: int) -> None:
    """Refuses an index that FAISS cannot make, and parameters that it does not have.

    ``parameters`` are as FAISS's ParameterSpace reads them, ``nprobe=32,k_factor_rf=4``, or "".
    """
    try:
        index = faiss.index_factory(dimensions, factory)
    except RuntimeError:
        raise ConfigurationError(
            f"`index_factory` {factory}: FAISS knows no such index for {dimensions} dimensions; "
            "Flat is exact, IVF256,Flat is an example of an approximate one"
        ) from None
    try:
        _set_parameters(index, parameters)
    except RuntimeError:
        raise ConfigurationError(
            f"`index_parameters` {parameters}: the index {factory} has no such parameters; an "
            "example is nprobe=32 for IVF256,Flat"
        ) from None


def build_index(vocabulary: Vocabulary, factory: str, parameters: str = "") -> Any:
    """A trained FAISS index that holds the vocabulary's vectors and parameters of its searches."""
    index = faiss.index_factory(vocabulary.dimensions, factory)
    _set_parameters(index, parameters)
    step = len(vocabulary) // _TRAINING_WORDS + 1
    index.train(np.ascontiguousarray(vocabulary.vectors[::step]))
    for start in range(0, len(vocabulary), _WORDS_PER_BLOCK):
        index.add(np.ascontiguousarray(vocabulary.vectors[start : start + _WORDS_PER_BLOCK]))
    return index


def _set_parameters(index: Any, parameters: str) -> None:
    space: Any = faiss.ParameterSpace()  # faiss says that this takes numbers only
    space.set_index_parameters(index, parameters)
