"""The search backend of a vocabulary with an approximate FAISS index.

The index names a few candidates; which of them is nearest is decided by exact distances. Searching
only approximately for the word nearest to a noisy vector is post-processing of that vector, so the
privacy stays; but another word may be released. approximate_index.py builds such an index.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from dxbeam.space.search.backends.backend import Floats, Ids, SearchBackend
from dxbeam.space.vocabulary.words import distances_to_words

_CANDIDATES = 8


class IndexSearch:
    """The nearest words among the candidates that a FAISS index over their vectors finds.

    ``exact`` makes the exact backend; it is called where the index finds too few words.
    """

    name = "index"

    def __init__(
        self, index: Any, vectors: npt.NDArray[np.float32], exact: Callable[[], SearchBackend]
    ):
        self._index, self._vectors, self._exact = index, vectors, exact

    def nearest(self, queries: Floats, count: int) -> tuple[Ids, Floats]:
        """As ``SearchBackend`` says, among the candidates."""
        if not len(queries):
            return np.empty((0, count), np.int64), np.empty((0, count))
        candidates = min(_CANDIDATES, len(self._vectors))
        _, nearest = self._index.search(queries.astype(np.float32), candidates)
        apart = distances_to_words(self._vectors, queries, np.maximum(nearest, 0))
        apart[nearest < 0] = np.inf
        order = np.lexsort((nearest, apart), axis=1)[:, :count]
        ids = np.take_along_axis(nearest, order, axis=1)
        apart = np.take_along_axis(apart, order, axis=1)
        # An index may come back empty-handed (an IVF list without words): search exactly then.
        empty = np.flatnonzero((ids < 0).any(axis=1))
        if len(empty):
            ids[empty], apart[empty] = self._exact().nearest(queries[empty], count)
        return ids, apart
