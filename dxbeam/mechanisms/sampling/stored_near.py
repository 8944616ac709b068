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
from dxbeam.mechanisms.sampling.kept_lists import KeptList, KeptLists
from dxbeam.mechanisms.sampling.near_words import Near, ascending, drawn, ragged
from dxbeam.mechanisms.sampling.place_table import PlaceTables
from dxbeam.space.search.neighbors import Floats, Ids

_AT_ONCE = 1 << 16
"""Entries looked at together; their arrays stay in the cache."""

_BY_SEARCH, _BY_HASH = 16, 8
"""How many times as long as a look-up in a table of places the other ways take."""

_NEVER = np.iinfo(np.int64).max
_FEW = 64
"""Words of lists that are sorted together."""

_LONG = 32
"""Lists are kept where finding them takes looking at more entries."""

_ROWS_KEPT = 4096
"""Contexts whose words are kept in order of what the model adds."""

Found = tuple[Ids, Ids, Floats]
"""Which original, its near word's number, and what the model adds: [H] each."""


class Stored(NamedTuple):
    """Near words that a level of the model adds something for.

    Attributes:
      bounds: int64 [B + 1], where each original's begin, and the end.
      words: integers [H], ascending for each original.
      shares: float64 [H], what the model adds, times the excess.
      sums: float64 [B], of the shares of each original word.
      kept: by row the words and shares of originals that have none here, as they are kept.
    """

    bounds: Ids
    words: npt.NDArray[np.integer]
    shares: Floats
    sums: Floats
    kept: dict[int, KeptList]

    def draw(self, rows: Ids, numbers: Floats) -> Ids:
        """A word, int64 [R], of each of some originals that have one, in proportion to its share.

        ``rows``, int64 [R], says which originals; ``numbers``, float64 [R], are uniform in (0, 1].
        """
        chosen = np.empty(len(rows), np.int64)
        firsts = self.bounds[rows]
        sizes = self.bounds[rows + 1] - firsts
        few = np.flatnonzero((sizes > 0) & (sizes <= _FEW))
        chosen[few] = self._drawn_of_few(firsts[few], sizes[few], numbers[few])
        for row in np.flatnonzero((sizes == 0) | (sizes > _FEW)).tolist():
            number, part = float(numbers[row]), slice(firsts[row], firsts[row] + sizes[row])
            if sizes[row]:
                chosen[row] = drawn(*ascending(self.words[part], self.shares[part]), number)
            else:
                chosen[row] = self.kept[int(rows[row])].draw(number)
        return chosen

    def _drawn_of_few(self, firsts: Ids, sizes: Ids, numbers: Floats) -> Ids:
        """As ``drawn`` of ``ascending``, of short lists together: zeros are before the shares."""
        if not len(sizes):
            return sizes
        columns = np.arange(sizes.max()) - (sizes.max() - sizes)[:, None]
        places = firsts[:, None] + np.maximum(columns, 0)
        shares = np.where(columns < 0, 0.0, self.shares[places])
        order = shares.argsort(axis=1, kind="stable")
        sums = np.take_along_axis(shares, order, axis=1).cumsum(axis=1)
        targets = numbers * sums[:, -1]
        column = np.minimum((sums < targets[:, None]).sum(axis=1), sizes.max() - 1)
        column = np.maximum(column, sizes.max() - sizes)
        every = np.arange(len(sizes))
        result: Ids = self.words[places[every, order[every, column]]].astype(np.int64)
        return result


