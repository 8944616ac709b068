"""Distances from words to all words, a row each, whatever else is asked for next to it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from dxbeam.space.search.neighbors import Ids, NeighborSearch

Singles = npt.NDArray[np.float32]

_ROWS = 64
"""Words are multiplied this many at a time, the last ones filled up with zeros: BLAS may sum in
another order for a matrix of another shape, and a row must not depend on those next to it."""


def distance_rows(
    ids: Ids, search: NeighborSearch, at_once: int = _ROWS
) -> Iterator[tuple[slice, Singles]]:
    """Blocks of rows, float32 [words, N], with the part of ``ids`` each stands for.

    Arrays are used again, and are 0 at the word itself. Distances are the same to the last bit only
    where as many words are multiplied ``at_once``.
    """
    vectors, half = search.vocabulary.vectors, half_squares(search)
    queries = np.zeros((at_once, vectors.shape[1]), np.float32)
    squares = np.empty((at_once, len(vectors)), np.float32)
    for start in range(0, len(ids), at_once):
        block = ids[start : start + at_once]
        queries[: len(block)] = vectors[block]
        rows = np.matmul(queries, vectors.T, out=squares)[: len(block)]
        rows -= half
        rows -= half[block, None]
        rows *= -2
        np.sqrt(np.maximum(rows, 0, out=rows), out=rows)
        rows[np.arange(len(block)), block] = 0
        yield slice(start, start + len(block)), rows


def half_squares(search: NeighborSearch) -> Singles:
    """Half the squared length of every vector: float32 [N], computed once."""
    return search.computed_once(
        "half_squares",
        lambda vocabulary: np.einsum("ij,ij->i", vocabulary.vectors, vocabulary.vectors) / 2,
    )
