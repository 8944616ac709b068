"""A large sparse table: most places are empty, and whole blocks of places are looked up at once.

Entries are stored row after row, columns ascending. Two more arrays find an entry by its row and
column without a search. ``filter`` is a Bloom filter with one bit per entry, about one bit in
sixteen set: small enough for a cache, it settles nearly all empty places. ``slots`` is a hash table
with open addressing, at most half full, for what passes the filter. It holds an entry's place in
its row, so that two bytes do where rows have fewer than 65,535 columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bits = npt.NDArray[np.uint64]

_AT_ONCE = 1 << 17
"""Places looked up together: enough for NumPy's calls to cost little, and not much memory."""

_ROW_KEY, _COLUMN_KEY = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD1B54A32D192ED03)


def _mixed(numbers: npt.NDArray[np.int64], key: np.uint64) -> Bits:
    """SplitMix64's finalizer (Steele, Lea, Flood 2014), a fixed bijection of 64-bit numbers."""
    bits = numbers.astype(np.uint64)
    bits += key
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        bits ^= bits >> np.uint64(shift)
        bits *= np.uint64(factor)
    bits ^= bits >> np.uint64(31)
    return bits


def _padded(array: Ids, dimensions: int) -> Ids:
    return array.reshape((1,) * (dimensions - array.ndim) + array.shape)


