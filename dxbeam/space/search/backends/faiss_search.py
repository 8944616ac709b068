"""The exact search backend by FAISS's flat search, settled in float64.

It is there for those who trust FAISS more than the products of this package, to compare them with.

How far FAISS can be trusted: the squared distance of a query q and a word x is computed in float32,
as |q|^2 + |x|^2 - 2 q.x or as the sum of the squares of differences. With unit roundoff u = 2^-24,
n-term sums err by at most n u / (1 - n u) of the sum of the sizes of their terms, in any order of
summation (Higham 2002, section 3.1). Either way that sum is at most (|q| + |x|)^2. Rounding q to
float32 and putting the parts together are a few roundings more. So it errs by at most

    E = (n + 8) u / (1 - (n + 8) u) (|q| + |x|)^2,

and a little more where terms underflow. FAISS returns the k words with the least of these numbers.
Every other word has no less than the last of them. So it is farther than a word whose square of the
distance, in float64, is below that by more than E. Where this decides nothing, more are asked for.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from dxbeam.space.search.backends.backend import Floats, Ids
from dxbeam.space.search.backends.float32_bounds import Float32Bounds
from dxbeam.space.search.backends.float32_search import Float32Search
from dxbeam.space.vocabulary.words import distances_to_words

_UNIT_ROUNDOFF = 2.0**-24
_UNDERFLOW = 2.0**-125  # of a term, even where the processor is set to make it 0
_FLOAT64_SLACK = 1e-12
_LONGEST_SQUARE = 1e36  # beyond, terms may not fit float32
_CANDIDATES, _TIMES_MORE = 16, 16  # asked for first, and if these do not decide
_CANDIDATES_AT_ONCE = 1 << 20


class FaissSearch:
    """Nearest words of a vocabulary, float32 [N, n], by FAISS's flat search.

    The backend that runs everywhere takes queries that are too long for FAISS, and its bounds serve
    the neighbour table.
    """

    name = "faiss"

    def __init__(self, vectors: npt.NDArray[np.float32], float32: Float32Search):
        self._vectors, self._float32 = np.ascontiguousarray(vectors), float32

    @property
    def bounds(self) -> Float32Bounds:
        """As ``BoundingBackend`` says."""
        return self._float32.bounds

    @cached_property
    def _longest(self) -> float:
        return float(np.sqrt(2 * self.bounds.half_squares.max())) * (1 + _FLOAT64_SLACK)

    def nearest(self, queries: Floats, count: int) -> tuple[Ids, Floats]:
        """As ``SearchBackend`` says."""
        ids, apart = np.empty((len(queries), count), np.int64), np.empty((len(queries), count))
        reach = np.square(np.linalg.norm(queries, axis=1) + self._longest)
        long = ~(reach < _LONGEST_SQUARE)
        undecided, neighbors = np.flatnonzero(~long), 0
        while len(undecided) and neighbors < len(self._vectors):
            neighbors = min(max(neighbors * _TIMES_MORE, _CANDIDATES), len(self._vectors))
            step, left = max(1, _CANDIDATES_AT_ONCE // neighbors), []
            for start in range(0, len(undecided), step):
                rows = undecided[start : start + step]
                ids[rows], apart[rows], decided = self._among(
                    queries[rows], self._errors(reach[rows]), neighbors, count
                )
                left.append(rows[~decided])
            undecided = np.concatenate(left)
        rest = np.concatenate([np.flatnonzero(long), undecided])
        if len(rest):
            ids[rest], apart[rest] = self._float32.nearest(queries[rest], count)
        return ids, apart

    def _among(
        self, queries: Floats, errors: Floats, neighbors: int, count: int
    ) -> tuple[Ids, Floats, npt.NDArray[np.bool_]]:
        """The nearest of so many words that FAISS finds, and whether none of the others is."""
        import faiss  # a tenth of a second that other backends do not need

        squares, ids = faiss.knn(queries.astype(np.float32), self._vectors, neighbors)
        exact = distances_to_words(self._vectors, queries, np.maximum(ids, 0))
        order = np.lexsort((ids, exact), axis=1)[:, :count]
        apart = np.take_along_axis(exact, order, axis=1)
        reached = np.square(apart[:, -1]) * (1 + _FLOAT64_SLACK) + errors
        decided = (neighbors == len(self._vectors)) | (squares[:, -1] > reached)
        return np.take_along_axis(ids, order, axis=1), apart, decided & (ids >= 0).all(axis=1)

    def _errors(self, reach: Floats) -> Floats:
        """Bound on the error of a squared distance; ``reach`` is (|q| + |x|)^2 of the longest x."""
        terms = self._vectors.shape[1] + 8
        share = terms * _UNIT_ROUNDOFF
        bound: Floats = share / (1 - share) * reach + 4 * terms * _UNDERFLOW
        return bound