class Level:
    """What a level of a model adds for words after contexts; threads may share it.

    Args:
      table: rows of contexts, columns of words.
      words: N; the number of the unknown word, which comes last in a row.
      again: whether the same words are often read after the same contexts: then long rows get
        tables of places, and lists are kept.
    """

    def __init__(self, table: SparseRows, words: int, *, again: bool):
        arrays = (table.starts, table.columns, table.values, table.filter, table.slots)
        self.table = SparseRows(*map(np.asarray, arrays))  # type: ignore[arg-type]  # no memmaps
        self._words = words
        self._places = PlaceTables(self.table.rows, words + 1) if again else None
        self._kept = KeptLists() if again else None
        self.ascending = lru_cache(_ROWS_KEPT)(self._ascending)

    def sizes(self, rows: Ids) -> tuple[Ids, Ids]:
        """Each row's first entry and number of entries; 0 for row -1: int64 [B] each."""
        firsts = self.table.starts.take(rows, mode="clip").astype(np.int64)
        return firsts, np.where(rows < 0, 0, self.table.starts.take(rows + 1) - firsts)

    def of_unknown(self, rows: Ids) -> Floats:
        """What is added for the unknown word: int64 [B] -> float64 [B]."""
        if not len(self.table):
            return np.zeros(len(rows))
        firsts, sizes = self.sizes(rows)
        last = np.maximum(firsts + sizes - 1, 0)
        stored = (sizes > 0) & (self.table.columns.take(last) == self._words)
        return np.where(stored, self.table.values.take(last).astype(np.float64), 0.0)

    def near(self, rows: Ids, ids: Ids, around: Near) -> Stored:
        """The near words that have an entry in a row.

        Args:
          rows: int64 [B], of contexts; -1 for one that is not stored.
          ids: int64 [B], words.
          around: their near words.
        """
        if not len(self.table):
            return _gathered([], around, len(rows))
        if self._kept is None:
            return self._computed(rows, around)[0]
        lists = self._kept.of(rows.tolist(), ids.tolist())
        kept = {row: each for row, each in enumerate(lists) if each is not None}
        missing = np.array([row for row, each in enumerate(lists) if each is None], np.int64)
        computed, looked_at = self._computed(rows[missing], around.at(missing))
        if not self._kept.full:
            for number in np.flatnonzero(looked_at > _LONG).tolist():
                part, row = slice(*computed.bounds[number : number + 2]), missing[number]
                words, shares = computed.words[part].astype(np.int32), computed.shares[part].copy()
                new = KeptList(words, shares, float(computed.sums[number]))
                self._kept.keep(int(rows[row]), int(ids[row]), new, len(words))
        if not kept:
            return computed
        sums, sizes = np.zeros(len(rows)), np.zeros(len(rows), np.int64)
        sums[missing], sizes[missing] = computed.sums, np.diff(computed.bounds)
        sums[list(kept)] = [each.total for each in kept.values()]
        bounds = np.concatenate([[0], sizes.cumsum()])
        return Stored(bounds, computed.words, computed.shares, sums, kept)

    def _computed(self, rows: Ids, around: Near) -> tuple[Stored, Ids]:
        """As ``near``, nothing being kept; and how many entries were looked at: int64 [B]."""
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
        looked_at = np.minimum(sizes, around.counts)
        ways[looked_at == 0] = -1
        parts: list[Found] = []
        for way, of in enumerate((self._by_word, self._by_context, self._by_search, self._by_hash)):
            which = np.flatnonzero(ways == way)
            lengths = (around.counts if way in (1, 3) else sizes)[which]
            for part in _parts(lengths):
                these = which[part]
                owners, entries = _entries(these, lengths[part], (firsts, around.starts)[way % 2])
                parts.append(of(owners, entries, rows, around))
        return _gathered(parts, around, len(rows)), looked_at

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


def _gathered(parts: list[Found], around: Near, rows: int) -> Stored:
    if not parts:
        none = np.zeros(0, np.int64)
        return Stored(np.zeros(rows + 1, np.int64), none, np.zeros(0), np.zeros(rows), {})
    owners, places, values = map(np.concatenate, zip(*parts, strict=True))
    if (owners[1:] < owners[:-1]).any():  # originals went several ways
        order = owners.argsort(kind="stable")
        owners, places, values = owners[order], places[order], values[order]
    shares = values * around.excess.take(places)
    sums = np.bincount(owners, shares, rows).astype(np.float64)  # integers where there is none
    bounds = owners.searchsorted(np.arange(rows + 1))
    return Stored(bounds, around.words.take(places), shares, sums, {})
