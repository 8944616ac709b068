"""The near words that a language model adds something for after a context.

That is what two ascending lists have in common: the words stored after the context, and the near
words of the original. Of four ways the cheapest is taken, by how long the lists are and which of
them has a table of places. All give the same words in the same order.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dxbeam.language.sparse_rows import SparseRows
from dxbeam.mechanisms.sampling.near_words import Near, ascending, ragged
from dxbeam.mechanisms.sampling.place_table import PlaceTables
from dxbeam.space.search.neighbors import Floats, Ids

_AT_ONCE = 1 << 16
"""Entries looked at together; their arrays stay in the cache."""

_BY_SEARCH, _BY_HASH = 16, 8
"""How many times as long as a look-up in a table of places the other ways take."""

_NEVER = np.iinfo(np.int64).max
_ROWS_KEPT = 4096
"""Contexts whose words are kept in order of what the model adds."""

Found = tuple[Ids, Ids, Floats]
"""Which original, its near word's number, and what the model adds: [H] each."""


class Stored(NamedTuple):
    """Near words that a level of the model adds something for.

    Attributes:
      bounds: int64 [B + 1], where each original's begin, and the end.
      places: int64 [H], their numbers among all near words, ascending for each original.
      shares: float64 [H], what the model adds, times the excess.
      sums: float64 [B], of the shares of each original word.
    """

    bounds: Ids
    places: Ids
    shares: Floats
    sums: Floats


