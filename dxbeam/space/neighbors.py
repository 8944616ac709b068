"""Exact nearest neighbour, i-th neighbour and close radius.

Searches run in 8-bit integers, with queries of 8 or 7 bits, whichever this processor multiplies
exactly (integer_search.py), or in float32, thousands of queries at a time, and whatever these
cannot decide is decided in float64, ties by the lower id. So a result depends neither on the batch
a query came in nor on the kernel that served it.

How far float32 can be trusted: with unit roundoff u = 2^-24, a query q and words w with
|w| <= R, an n-term dot product errs by at most about n u |q| R in any order of summation
(Higham 2002, section 3.1), so |w|^2 - 2 q.w errs by at most u (n + 5) (R^2 + 2 |q| R), the
rounding of q to float32 included, and by a little more where terms underflow. Two candidates
further apart than twice that are in true order.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache, cached_property, partial
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from dxbeam.errors import ConfigurationError
from dxbeam.space import integer_search
from dxbeam.space.integer_search import BITS, QUERIES_A_TILE, IntegerSearch
from dxbeam.space.vocabulary import UNKNOWN, Vocabulary, distances

CLOSE_RANK = 100
"""A released word is close if it is among the first 100 neighbours of the original."""

Ids = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

T = TypeVar("T")

FLOAT32 = "float32"
ARITHMETICS = (*(f"int{bits}" for bits in BITS), FLOAT32)
"""What an exact search may be done in, the fastest first."""

_VARIABLE = "DXBEAM_SEARCH"
_LOG = logging.getLogger(__name__)

_UNIT_ROUNDOFF = 2.0**-24
_UNDERFLOW = 2.0**-125  # of a term, even where the processor is told to make it 0
_TILE_QUERIES, _TILE_WORDS = 512, 2048  # measured: the fastest shape on two kinds of processor
_SCORES_A_BLOCK = 1 << 23  # float32 scores held at once: 32 MiB
_COORDINATES_AT_ONCE = 1 << 17  # float64: 1 MiB, which stays in the cache
_APPROXIMATE_CANDIDATES = 8


@cache
def _tell(arithmetic: str) -> None:
    _LOG.info("exact searches are done in %s", arithmetic)


class NeighborSearch:
    """Neighbour queries over one vocabulary.

    Holds nothing but the vocabulary and values derived from it; safe to share between threads.

    Args:
      vocabulary: the words to search.
      threads: threads of a search by integers; all cores by default. Searches by float32 and by
        FAISS use as many as BLAS and OpenMP are set to.
      arithmetic: one of ARITHMETICS; by default what the environment variable DXBEAM_SEARCH says,
        else the first that is exact on this processor. The answers are the same.

    Raises:
      ConfigurationError: no such arithmetic.
    """

    def __init__(
        self, vocabulary: Vocabulary, threads: int | None = None, arithmetic: str | None = None
    ):
        if not isinstance(vocabulary, Vocabulary):
            raise ConfigurationError(
                f"words are searched in a Vocabulary, and this is a {type(vocabulary).__name__}; "
                'open one with dxbeam.open_vocabulary("demo")'
            )
        if threads is not None and threads < 1:
            raise ConfigurationError(f"a search needs at least one thread, not {threads}")
        self.vocabulary = vocabulary
        self._vectors = vocabulary.vectors
        self._threads = threads or os.cpu_count() or 1
        self._asked = arithmetic or os.environ.get(_VARIABLE)
        if self._asked not in (*ARITHMETICS, None):
            raise ConfigurationError(f"{_VARIABLE} is one of {', '.join(ARITHMETICS)}")
        self._derived: dict[Hashable, Any] = {}

    def derived(self, owner: Hashable, make: Callable[[Vocabulary], T]) -> T:
        """What ``make`` derives from the vocabulary for ``owner``, made once and kept.

        Args:
          owner: names it, e.g. a frozen mechanism; equal owners share one.
          make: a pure function of the vocabulary.
        """
        if owner not in self._derived:
            self._derived[owner] = make(self.vocabulary)
        kept: T = self._derived[owner]
        return kept

    @property
    def arithmetic(self) -> str:
        """In what an exact search is done here: one of ARITHMETICS.

        Raises:
          ConfigurationError: what was asked for cannot be had on this machine.
        """
        return self._integers[0]

    @cached_property
    def _integers(self) -> tuple[str, IntegerSearch | None]:
        name, search = FLOAT32, None
        if self._asked != FLOAT32:
            with suppress(ImportError):  # the extra "fast" is not installed
                product = integer_search.OnnxProduct()
                bits = [n for n in BITS if self._asked in (None, f"int{n}")]
                exact = next((n for n in bits if integer_search.is_exact(product, n)), None)
                if exact is not None:
                    with suppress(ArithmeticError):  # vectors that are not for float32
                        search = IntegerSearch(self._vectors, product, exact)
                    name = f"int{exact}"
            if self._asked not in (None, name):
                raise ConfigurationError(
                    f"{_VARIABLE}={self._asked}: onnxruntime is not installed, or this processor "
                    "gets such products wrong; leave it out"
                )
        name = name if search else FLOAT32
        _tell(name)
        return name, search

    @cached_property
    def _squared_norms(self) -> npt.NDArray[np.float32]:
        blocks = (
            np.square(block, dtype=np.float64).sum(axis=1)
            for block in np.array_split(self._vectors, len(self._vectors) // 4096 + 1)
        )
        return np.concatenate(list(blocks)).astype(np.float32)

    @cached_property
    def _largest_norm(self) -> float:
        return float(np.sqrt(self._squared_norms.max(initial=0.0))) * (1 + 1e-6)

    def nearest(self, queries: Floats) -> Ids:
        """The id of the word nearest to each query, the lowest on ties: float64 [B, n] -> [B].

        With an approximate index, the nearest among the candidates that the index finds.
        """
        return self._nearest(queries, 1)[0][:, 0]

    def nearest_two(self, queries: Floats) -> tuple[Ids, Floats]:
        """The two words nearest to each query by (distance, id), and their distances.

        With an approximate index, the nearest two among the candidates that the index finds.

        Args:
          queries: float64 [B, n]; the vocabulary has at least two words.

        Returns:
          int64 [B, 2] and float64 [B, 2].
        """
        return self._nearest(queries, 2)

    def _nearest(self, queries: Floats, count: int) -> tuple[Ids, Floats]:
        """The ``count`` (1 or 2) words nearest to each query, [B, count]."""
        if len(queries) and self.vocabulary.index is not None:
            return self._by_index(queries, count)
        return self._tiled(queries, count)

    def _tiled(self, queries: Floats, count: int) -> tuple[Ids, Floats]:
        """As ``_nearest`` by exact search, on all threads."""
        if self._integers[1] is None:
            return self._in_float32(queries, count)
        tiles = [queries[i : i + QUERIES_A_TILE] for i in range(0, len(queries), QUERIES_A_TILE)]
        search = partial(self._tile, count=count)
        if self._threads == 1 or len(tiles) < 2:
            found = list(map(search, tiles))
        else:
            with ThreadPoolExecutor(self._threads) as pool:
                found = list(pool.map(search, tiles))
        found.append((np.empty((0, count), np.int64), np.empty((0, count))))
        ids, lengths = zip(*found, strict=True)
        return np.concatenate(ids), np.concatenate(lengths)

    def _tile(self, queries: Floats, count: int) -> tuple[Ids, Floats]:
        _, integers = self._integers
        assert integers is not None
        found = integers.nearest(queries, count)
        return self._in_float32(queries, count) if found is None else found

    def _in_float32(self, queries: Floats, count: int) -> tuple[Ids, Floats]:
        ids = self._nearest_in_float32(queries)[:, None]
        if count == 2:
            ids = np.column_stack([ids, self._at_rank(queries, np.ones(len(queries), np.int64))])
        return ids, distances(self._vectors[ids], queries[:, None, :])

    def _nearest_in_float32(self, queries: Floats) -> Ids:
        nearest, gaps = self._best_and_gap(queries)
        trusted = 2 * self._error(np.linalg.norm(queries, axis=1))
        # Negated so that a NaN counts as undecided.
        undecided = np.flatnonzero(~(gaps > trusted))
        nearest[undecided] = self._at_rank(queries[undecided], np.zeros(len(undecided), np.int64))
        return nearest

    def _best_and_gap(self, queries: Floats) -> tuple[Ids, npt.NDArray[np.float32]]:
        """The word of the smallest float32 score, and by how much the second smallest is larger.

        A tile of queries and words at a time, so that scores are looked at while they are in the
        processor's cache. numpy's OpenBLAS does the products, as it is years younger than the one
        inside faiss, which knows no recent processor.
        """
        best_ids, gaps = np.empty(len(queries), np.int64), np.empty(len(queries), np.float32)
        tile = np.empty((_TILE_QUERIES, _TILE_WORDS), np.float32)
        for start in range(0, len(queries), _TILE_QUERIES):
            block = queries[start : start + _TILE_QUERIES].astype(np.float32) * np.float32(-2)
            rows = np.arange(len(block))
            ids = np.zeros(len(block), np.int64)
            best = np.full(len(block), np.inf, np.float32)
            second = best.copy()
            for first in range(0, len(self._vectors), _TILE_WORDS):
                words = self._vectors[first : first + _TILE_WORDS]
                scores = np.matmul(block, words.T, out=tile[: len(block), : len(words)])
                scores += self._squared_norms[first : first + _TILE_WORDS]
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

    def _by_index(self, queries: Floats, count: int) -> tuple[Ids, Floats]:
        """As ``_nearest``, among the candidates of the index, in order of their exact distances."""
        candidates = min(_APPROXIMATE_CANDIDATES, len(self._vectors))
        _, found = self.vocabulary.index.search(queries.astype(np.float32), candidates)
        lengths = self._lengths(queries, np.maximum(found, 0))
        lengths[found < 0] = np.inf
        order = np.lexsort((found, lengths), axis=1)[:, :count]
        ids = np.take_along_axis(found, order, axis=1)
        lengths = np.take_along_axis(lengths, order, axis=1)
        # An index may come back empty-handed (an IVF list without words): search exactly then.
        empty = np.flatnonzero((ids < 0).any(axis=1))
        ids[empty], lengths[empty] = self._tiled(queries[empty], count)
        return ids, lengths

    def neighbor(self, ids: Ids, ranks: Ids) -> Ids:
        """The word at a rank among all words around a word: [B], [B] -> [B].

        Rank 0 is the word itself, rank 1 its nearest neighbour, …, rank N - 1 the farthest word;
        words at equal distance are ranked by id.
        """
        table = self.vocabulary.neighbor_ids
        depth = 0 if table is None else table.shape[1]
        result: Ids = ids.copy()
        tabled = (ranks > 0) & (ranks <= depth)
        if table is not None:
            result[tabled] = table[ids[tabled], ranks[tabled] - 1]
        deep = np.flatnonzero(ranks > depth)
        queries = self._vectors[ids[deep]].astype(np.float64)
        result[deep] = self._at_rank(queries, ranks[deep], ids[deep])
        return result

    def first(self, ids: Ids, count: int) -> Ids:
        """The words nearest to each word by (distance, id).

        Args:
          ids: int64 [B]; UNKNOWN stands for the unknown word's vector.
          count: at most N.

        Returns:
          int64 [B, count]; a word's own row starts with itself.
        """
        near = np.empty((len(ids), count), np.int64)
        known = np.flatnonzero(ids != UNKNOWN)
        near[known, 0] = ids[known]
        table = self.vocabulary.neighbor_ids
        if table is None or table.shape[1] < count - 1:
            near[known, 1:] = self.table(ids[known], count - 1)[0]
        else:
            near[known, 1:] = table[ids[known], : count - 1]
        near[ids == UNKNOWN] = self.derived(("first", count), self._first_unknown(count))
        return near

    def _first_unknown(self, count: int) -> Callable[[Vocabulary], Ids]:
        unknown = np.array([UNKNOWN])
        return lambda vocabulary: self._at_rank(
            vocabulary.vectors_of(unknown).repeat(count, axis=0), np.arange(count)
        )

    def lengths(self, ids: Ids, others: Ids) -> Floats:
        """Distances from each word to others: int64 [B] (or UNKNOWN), [B, k] -> float64 [B, k]."""
        return self._lengths(self.vocabulary.vectors_of(ids), others)

    def _lengths(self, queries: Floats, others: Ids) -> Floats:
        """Distances from each query to words: float64 [B, n], int64 [B, k] -> float64 [B, k]."""
        result = np.empty(others.shape)
        rows = max(1, _COORDINATES_AT_ONCE // self._vectors.shape[1] // max(1, others.shape[1]))
        for start in range(0, len(queries), rows):
            block = slice(start, start + rows)
            result[block] = distances(self._vectors[others[block]], queries[block, None, :])
        return result

    def is_close(self, originals: Ids, released: Ids) -> npt.NDArray[np.bool_]:
        """Whether each released word is within the close radius of its original (both known)."""
        return self.lengths(originals, released[:, None])[:, 0] <= self.close_radius(originals)

    def close_radius(self, ids: Ids) -> Floats:
        """Distance from each word to its 100th neighbour, or the last one if there are fewer."""
        if self.vocabulary.close_radius is not None:
            return self.vocabulary.close_radius[ids]
        unique, inverse = np.unique(ids, return_inverse=True)
        rank = min(CLOSE_RANK, len(self._vectors) - 1)
        farthest = self.neighbor(unique, np.full(len(unique), rank, np.int64))
        return distances(self._vectors[unique], self._vectors[farthest])[inverse]

    def table(self, ids: Ids, depth: int) -> tuple[npt.NDArray[np.int32], Floats]:
        """The neighbour table and close radii of some words.

        Args:
          ids: int64 [B].
          depth: K, neighbours a word (at most N - 1).

        Returns:
          int32 [B, K] neighbours, nearest first, ties by id, the word itself excluded; and
          float64 [B] close radii.
        """
        close_rank = min(CLOSE_RANK, len(self._vectors) - 1)
        depth = min(depth, len(self._vectors) - 1)
        neighbors = np.empty((len(ids), depth), np.int32)
        radii = np.empty(len(ids))
        rows = max(16, _SCORES_A_BLOCK // len(self._vectors))  # fewer wait for memory
        for start in range(0, len(ids), rows):
            block = slice(start, start + rows)
            queries = self._vectors[ids[block]].astype(np.float64)
            scores = self._scores(queries, ids[block])
            margins = 2 * self._error(np.linalg.norm(queries, axis=1))
            for row, own in enumerate(ids[block]):
                last = max(depth, close_rank)
                limit = np.partition(scores[row], last)[last] + margins[row]
                near = np.flatnonzero(scores[row] <= limit)
                near = near[near != own]
                exact = distances(self._vectors[near], queries[row])
                order = np.lexsort((near, exact))
                neighbors[start + row] = near[order[:depth]]
                radii[start + row] = exact[order[close_rank - 1]] if close_rank else 0.0
        return neighbors, radii

    def _error(self, lengths: Floats) -> Floats:
        """Bound on the float32 error of |w|^2 - 2 q.w for queries of these lengths."""
        terms = self.vocabulary.dimensions + 5
        norm = self._largest_norm
        rounding = _UNIT_ROUNDOFF * terms * (norm * norm + 2 * norm * lengths)
        return rounding + terms * _UNDERFLOW

    def _scores(self, queries: Floats, own: Ids | None = None) -> npt.NDArray[np.float32]:
        """|w|^2 - 2 q.w in float32, [B, N]: squared distances less |q|^2; -inf for own words."""
        scores: npt.NDArray[np.float32] = queries.astype(np.float32) @ self._vectors.T
        scores *= -2
        scores += self._squared_norms
        if own is not None:
            scores[np.arange(len(own)), own] = -np.inf
        return scores

    def _at_rank(self, queries: Floats, ranks: Ids, own: Ids | None = None) -> Ids:
        """The word at each rank (0: nearest) by (float64 distance, id); ``own`` words come first.

        In float32 the word at a rank has a score v. What scores below v by more than the error
        surely comes before it, what scores above by more comes after; the rest is sorted in
        float64.
        """
        result = np.empty(len(queries), np.int64)
        margins = 2 * self._error(np.linalg.norm(queries, axis=1))
        rows = max(1, _SCORES_A_BLOCK // len(self._vectors))
        for start in range(0, len(queries), rows):
            block = slice(start, start + rows)
            scores = self._scores(queries[block], None if own is None else own[block])
            for row in range(len(scores)):
                rank, margin = int(ranks[start + row]), margins[start + row]
                value = np.partition(scores[row], rank)[rank]
                before = int(np.count_nonzero(scores[row] < value - margin))
                near = np.flatnonzero(
                    (scores[row] >= value - margin) & (scores[row] <= value + margin)
                )
                exact = distances(self._vectors[near], queries[start + row])
                result[start + row] = near[np.lexsort((near, exact))[rank - before]]
        return result


def is_known(ids: Ids) -> npt.NDArray[np.bool_]:
    """Which ids are words of the vocabulary."""
    known: npt.NDArray[np.bool_] = ids != UNKNOWN
    return known
