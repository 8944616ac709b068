"""The exact search backend that runs everywhere: float32 matrix products, settled in float64.

How far float32 can be trusted: with unit roundoff u = 2^-24, a query q and words w with
|w| <= R, an n-term dot product errs by at most about n u |q| R in any order of summation
(Higham 2002, section 3.1), so |w|^2 - 2 q.w errs by at most u (n + 5) (R^2 + 2 |q| R), the
rounding of q to float32 included, and by a little more where terms underflow. Two candidates
further apart than twice that are in true order; all others are compared in float64. The bound is
wider for queries so long that float64 does not tell their distances apart, as these decide.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from dxbeam.space.search.backends.backend import Floats, Ids
from dxbeam.space.search.backends.float32_bounds import Float32Bounds
from dxbeam.space.vocabulary.words import distances, squared_lengths

Scores = npt.NDArray[np.float32]

_UNIT_ROUNDOFF = 2.0**-24
_UNDERFLOW = 2.0**-125  # of a term, even where the processor is set to make it 0
_FLOAT64_SLACK = 1e-12
_LARGEST_SCORE = 1e38  # beyond, float32 may overflow
TILE = 512, 2048
"""Queries and words; measured: the fastest on two kinds of processor."""

_SCORES_AT_ONCE = 1 << 23  # float32: 32 MiB
_ROWS_AT_ONCE = 128  # where that is more: fewer wait for the vectors to come from memory,
_MOST_SCORES = 1 << 26  # as long as they are no more than these: 256 MiB
_EVERY = 16  # one of this many scores of a row is looked at to guess how low the lowest are
_UP, _DOWN = np.float32(np.inf), np.float32(-np.inf)


class Float32Search:
    """Nearest words of a vocabulary, and words at any rank, by float32 scores.

    A word's score for a query is |w|^2 - 2 q.w, its squared distance less |q|^2.

    Args:
      vectors: float32 [N, n], C order; may be a memory map.
      tile: of how many queries and words scores are compared at once.
      scores_at_once: in memory where ranks are searched.
    """

    name = "float32"

    def __init__(
        self,
        vectors: npt.NDArray[np.float32],
        *,
        tile: tuple[int, int] = TILE,
        scores_at_once: int = _SCORES_AT_ONCE,
    ):
        self._vectors, self._scores_at_once = vectors, scores_at_once
        self._queries_per_tile, self._words_per_tile = tile

    @cached_property
    def bounds(self) -> Float32Bounds:
        """As ``BoundingBackend`` says."""
        return Float32Bounds(self._vectors)

    @cached_property
    def _squared_norms(self) -> Scores:
        return squared_lengths(self._vectors).astype(np.float32)

    @cached_property
    def _largest_norm(self) -> float:
        return float(np.sqrt(self._squared_norms.max(initial=0.0))) * (1 + 1e-6)

    def nearest(self, queries: Floats, count: int) -> tuple[Ids, Floats]:
        """As ``SearchBackend`` says."""
        ids = self._nearest_word(queries)[:, None]
        if count == 2:
            ids = np.column_stack([ids, self.at_rank(queries, np.ones(len(queries), np.int64))])
        return ids, distances(self._vectors[ids], queries[:, None, :])

    def _nearest_word(self, queries: Floats) -> Ids:
        nearest, gaps = self._best_and_gap(queries)
        trusted = 2 * self._error(np.linalg.norm(queries, axis=1))
        # Negated so that a NaN counts as undecided.
        undecided = np.flatnonzero(~(gaps > trusted))
        nearest[undecided] = self.at_rank(queries[undecided], np.zeros(len(undecided), np.int64))
        return nearest

    def _best_and_gap(self, queries: Floats) -> tuple[Ids, Scores]:
        """The word of the smallest score, and by how much the second smallest is larger.

        One tile of queries and words at a time, so that scores are looked at while they are in the
        processor's cache. numpy's OpenBLAS does the products, as it is years younger than the one
        inside faiss, which knows no recent processor.
        """
        best_ids, gaps = np.empty(len(queries), np.int64), np.empty(len(queries), np.float32)
        tile = np.empty((self._queries_per_tile, self._words_per_tile), np.float32)
        for start in range(0, len(queries), self._queries_per_tile):
            block = queries[start : start + self._queries_per_tile].astype(np.float32) * np.float32(
                -2
            )
            rows = np.arange(len(block))
            ids = np.zeros(len(block), np.int64)
            best = np.full(len(block), np.inf, np.float32)
            second = best.copy()
            for first in range(0, len(self._vectors), self._words_per_tile):
                words = self._vectors[first : first + self._words_per_tile]
                scores = np.matmul(block, words.T, out=tile[: len(block), : len(words)])
                scores += self._squared_norms[first : first + self._words_per_tile]
                lowest = scores.argmin(axis=1)
                here = scores[rows, lowest]
                scores[rows, lowest] = np.inf
                better = here < best
                second = np.minimum(np.where(better, best, here), second)
                second = np.minimum(second, scores.min(axis=1))
                ids[better] = first + lowest[better]
                best = np.where(better, here, best)
            best_ids[start : start + len(block)] = ids
            gaps[start : start + len(block)] = second - best
        return best_ids, gaps

    def at_rank(self, queries: Floats, ranks: Ids, query_words: Ids | None = None) -> Ids:
        """The word, int64 [B], at each rank by (float64 distance, id), rank 0 being the nearest.

        In float32 the word at a rank has a score v. What scores below v by more than the error
        surely comes before it, what scores above by more comes after; the rest is sorted in
        float64. Where queries are the vectors of ``query_words``, each word comes first among those
        at its place, whatever its id.
        """
        result = np.empty(len(queries), np.int64)
        margins = 2 * self._error(np.linalg.norm(queries, axis=1))
        rows = max(1, self._scores_at_once // len(self._vectors))
        for start in range(0, len(queries), rows):
            block = slice(start, start + rows)
            scores = self._scores(
                queries[block], None if query_words is None else query_words[block]
            )
            for row in range(len(scores)):
                rank, margin = int(ranks[start + row]), margins[start + row]
                value = _at(scores[row], rank)
                before = int(np.count_nonzero(scores[row] < value - margin))
                # Negated so that a NaN counts as near.
                near = np.flatnonzero(
                    ~((scores[row] < value - margin) | (scores[row] > value + margin))
                )
                exact = distances(self._vectors[near], queries[start + row])
                result[start + row] = near[np.lexsort((near, exact))[rank - before]]
        return result

    def neighbor_table(
        self, ids: Ids, depth: int, radius_rank: int
    ) -> tuple[npt.NDArray[np.int32], Floats]:
        """As ``TableSearch.table``, word by word."""
        neighbors = np.empty((len(ids), depth), np.int32)
        radii = np.empty(len(ids))
        rows = self._rows_at_once()
        for start in range(0, len(ids), rows):
            block = slice(start, start + rows)
            queries = self._vectors[ids[block]].astype(np.float64)
            scores = self._scores(queries, ids[block])
            margins = self._margins(queries)
            for row, word in enumerate(ids[block]):
                last = max(depth, radius_rank)
                limit = np.nextafter(_at(scores[row], last) + margins[row], _UP)
                near = np.flatnonzero(scores[row] <= limit)
                near = near[near != word]
                exact = distances(self._vectors[near], queries[row])
                order = np.lexsort((near, exact))
                neighbors[start + row] = near[order[:depth]]
                radii[start + row] = exact[order[radius_rank - 1]] if radius_rank else 0.0
        return neighbors, radii

    def perhaps_within(self, queries: Floats, radius: float) -> list[Ids]:
        """For each query, int64 [M], ascending: all words nearer than a radius, perhaps others."""
        near: list[Ids] = []
        rows = min(self._queries_per_tile, self._rows_at_once())
        for start in range(0, len(queries), rows):
            block = queries[start : start + rows]
            norms = np.linalg.norm(block, axis=1)
            limits = (radius**2 - np.square(norms)) + self._error(norms)
            limits = np.nextafter(limits.astype(np.float32), _UP)[:, None]
            block = block.astype(np.float32) * np.float32(-2)
            of, words = [], []
            for first in range(0, len(self._vectors), self._words_per_tile):
                tile = slice(first, first + self._words_per_tile)
                scores = block @ self._vectors[tile].T
                scores += self._squared_norms[tile]
                # Negated so that a NaN counts as near.
                row, word = np.divmod(np.flatnonzero(~(scores > limits)), scores.shape[1])
                of.append(row)
                words.append(word + first)
            owners = np.concatenate(of)
            by_query = np.concatenate(words)[owners.argsort(kind="stable")]
            near += np.split(by_query, np.bincount(owners, minlength=len(block)).cumsum()[:-1])
        return near

    def ranks(self, ids: Ids, others: Ids, depths: Ids) -> Ids:
        """As ``NeighborSearch.ranks``, of depths below N, without the table.

        Scores are counted and not sorted: mostly so many are below those of all others that nothing
        is left to find out.
        """
        ranks = np.full(others.shape, len(self._vectors))
        rows = self._rows_at_once()
        for start in range(0, len(ids), rows):
            block = slice(start, start + rows)
            queries = self._vectors[ids[block]].astype(np.float64)
            scores = self._scores(queries, ids[block])
            for row, margin in enumerate(self._margins(queries)):
                score, depth = scores[row, others[start + row]], depths[start + row]
                limits = np.sort(score)
                low, high = 0, len(limits)  # of these this many may be of interest
                while low < high:
                    middle = (low + high) // 2 if low else 0  # mostly none is
                    surely = np.nextafter(limits[middle] - margin, _DOWN)
                    if np.count_nonzero(scores[row] < surely) > depth:
                        high = middle
                    else:
                        low = middle + 1
                if low:
                    limit = limits[low - 1]
                    near = np.flatnonzero(scores[row] <= np.nextafter(limit + margin, _UP))
                    exact = distances(self._vectors[near], queries[row])
                    exact[near == ids[start + row]] = -1.0
                    place = np.empty(len(near), np.int64)
                    place[np.lexsort((near, exact))] = np.arange(len(near))
                    within = np.flatnonzero(score <= limit)
                    ranks[start + row, within] = place[
                        np.searchsorted(near, others[start + row, within])
                    ]
        return ranks

    def _margins(self, queries: Floats) -> Scores:
        """Scores further apart than this are in true order; float32, so that rows stay so, too."""
        margins = 2 * self._error(np.linalg.norm(queries, axis=1))
        return np.asarray(np.nextafter(margins.astype(np.float32), _UP))

    def _rows_at_once(self) -> int:
        words = len(self._vectors)
        return max(16, min(_ROWS_AT_ONCE, _MOST_SCORES // words), self._scores_at_once // words)

    def _error(self, norms: Floats) -> Floats:
        """Bound on the float32 error of a score, for queries of these lengths."""
        terms = self._vectors.shape[1] + 5
        norm = self._largest_norm
        rounding: Floats = _UNIT_ROUNDOFF * terms * (norm * norm + 2 * norm * norms)
        rounding += terms * _UNDERFLOW + _FLOAT64_SLACK * np.square(norm + norms)
        rounding[norm * norm + 2 * norm * norms > _LARGEST_SCORE] = np.inf
        return rounding

    def _scores(self, queries: Floats, query_words: Ids | None = None) -> Scores:
        """The scores of all words, [B, N]; -inf for the query's own word."""
        scores: Scores = (queries.astype(np.float32) * np.float32(-2)) @ self._vectors.T
        scores += self._squared_norms
        if query_words is not None:
            scores[np.arange(len(query_words)), query_words] = -np.inf
        return scores


def _at(scores: Scores, rank: int) -> np.float32:
    """The score at a rank, counted from the lowest; in a long row without ordering all of it."""
    few = scores[::_EVERY]
    guess = 2 * rank // _EVERY + 8  # twice as deep as it is expected
    if guess < len(few):
        low = scores[scores <= np.partition(few, guess)[guess]]
        if len(low) > rank:
            scores = low
    value: np.float32 = np.partition(scores, rank)[rank]
    return value
