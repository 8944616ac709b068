"""The words of the largest offset(w) - rate * |q - w|^power, exactly; the power is 1 or 2.

An offset is a number that each word has whatever the query, such as the logarithm of how frequent
it is. Words are ruled out by bounds on scores (offset_values.py), and what is left is measured:

1. The first block of words, without the bounds on its errors, guesses for each query a value that
   as many words reach as are asked for. Words are mostly ordered by frequency, so most that are
   found are in it. Those that reach the guess are measured in float32, whose error is known
   (order_candidates.py): as many as are asked for surely reach some value, the least.
2. No word whose bound is below the limit that follows from the least reaches it. Words of the block
   whose bounds reach the limit are measured too, which raises the least, and so does each block
   after it.
3. What may reach the least in the end is measured in float64, and ordered by (value, id).

The guess decides how long it takes, and never which words are found.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dxbeam.space.search.backends.backend import Floats, Ids, on_threads
from dxbeam.space.search.backends.score_bounds import (
    WORDS_PER_BLOCK,
    QueryTile,
    ScoreBounds,
    Scores,
)
from dxbeam.space.search.offset_values import OffsetValues
from dxbeam.space.search.order_candidates import measured_on_one_thread, squared_distances
from dxbeam.space.vocabulary.words import distances, distances_to_words

_QUERIES_PER_TILE = 512
_GROUP = 8  # the largest of each few words stands for them in the guess
_MARGIN = 0.1
_SURVIVORS = 64  # times as many words as are asked for: with more, the bounds are too wide

NOTHING = -1
"""Stands for no word, where fewer are found than are asked for."""


class Best(NamedTuple):
    """The best words of each query.

    Attributes:
      words: int64 [B, K], by (value, lowest id), NOTHING where there are no more.
      distances: float64 [B, K], infinite where there is no word.
    """

    words: Ids
    distances: Floats


class OffsetSearch:
    """The words of the largest offset - rate * distance^power.

    Args:
      vectors: float32 [N, n], C order; may be a memory map.
      bounds: of the same words.
      offsets: float64 [N], finite.
      rate: above 0, in 1 / (units of the vectors to the power).
      threads: how many search at once, each a tile of queries.
      power: 1 or 2.
      margin: by which a first guess is lowered, in units of the value; no answer depends on it.
    """

    def __init__(
        self,
        vectors: npt.NDArray[np.float32],
        bounds: ScoreBounds,
        offsets: Floats,
        rate: float,
        threads: int = 1,
        power: int = 1,
        margin: float = _MARGIN,
    ):
        self._margin = margin
        self._vectors, self._bounds, self._threads = np.asarray(vectors), bounds, threads
        self._values = OffsetValues(self._vectors, offsets, rate, power)

    def best(self, queries: Floats, count: int, width: float = np.inf) -> Best:
        """The words of the largest values, K = ``count`` of each query, ties by the lowest id.

        Words whose value is further than ``width`` below the largest are left out.
        """
        size = _QUERIES_PER_TILE
        # Bounds are as wide as the longest coordinate of a tile makes them.
        order = np.argsort(np.abs(queries).max(axis=1, initial=0.0), kind="stable")
        tiles = [order[start : start + size] for start in range(0, len(order), size)]
        best = Best(*_nothing(len(queries), count))

        def search(rows: Ids) -> None:
            of_tile = self._tile(queries[rows], count, width)
            best.words[rows], best.distances[rows] = of_tile

        on_threads(self._threads, search, tiles)
        return best

    def _tile(self, queries: Floats, count: int, width: float) -> Best:
        tile = self._bounds.tile(queries) if len(self._vectors) > count else None
        if tile is not None:
            with measured_on_one_thread():
                candidates = _Candidates(
                    self._values, tile, queries, count, width, self._margin
                ).settled()
            if candidates is not None:
                return self._ordered(queries, *candidates, count, width)
        best = Best(*_nothing(len(queries), count))
        for row in range(len(queries)):
            self._by_all(best, queries, row, width)
        return best

    def _ordered(self, queries: Floats, row: Ids, word: Ids, count: int, width: float) -> Best:
        """The best of each row among some words, which are sorted by row, and measured here."""
        numbers = np.bincount(row, minlength=len(queries))
        words = np.zeros((len(queries), max(count, int(numbers.max(initial=0)))), np.int64)
        there = np.arange(words.shape[1]) < numbers[:, None]
        words[there] = word
        apart = distances_to_words(self._vectors, queries, words)
        values = np.where(there, self._values.at(words, apart), -np.inf)
        order = np.lexsort((words, -values), axis=1)[:, :count]
        words, apart, values = (
            np.take_along_axis(each, order, 1) for each in (words, apart, values)
        )
        kept = (values >= values[:, :1] - width) & (order < numbers[:, None])
        return Best(np.where(kept, words, NOTHING), np.where(kept, apart, np.inf))

    def _by_all(self, best: Best, queries: Floats, row: int, width: float) -> None:
        """Measures all words for one row, and enters the best."""
        query, words = queries[row], len(self._vectors)
        blocks = [
            slice(start, start + WORDS_PER_BLOCK) for start in range(0, words, WORDS_PER_BLOCK)
        ]
        apart = np.concatenate([distances(self._vectors[block], query) for block in blocks])
        values = self._values.at(np.arange(words), apart)
        order = np.lexsort((np.arange(words), -values))[: best.words.shape[1]]
        order = order[values[order] >= values[order[0]] - width]
        best.words[row, : len(order)] = order
        best.distances[row, : len(order)] = apart[order]


class _Candidates:
    """Words that may be among the best of some queries, which are a tile and float64 [B, n]."""

    def __init__(
        self,
        values: OffsetValues,
        tile: QueryTile,
        queries: Floats,
        count: int,
        width: float,
        margin: float,
    ):
        self._values, self._tile, self._queries = values, tile, queries
        self._count, self._width, self._margin = count, width, margin
        self._singles = queries.astype(np.float32)
        self._lengths = np.sqrt(np.square(queries).sum(axis=1))
        self._tops = np.full((len(queries), count), -np.inf)
        self._least = np.full(len(queries), -np.inf)
        self._row: list[Ids] = []
        self._word: list[Ids] = []
        self._lower: list[Floats] = []
        self._upper: list[Floats] = []
        self._compared = self._total = 0

    def settled(self) -> tuple[Ids, Ids] | None:
        """Rows and words, int64 [m], sorted; None if these are too many."""
        rows, words = len(self._queries), len(self._values.vectors)
        # Written in place, as new arrays of this size cost more in page faults than in work.
        scores = np.empty(rows * min(WORDS_PER_BLOCK, words), np.float32)
        marks = np.empty(len(scores), np.bool_)
        step, shifts = self._first(scores.reshape(rows, -1), marks)
        limits = self._values.limits(self._tile, self._least, step)
        for block, first in enumerate(range(0, words, WORDS_PER_BLOCK)):
            span = min(WORDS_PER_BLOCK, words - first)
            upper = scores[: rows * span].reshape(rows, span)
            if block:
                self._tile.scores(block, upper, plus=shifts[first : first + span])
            self._measure(upper, limits, marks, first)
            if self._total > rows * _SURVIVORS * self._count:
                return None
            if block.bit_count() < 2:  # whenever twice as many words have been seen
                self._compare()
                limits = self._values.limits(self._tile, self._least, step)
        self._compare()
        row = np.concatenate(self._row)
        kept = np.flatnonzero(np.concatenate(self._upper) >= self._least[row])
        places = np.sort(row[kept] * words + np.concatenate(self._word)[kept])
        row = places // words
        return row, places - row * words

    def _first(self, scores: Scores, marks: npt.NDArray[np.bool_]) -> tuple[float, Floats]:
        """Guesses by the first block, and leaves in ``scores`` the bounds of what is not measured.

        The step, and what is added to the scores of all words, float64 [N].
        """
        self._tile.scores(0, scores, errors=0.0)
        step = self._values.step(scores, self._queries)
        shifts = self._values.shifts(step)
        scores += shifts[: scores.shape[1]].astype(np.float32)
        guesses = _guesses(scores, self._count, self._width * step)
        guesses -= np.float32(self._margin * step)
        measured = self._measure(scores, guesses, marks, 0)
        self._compare()
        scores.reshape(-1)[measured] = -np.inf
        scores += self._tile.errors(0)
        return step, shifts

    def _measure(
        self, scores: Scores, limits: Scores, marks: npt.NDArray[np.bool_], first: int
    ) -> Ids:
        """Measures words of a block that reach the limits; their numbers in the flat scores."""
        reaches = marks[: scores.size]
        np.greater_equal(scores, limits[:, None], out=reaches.reshape(scores.shape))
        here = np.flatnonzero(reaches)
        row = here // scores.shape[1]
        word = here - row * scores.shape[1] + first
        squares = squared_distances(self._singles, row, self._values.vectors, word)
        wide = squares.astype(np.float64)
        values = self._values.at(word, np.sqrt(wide))
        error = self._values.error(self._lengths, wide, row)
        self._row.append(row)
        self._word.append(word)
        self._lower.append(values - error)
        self._upper.append(values + error)
        self._total += len(here)
        return here

    def _compare(self) -> None:
        """Raises the least value of each row by what has been measured since."""
        if self._compared == len(self._row):
            return
        row = np.concatenate(self._row[self._compared :])
        lower = np.concatenate(self._lower[self._compared :])
        better = np.flatnonzero(lower > self._tops[row, 0])
        better = better[np.argsort(row[better], kind="stable")]
        row, lower = row[better], lower[better]
        numbers = np.bincount(row, minlength=len(self._tops))
        starts = np.cumsum(numbers) - numbers
        more = np.full((len(self._tops), int(numbers.max(initial=0))), -np.inf)
        more[row, np.arange(len(row)) - starts[row]] = lower
        tops = np.concatenate([self._tops, more], axis=1)
        tops.sort(axis=1)
        self._tops = tops[:, -self._count :]
        self._least = np.maximum(self._tops[:, 0], self._tops[:, -1] - self._width)
        self._compared = len(self._row)


def _nothing(rows: int, count: int) -> tuple[Ids, Floats]:
    return np.full((rows, count), NOTHING), np.full((rows, count), np.inf)


def _guesses(upper: Scores, count: int, width: float) -> Scores:
    """For each row a value that about this many words of it reach, float32 [B]."""
    span = upper.shape[1]
    groups = span // _GROUP if span // _GROUP > 2 * count else 0
    if groups:
        upper = upper[:, : groups * _GROUP].reshape(len(upper), _GROUP, groups).max(axis=1)
    ordered = np.sort(upper, axis=1)
    last = ordered[:, max(0, ordered.shape[1] - count)]
    return np.asarray(np.maximum(last, ordered[:, -1] - np.float32(width)))