def _numbers_in(array: Ids, places: Ids, shape: tuple[int, ...]) -> Ids:
    """Which of an array's elements, int64 [m], are at places of the shape it is broadcast to.

    Both are numbers into what is flattened; the array has as many dimensions as the shape.
    """
    numbers: Ids | int = 0
    behind, step = 1, 1  # elements of the shape, and of the array, for each one of an axis
    axes = list(zip(array.shape, shape, strict=True))
    while axes:
        # Axes next to each other that are both whole, or both of one element, are taken as one.
        whole, span = axes[-1][0] == axes[-1][1], 1
        while axes and (axes[-1][1] == 1 or (axes[-1][0] == axes[-1][1]) == whole):
            span *= axes.pop()[1]
        if whole:
            at = places // behind if behind > 1 else places
            numbers = numbers + (at - at // span * span if axes else at) * step
            step *= span
        behind *= span
    return np.broadcast_to(np.asarray(numbers), places.shape)


def _power_of_two(least: int) -> int:
    return max(3, int(least - 1).bit_length())


def smallest_unsigned(largest: int) -> type[np.unsignedinteger]:
    """The smallest type that holds a number."""
    return next(kind for kind in (np.uint16, np.uint32, np.uint64) if largest <= np.iinfo(kind).max)


@dataclass(frozen=True, eq=False)
class SparseRows:
    """A sparse table of numbers; ``sparse_rows`` makes one.

    Attributes:
      starts: int32 or int64 [R + 1]: row r's entries are those from starts[r] to starts[r + 1].
      columns: unsigned [S], ascending within a row.
      values: float32 or float64 [S].
      filter: uint8, as many as a power of two.
      slots: unsigned, as many as a power of two: places in a row, or the largest number for none.
    """

    starts: npt.NDArray[np.signedinteger]
    columns: npt.NDArray[np.unsignedinteger]
    values: npt.NDArray[np.floating]
    filter: npt.NDArray[np.uint8]
    slots: npt.NDArray[np.unsignedinteger]

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def rows(self) -> int:
        """R."""
        return len(self.starts) - 1

    @cached_property
    def _empty(self) -> int:
        return int(np.iinfo(self.slots.dtype).max)

    def row(self, number: int) -> tuple[Ids, Floats]:
        """A row's columns, int64 [S_r], and values, float64 [S_r]."""
        entries = slice(int(self.starts[number]), int(self.starts[number + 1]))
        return self.columns[entries].astype(np.int64), self.values[entries].astype(np.float64)

    def values_at(self, rows: Ids, columns: Ids) -> Floats:
        """The values, float64, at places, int64 of shapes that broadcast; 0 for no entry."""
        values = np.zeros(np.broadcast_shapes(rows.shape, columns.shape))
        flat = values.reshape(-1)
        for places, entries in self._stored(rows, columns):
            flat[places] = self.values[entries]
        return values

    def find(self, rows: Ids, columns: Ids) -> Ids:
        """The numbers of the entries at places, as ``values_at``; -1 where there is none."""
        slots = np.full(np.broadcast_shapes(rows.shape, columns.shape), -1, np.int64)
        flat = slots.reshape(-1)
        for places, entries in self._stored(rows, columns):
            flat[places] = entries
        return slots

    def _stored(self, rows: Ids, columns: Ids) -> Iterator[tuple[Ids, Ids]]:
        """Places that have an entry, as numbers into the flattened shape, and the entries."""
        shape = np.broadcast_shapes(rows.shape, columns.shape)
        if not shape or 0 in shape or not len(self):
            if not shape and len(self):
                yield from self._stored(rows.reshape(1), columns.reshape(1))
            return
        rows, columns = _padded(rows, len(shape)), _padded(columns, len(shape))
        row_bits, column_bits = _mixed(rows, _ROW_KEY), _mixed(columns, _COLUMN_KEY)
        firsts, ends = self.starts.take(rows), self.starts.take(rows + 1)
        stored = columns.astype(self.columns.dtype)
        a_step = int(np.prod(shape[1:], dtype=np.int64))
        steps = max(1, _AT_ONCE // a_step)
        for start in range(0, shape[0], steps):
            block = slice(start, start + steps)
            row_part, column_part = (
                slice(None) if len(array) == 1 else block for array in (rows, columns)
            )
            sums = row_bits[row_part] + column_bits[column_part]
            places = self._passing(sums)
            if not len(places):
                continue
            row = _numbers_in(rows[row_part], places, sums.shape)
            column = _numbers_in(columns[column_part], places, sums.shape)
            exactly = self._exactly(
                sums.reshape(-1).take(places),
                firsts[row_part].reshape(-1).take(row),
                ends[row_part].reshape(-1).take(row),
                stored[column_part].reshape(-1).take(column),
            )
            for which, entries in exactly:
                yield places[which] + start * a_step, entries

    def _passing(self, sums: Bits) -> Ids:
        """Numbers, into the flattened sums, of those whose bit of the filter is set."""
        shift = np.uint64(64 - _power_of_two(len(self.filter)))
        bits = self.filter.take((sums >> shift).view(np.int64), mode="wrap")
        bits >>= (sums & np.uint64(7)).astype(np.uint8)
        bits &= 1
        return np.flatnonzero(bits.view(np.bool_))  # twice as fast as of numbers

    def _exactly(
        self,
        sums: Bits,
        firsts: npt.NDArray[np.signedinteger],
        ends: npt.NDArray[np.signedinteger],
        columns: npt.NDArray[np.unsignedinteger],
    ) -> Iterator[tuple[Ids, npt.NDArray[np.signedinteger]]]:
        """Which of some places have an entry, int64 [m], and the entries.

        ``sums`` are of the mixed row and column; ``firsts`` and ``ends`` the first entry of each
        one's row and behind the last.
        """
        which: Ids | None = None
        slots = (sums >> np.uint64(3)).view(np.int64) & (len(self.slots) - 1)
        while len(slots):
            places = self.slots.take(slots)
            entries = firsts + places
            # An empty slot's place is beyond the end of every row.
            same = self.columns.take(entries, mode="clip") == columns
            same &= entries < ends
            here = np.flatnonzero(same)
            yield here if which is None else which[here], entries[here]
            on = np.flatnonzero((places != self._empty) & ~same)
            which = on if which is None else which[on]
            columns, firsts, ends = columns[on], firsts[on], ends[on]
            slots = (slots[on] + 1) & (len(self.slots) - 1)


def sparse_rows(
    starts: npt.NDArray[np.integer],
    columns: npt.NDArray[np.integer],
    values: npt.NDArray[np.floating],
    width: int,
) -> SparseRows:
    """Makes the table of entries, columns from 0 to width - 1, that are sorted by row and column.

    ``starts`` are integers [R + 1], of the rows.
    """
    entries, kind = len(columns), smallest_unsigned(width + 1)
    sums = np.repeat(_mixed(np.arange(len(starts) - 1), _ROW_KEY), np.diff(starts))
    sums += _mixed(columns.astype(np.int64), _COLUMN_KEY)
    bloom = np.zeros(1 << _power_of_two(2 * entries), np.uint8)
    shift = np.uint64(64 - _power_of_two(len(bloom)))
    np.bitwise_or.at(
        bloom,
        (sums >> shift).view(np.int64),
        np.left_shift(1, (sums & np.uint64(7)).astype(np.uint8), dtype=np.uint8),
    )
    owners = _placed(sums)
    slots = np.full(len(owners), np.iinfo(kind).max, kind)
    owned = np.flatnonzero(owners >= 0)
    whose = owners[owned]
    rows = np.searchsorted(starts, whose, side="right") - 1
    slots[owned] = whose - np.asarray(starts)[rows]
    return SparseRows(
        starts.astype(np.int32 if entries <= np.iinfo(np.int32).max else np.int64),
        columns.astype(smallest_unsigned(width - 1)),
        values,
        bloom,
        slots,
    )


def _placed(sums: Bits) -> npt.NDArray[np.signedinteger]:
    """Puts entries into slots by linear probing: the entry of each slot, -1 where there is none."""
    kind = np.int32 if len(sums) <= np.iinfo(np.int32).max else np.int64
    owners = np.full(1 << _power_of_two(2 * len(sums)), -1, kind)
    waiting = np.arange(len(sums), dtype=kind)
    slots = (sums >> np.uint64(3)).view(np.int64) & (len(owners) - 1)
    while len(waiting):
        free = owners[slots] < 0
        owners[slots[free]] = waiting[free]  # of several that want a slot the last one has it
        on = np.flatnonzero(owners[slots] != waiting)
        waiting, slots = waiting[on], (slots[on] + 1) & (len(owners) - 1)
    return owners
