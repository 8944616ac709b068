"""The neighbours of many words at once: rows of the neighbour table.

A tile of words is taken at a time, and all words a block at a time, in the arithmetic of the exact
backend, which bounds how wrong its scores are (score_bounds.py):

1. A few thousand words, spread evenly, guess for each row a score that a few more words reach
   than are asked for.
2. Words whose upper bound reaches the guess are kept: a few times as many as are asked for.
3. As many as are asked for, those with the largest bounds, are measured. The farthest of them gives
   the limit: no word whose bound falls short of it is among the nearest. If the limit is below the
   guess, the guess was too high, and the row is searched again by itself.
4. What reaches the limit is measured and ordered (order_candidates.py).

So guess and rounding decide how long it takes, and never which words are found.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import threadpoolctl

from dxbeam.space.search.backends.backend import Floats, Ids
from dxbeam.space.search.backends.score_bounds import (
    WORDS_PER_BLOCK,
    QueryTile,
    ScoreBounds,
    Scores,
)
from dxbeam.space.search.order_candidates import (
    Candidates,
    at_most,
    measure_on_one_thread,
    nearest_of,
    squared_distances,
)

_WORDS_PER_TILE = 512  # measured, as is the sample
_MOST_SAMPLE = 1 << 15
_SAMPLE_EVERY = 16  # one of this many words is in the sample, where that is not too few or too many
_GROUP = 8
_GOLDEN = (5**0.5 - 1) / 2  # multiples of it, less whole numbers, are spread evenly, with no period

Table = tuple[npt.NDArray[np.int32], Floats]
"""Neighbours int32 [B, depth], and radii float64 [B]."""

RowByRow = Callable[[Ids, int, int], Table]
"""Searches words one by one: ids, depth, rank of the radius."""


class TableSearch:
    """Rows of the neighbour table, by bounds on scores.

    Args:
      vectors: float32 [N, n], C order; may be a memory map.
      bounds: of the same words.
      row_by_row: searches those words for which bounds decide too little.
      threads: how many search at once, each a tile of words.
      least_sample: how many words guess, at least, how near the nearest are.
      survivors: times the words asked for that the bounds may leave; with more than these
        the bounds are too wide, and words are searched one by one.
    """

    def __init__(
        self,
        vectors: npt.NDArray[np.float32],
        bounds: ScoreBounds,
        row_by_row: RowByRow,
        threads: int = 1,
        *,
        least_sample: int = 1 << 10,
        survivors: int = 32,
    ):
        self._vectors, self._survivors_per_word = np.asarray(vectors), survivors
        self._bounds, self._row_by_row, self._threads = bounds, row_by_row, threads
        size = min(max(len(vectors) // _SAMPLE_EVERY, least_sample), _MOST_SAMPLE, len(vectors))
        sample = np.unique((np.arange(size) * _GOLDEN % 1 * len(vectors)).astype(np.int64))
        self._sample_size, self._sample = len(sample), bounds.among(sample)

    def table(self, ids: Ids, depth: int, radius_rank: int) -> Table:
        """The first neighbours of words, int32 [B, depth], and the distance to one further on, [B].

        The nearest comes first, ties by id, without the word itself. The distance is to the
        neighbour at ``radius_rank``, N - 1 at most; 0 for rank 0.
        """
        size = max(1, min(_WORDS_PER_TILE, -(-len(ids) // self._threads)))
        tiles = [ids[start : start + size] for start in range(0, len(ids), size)]

        def search(tile: Ids) -> tuple[Table, Ids]:
            return self._tile(tile, depth, radius_rank)

        if self._threads == 1 or len(tiles) < 2:
            of_tiles = list(map(search, tiles))
        else:
            with (
                threadpoolctl.threadpool_limits(1, "blas"),  # in each of these threads
                ThreadPoolExecutor(self._threads, initializer=measure_on_one_thread) as pool,
            ):
                of_tiles = list(pool.map(search, tiles))
        neighbors, radii = np.empty((len(ids), depth), np.int32), np.empty(len(ids))
        missed = [np.empty(0, np.int64)]
        for number, ((near, apart), without) in enumerate(of_tiles):
            part = slice(number * size, (number + 1) * size)
            neighbors[part], radii[part] = near, apart
            missed.append(number * size + without)
        rows = np.concatenate(missed)
        if len(rows):  # together, as it takes all words for each call
            neighbors[rows], radii[rows] = self._row_by_row(ids[rows], depth, radius_rank)
        return neighbors, radii

    def _tile(self, ids: Ids, depth: int, radius_rank: int) -> tuple[Table, Ids]:
        """Rows of the table, and which of them are yet to be searched."""
        count = max(depth, radius_rank)
        queries = self._vectors[ids].astype(np.float64)
        tile, sample = self._bounds.tile(queries), self._sample.tile(queries)
        if tile is not None and sample is not None:
            guesses = self._guesses(sample, len(ids), count)
            survivors = self._survivors(tile, ids, guesses, self._survivors_per_word * count)
            if survivors is not None:
                candidates, missed = self._candidates(tile, ids, guesses, survivors, count)
                return nearest_of(candidates, self._vectors, ids, depth, radius_rank), missed
        nothing = np.zeros((len(ids), depth), np.int32), np.zeros(len(ids))
        return nothing, np.arange(len(ids))

    def _guesses(self, sample: QueryTile, rows: int, count: int) -> Scores:
        """For each row, a score that this many other words reach almost surely."""
        share = (count + 1) * self._sample_size / len(self._vectors)
        rank = min(int(share + 4 * np.sqrt(share) + 4), self._sample_size)
        scores = np.empty((rows, self._sample_size), np.float32)
        for block, start in enumerate(range(0, self._sample_size, WORDS_PER_BLOCK)):
            part = np.empty((rows, min(WORDS_PER_BLOCK, self._sample_size - start)), np.float32)
            sample.scores(block, part, errors=0.0)
            scores[:, start : start + WORDS_PER_BLOCK] = part
        # The largest of each few are almost all of the largest, and faster to sort.
        groups = self._sample_size // _GROUP if rank * _GROUP < self._sample_size // 2 else 0
        if groups:
            scores = scores[:, : groups * _GROUP].reshape(rows, _GROUP, groups).max(axis=1)
        scores.sort(axis=1)
        return np.ascontiguousarray(scores[:, -rank])

    def _survivors(
        self, tile: QueryTile, ids: Ids, guesses: Scores, most_per_row: int
    ) -> _Survivors | None:
        """Words whose upper bounds reach the guesses; None if these are too many."""
        survivors: list[tuple[Ids, Scores]] = []
        total, words = 0, len(self._vectors)
        # Written in place, as new arrays of this size cost more in page faults than in work.
        scores = np.empty(len(ids) * WORDS_PER_BLOCK, np.float32)
        marks = np.empty(len(scores), np.bool_)
        for block, first in enumerate(range(0, words, WORDS_PER_BLOCK)):
            width = min(WORDS_PER_BLOCK, words - first)
            upper = scores[: len(ids) * width].reshape(len(ids), width)
            tile.scores(block, upper)
            within = np.flatnonzero((ids >= first) & (ids < first + width))
            upper[within, ids[within] - first] = -np.inf
            reaches = marks[: upper.size]
            np.greater_equal(upper, guesses[:, None], out=reaches.reshape(upper.shape))
            here = np.flatnonzero(reaches)
            row = here // width
            survivors.append((here + row * (words - width) + first, scores[here]))
            total += len(here)
            if total > len(ids) * most_per_row:
                return None
        places, bounds = (np.concatenate(parts) for parts in zip(*survivors, strict=True))
        row = places // words
        return _Survivors(row, places - row * words, bounds)

    def _candidates(
        self, tile: QueryTile, ids: Ids, guesses: Scores, survivors: _Survivors, count: int
    ) -> tuple[Candidates, Ids]:
        """The survivors that may be among the first words, and rows where more words may be."""
        row, word, upper = survivors
        queries = self._vectors[ids]
        places = _places(row, len(ids))
        enough = np.bincount(row, minlength=len(ids)) >= count
        bounds = np.full(
            (len(ids), max(count, int(places.max(initial=0)) + 1)), -np.inf, np.float32
        )
        bounds[row, places] = upper
        bounds.sort(axis=1)  # faster than a partition, where the processor sorts by vectors
        measured = np.flatnonzero(upper >= bounds[row, bounds.shape[1] - count])
        squares = np.full(len(row), np.inf, np.float32)
        squares[measured] = squared_distances(queries, row[measured], self._vectors, word[measured])
        farthest = np.zeros(len(ids))
        np.maximum.at(farthest, row[measured], squares[measured].astype(np.float64))
        limits = tile.limits(np.sqrt(at_most(farthest, self._vectors.shape[1])))
        rest = np.flatnonzero((upper >= limits[row]) & ~np.isfinite(squares))
        squares[rest] = squared_distances(queries, row[rest], self._vectors, word[rest])
        missed = np.flatnonzero(~(enough & (limits >= guesses)))
        kept = np.flatnonzero(np.isfinite(squares))
        return Candidates(row[kept], word[kept], squares[kept]), missed


class _Survivors(NamedTuple):
    """Row, word and upper bound of the score of what is left, sorted by block of words."""

    row: Ids
    word: Ids
    upper: Scores


def _places(row: Ids, rows: int) -> Ids:
    """The how-manieth of its row each one is."""
    order = np.argsort(row.astype(np.uint16), kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=rows))[:-1]])
    places = np.empty(len(row), np.int64)
    places[order] = np.arange(len(row)) - starts[row[order]]
    return places
