"""The words of the largest offset(w) - rate * |q - w|^power, exactly; the power is 1 or 2.

An offset is a number that each word has whatever the query, such as the logarithm of how frequent
it is. The exact backends bound scores u(w) = q.w - |w|^2 / 2 (score_bounds.py); with d = |q - w|,
u = (|q|^2 - d^2) / 2. To these bounds v(w) = offset(w) D / rate is added, D being a typical
distance: near there, u + v orders words as offset - rate d does. (With the power 2 it is
offset / (2 rate), and u + v orders words as offset - rate d^2 does.)

The limit. Let L be some value of offset - rate d. A word that reaches it is no further than
R = (offset - L) / rate, or the root of it, so

    u + v  >=  (|q|^2 - max(R, 0)^2) / 2 + v.

The right side is concave in the offset, so its least value over all words is that at the smallest
or at the largest offset: no word whose bound on u + v is below both reaches L. This holds for every
D; D and the guess below decide how long it takes, and never which words are found.

1. The first block of words, without the bounds on its errors, guesses for each query a value of
   u + v that as many words reach as are asked for. Words are mostly ordered by frequency, so most
   that are found are in it.
2. Words whose bounds reach the guess are kept, and measured in float32, whose error is known
   (order_candidates.py): as many as are asked for surely reach some L.
3. Where the limit is below the guess, the guess was too high, and the query is searched again with
   the limit. Otherwise what may reach L is measured in float64, and ordered by (value, id).
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dxbeam.space.order_candidates import at_most, squared_distances
from dxbeam.space.score_bounds import WORDS_PER_BLOCK, QueryTile, ScoreBounds, Scores
from dxbeam.space.search_backend import Floats, Ids
from dxbeam.space.vocabulary import distances, distances_to_words

_QUERIES_PER_TILE = 512
_GROUP = 8  # the largest of each few words stands for them in the guess
_MARGIN = 0.8  # by which the guess is lowered, in units of the value
_SURVIVORS = 64  # times as many words as are asked for: with more, the bounds are too wide
_ROUNDING = 2.0**-21  # of u + v in float32

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


class _Survivors(NamedTuple):
    """Row and word of what is left, sorted; the guess of each row, and the step."""

    row: Ids
    word: Ids
    guesses: Scores
    step: float


class OffsetSearch:
    """The words of the largest offset - rate * distance^power.

    Args:
      vectors: float32 [N, n], C order; may be a memory map.
      bounds: of the same words.
      offsets: float64 [N], finite.
      rate: above 0, in 1 / (units of the vectors to the power).
      threads: how many search at once, each a tile of queries.
      power: 1 or 2.
    """

    def __init__(
        self,
        vectors: npt.NDArray[np.float32],
        bounds: ScoreBounds,
        offsets: Floats,
        rate: float,
        threads: int = 1,
        power: int = 1,
    ):
        self._vectors, self._bounds, self._threads = np.asarray(vectors), bounds, threads
        self._offsets, self._rate, self._power = offsets, rate, power
        self._ends = float(offsets.min()), float(offsets.max())
        self._reach = (self._ends[1] - self._ends[0]) / 2
        self._centred = (offsets - sum(self._ends) / 2).astype(np.float32)

    def best(self, queries: Floats, count: int, width: float = np.inf) -> Best:
        """The words of the largest values, ties by the lowest id.

        Args:
          queries: float64 [B, n].
          count: K, words per query; of a smaller vocabulary all.
          width: words whose value is further below the largest are left out.
        """
        size = _QUERIES_PER_TILE
        tiles = [queries[start : start + size] for start in range(0, len(queries), size)]

        def search(tile: Floats) -> Best:
            return self._tile(tile, count, width)

        if self._threads == 1 or len(tiles) < 2:
            found = list(map(search, tiles))
        else:
            with ThreadPoolExecutor(self._threads) as pool:
                found = list(pool.map(search, tiles))
        return Best(*map(np.concatenate, zip(_nothing(0, count), *found, strict=True)))

    def _tile(self, queries: Floats, count: int, width: float, least: Floats | None = None) -> Best:
        """As ``best``; ``least`` are values, float64 [B], that as many words reach, if known."""
        tile = self._bounds.tile(queries) if len(self._vectors) > count else None
        found = None if tile is None else self._survivors(tile, queries, count, width, least)
        if tile is None or found is None:
            missed, best = np.arange(len(queries)), Best(*_nothing(len(queries), count))
            least = np.zeros(0)
        else:
            row, word, missed, least = self._candidates(
                tile, queries, found, count, width, least is not None
            )
            best = self._ordered(queries, row, word, count, width)
        if len(missed) and len(least):
            again = self._tile(queries[missed], count, width, least[missed])
            best.words[missed], best.distances[missed] = again
        else:
            for one in missed.tolist():
                self._by_all(best, queries, one, width)
        return best

    def _survivors(
        self,
        tile: QueryTile,
        queries: Floats,
        count: int,
        width: float,
        least: Floats | None,
    ) -> _Survivors | None:
        """Words whose bounds reach the guesses, or limits; None if these are too many."""
        rows, words = len(queries), len(self._vectors)
        # Written in place, as new arrays of this size cost more in page faults than in work.
        scores = np.empty(rows * WORDS_PER_BLOCK, np.float32)
        marks = np.empty(len(scores), np.bool_)
        found: list[Ids] = []
        step, total = 0.0, 0
        shifts, guesses = self._centred, np.empty(0, np.float32)
        for block, first in enumerate(range(0, words, WORDS_PER_BLOCK)):
            span = min(WORDS_PER_BLOCK, words - first)
            upper = scores[: rows * span].reshape(rows, span)
            if block == 0:
                tile.scores(block, upper, errors=0.0)
                step = self._step(upper, queries)
                shifts = self._centred * np.float32(step)
                upper += shifts[first : first + span]
                if least is None:
                    guesses = _guesses(upper, count, width * step) - np.float32(_MARGIN * step)
                else:
                    guesses = self._limits(tile, least, step)
            tile.scores(block, upper)
            upper += shifts[first : first + span]
            reaches = marks[: upper.size]
            np.greater_equal(upper, guesses[:, None], out=reaches.reshape(upper.shape))
            here = np.flatnonzero(reaches)
            row = here // span
            found.append(here + row * (words - span) + first)
            total += len(here)
            if total > rows * _SURVIVORS * count:
                return None
        places = np.sort(np.concatenate(found))
        row = places // words
        return _Survivors(row, places - row * words, guesses, step)

    def _candidates(
        self,
        tile: QueryTile,
        queries: Floats,
        found: _Survivors,
        count: int,
        width: float,
        surely: bool,
    ) -> tuple[Ids, Ids, Ids, Floats]:
        """Rows and words that may be among the best.

        Args:
          tile: the queries.
          queries: the same, float64 [B, n].
          found: what is left of the words.
          count: as in ``best``.
          width: as in ``best``.
          surely: whether guesses were limits.

        Returns:
          rows and words; rows that are to be searched again, and for each row a value that as many
          words reach as are asked for, none where guesses were limits.
        """
        row, word, guesses, step = found
        singles = queries.astype(np.float32)
        squares = squared_distances(singles, row, self._vectors, word).astype(np.float64)
        values = self._offsets[word] - self._fall(np.sqrt(squares))
        error = self._error(queries, np.sqrt(at_most(squares, queries.shape[1])), row)
        numbers = np.bincount(row, minlength=len(queries))
        starts = np.cumsum(numbers) - numbers
        padded = np.full((len(queries), max(count, int(numbers.max(initial=0)))), -np.inf)
        padded[row, np.arange(len(row)) - starts[row]] = values - error
        padded.sort(axis=1)
        least = np.maximum(padded[:, -count], padded[:, -1] - width)
        limits = self._limits(tile, least, step)
        kept = values + error >= least[row]
        missed = ~(limits >= guesses)
        kept &= ~missed[row]
        again = np.zeros(0) if surely or not np.isfinite(least).all() else least
        return row[kept], word[kept], np.flatnonzero(missed), again

    def _fall(self, apart: Floats) -> Floats:
        """Rate * distance^power."""
        return np.asarray(self._rate * (apart if self._power == 1 else apart * apart))

    def _error(self, queries: Floats, apart: Floats, row: Ids) -> Floats:
        """By how much values may be wrong whose squared distances are float32's, [m]."""
        lengths = np.sqrt(np.square(queries).sum(axis=1))
        error = 2.0**-24 * (queries.shape[1] + 16) * apart + 2.0**-23 * lengths[row]
        if self._power == 2:
            error *= 2 * apart + error
        return np.asarray(self._rate * error)

    def _step(self, upper: Scores, queries: Floats) -> float:
        """By how much u changes with the value: D / rate, at a distance where words are."""
        if self._power == 2:
            return 1 / (2 * self._rate)
        apart = float(np.median(distances(self._vectors[upper.argmax(axis=1)], queries)))
        return (apart or 1.0) / self._rate

    def _limits(self, tile: QueryTile, least: Floats, step: float) -> Scores:
        """What u + v is at least, of words whose value is: float64 [B] -> float32 [B].

        Args:
          tile: the queries.
          least: values.
          step: what ``_step`` says.
        """
        middle = sum(self._ends) / 2
        ends = []
        for end in self._ends:
            reach = np.maximum(end - least, 0) / self._rate
            reach = reach if self._power == 1 else np.sqrt(reach)
            ends.append(tile.limits(reach) + np.float32(step * (end - middle)))
        limit = np.minimum(*ends)
        limit -= np.float32(_ROUNDING) * (np.abs(limit) + np.float32(2 * step * self._reach))
        return np.asarray(limit)

    def _ordered(self, queries: Floats, row: Ids, word: Ids, count: int, width: float) -> Best:
        """The best of each row among some words, which are sorted by row, and measured here."""
        numbers = np.bincount(row, minlength=len(queries))
        words = np.zeros((len(queries), max(count, int(numbers.max(initial=0)))), np.int64)
        there = np.arange(words.shape[1]) < numbers[:, None]
        words[there] = word
        apart = distances_to_words(self._vectors, queries, words)
        values = np.where(there, self._offsets[words] - self._fall(apart), -np.inf)
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
        values = self._offsets - self._fall(apart)
        order = np.lexsort((np.arange(words), -values))[: best.words.shape[1]]
        order = order[values[order] >= values[order[0]] - width]
        best.words[row, : len(order)] = order
        best.distances[row, : len(order)] = apart[order]


def _nothing(rows: int, count: int) -> tuple[Ids, Floats]:
    return np.full((rows, count), NOTHING), np.full((rows, count), np.inf)


def _guesses(upper: Scores, count: int, width: float) -> Scores:
    """For each row a value that about so many words of it reach, float32 [B]."""
    span = upper.shape[1]
    groups = span // _GROUP if span // _GROUP > 2 * count else 0
    if groups:
        upper = upper[:, : groups * _GROUP].reshape(len(upper), _GROUP, groups).max(axis=1)
    ordered = np.sort(upper, axis=1)
    last = ordered[:, max(0, ordered.shape[1] - count)]
    return np.asarray(np.maximum(last, ordered[:, -1] - np.float32(width)))