class Level:
    """What a level of a model adds for words after contexts; threads may share it.

    Args:
      table: rows of contexts, columns of words.
      words: N; the number of the unknown word, which comes last in a row.
      tables: whether long rows get tables of places.
    """

    def __init__(self, table: SparseRows, words: int, *, tables: bool):
        arrays = (table.starts, table.columns, table.values, table.filter, table.slots)
        self.table = SparseRows(*map(np.asarray, arrays))  # type: ignore[arg-type]  # no memmaps
        self._words = words
        self._places = PlaceTables(self.table.rows, words + 1) if tables else None
        self.ascending = lru_cache(_ROWS_KEPT)(self._ascending)

    def sizes(self, rows: Ids) -> tuple[Ids, Ids]:
        """Each row's first entry and number of entries; 0 for row -1: int64 [B] each."""
        firsts = self.table.starts.take(rows, mode="clip").astype(np.int64)
        return firsts, np.where(rows < 0, 0, self.table.starts.take(rows + 1) - firsts)

    def of_unknown(self, rows: Ids) -> Floats:
        """What is added for the unknown word: int64 [B] -> float64 [B]."""
        firsts, sizes = self.sizes(rows)
        if not len(self.table):
            return np.zeros(len(rows))
        last = np.maximum(firsts + sizes - 1, 0)
        stored = (sizes > 0) & (self.table.columns.take(last) == self._words)
        return np.where(stored, self.table.values.take(last).astype(np.float64), 0.0)

    def near(self, rows: Ids, around: Near) -> Stored:
        """The near words that have an entry in a row.

        Args:
          rows: int64 [B], of contexts; -1 for one that is not stored.
          around: the near words of B words.
        """
        firsts, sizes = self.sizes(rows)
        tables = self._slots(rows, sizes)
        ways = np.stack(
            [
                np.where(around.slots >= 0, sizes, _NEVER),
                np.where(tables >= 0, around.counts, _NEVER),
                _BY_SEARCH * sizes,
                _BY_HASH * around.counts,
            ]
        ).argmin(axis=0)
        ways[np.minimum(sizes, around.counts) == 0] = -1
        found: list[Found] = []
        for way, of in enumerate((self._by_word, self._by_context, self._by_search, self._by_hash)):
            which = np.flatnonzero(ways == way)
            lengths = (around.counts if way in (1, 3) else sizes)[which]
            for part in _parts(lengths):
                these = which[part]
                owners, entries = _entries(these, lengths[part], (firsts, around.starts)[way % 2])
                found.append(of(owners, entries, rows, around))
        return _gathered(found, around, len(rows))

    def _slots(self, rows: Ids, sizes: Ids) -> Ids:
        """The rows' tables of places, made where they are missing and there is room."""
        if self._places is None:
            return np.full(len(rows), -1)
        slots = self._places.slots(rows)
        if not self._places.full and (missing := np.flatnonzero((slots < 0) & (sizes > 0))).size:
            for row in set(rows[missing].tolist()):
                self._places.add(row, self.table.columns[slice(*self.table.starts[row : row + 2])])
            slots = self._places.slots(rows)
        return np.where(sizes > 0, slots, -1)

    def _by_word(self, owners: Ids, entries: Ids, _: Ids, around: Near) -> Found:
        """The context's words, looked up in the table of the original's near words."""
        places = around.tables.places(around.slots[owners], self.table.columns.take(entries))
        hits = np.flatnonzero(places)
        owners = owners[hits]
        numbers = around.starts[owners] + places[hits] - 1
        return owners, numbers, self.table.values.take(entries[hits]).astype(np.float64)

    def _by_context(self, owners: Ids, numbers: Ids, rows: Ids, around: Near) -> Found:
        """The near words, looked up in the table of the context's words."""
        assert self._places is not None
        slots = self._places.slots(rows)
        places = self._places.places(slots[owners], around.words.take(numbers))
        hits = np.flatnonzero(places)
        owners = owners[hits]
        entries = self.table.starts.take(rows[owners]) + places[hits].astype(np.int64) - 1
        return owners, numbers[hits], self.table.values.take(entries).astype(np.float64)

    def _by_search(self, owners: Ids, entries: Ids, _: Ids, around: Near) -> Found:
        """The context's words, searched for among the near words by halves."""
        wanted = self.table.columns.take(entries)
        low = around.starts[owners]
        ends = low + around.counts[owners]
        high = ends
        for _half in range(int(around.counts[owners].max(initial=0)).bit_length()):
            middle = (low + high) >> 1
            less = around.words.take(middle, mode="clip") < wanted
            less &= low < high
            low, high = np.where(less, middle + 1, low), np.where(less, high, middle)
        hits = np.flatnonzero((low < ends) & (around.words.take(low, mode="clip") == wanted))
        return owners[hits], low[hits], self.table.values.take(entries[hits]).astype(np.float64)

    def _by_hash(self, owners: Ids, numbers: Ids, rows: Ids, around: Near) -> Found:
        """The near words, looked up in the whole level."""
        values = self.table.values_at(rows[owners], around.words.take(numbers).astype(np.int64))
        hits = np.flatnonzero(values)
        return owners[hits], numbers[hits], values[hits]

    def _ascending(self, row: int) -> tuple[npt.NDArray[np.integer], Floats]:
        """A row's words but the unknown one, from the least probable, and the sums of shares."""
        start, stop = self.table.starts[row : row + 2].tolist()
        if stop > start and self.table.columns[stop - 1] == self._words:
            stop -= 1
        return ascending(
            self.table.columns[start:stop], self.table.values[start:stop].astype(np.float64)
        )


def _parts(lengths: Ids) -> Iterator[slice]:
    """Rows in parts of some _AT_ONCE entries, or of one row."""
    ends = lengths.cumsum()
    start = 0
    while start < len(lengths):
        before = int(ends[start - 1]) if start else 0
        stop = max(start + 1, int(ends.searchsorted(before + _AT_ONCE, side="right")))
        yield slice(start, stop)
        start = stop


def _entries(which: Ids, lengths: Ids, starts: Ids) -> tuple[Ids, Ids]:
    """Of each of some rows its entries, one after the other: whose they are, and their numbers."""
    return np.repeat(which, lengths), ragged(starts[which], lengths)


def _gathered(found: list[Found], around: Near, rows: int) -> Stored:
    if not found:
        return Stored(
            np.zeros(rows + 1, np.int64), np.zeros(0, np.int64), np.zeros(0), np.zeros(rows)
        )
    owners, places, values = map(np.concatenate, zip(*found, strict=True))
    if (owners[1:] < owners[:-1]).any():  # originals went several ways
        order = owners.argsort(kind="stable")
        owners, places, values = owners[order], places[order], values[order]
    shares = values * around.excess.take(places)
    sums = np.bincount(owners, shares, rows).astype(np.float64)  # integers where there is none
    return Stored(owners.searchsorted(np.arange(rows + 1)), places, shares, sums)
