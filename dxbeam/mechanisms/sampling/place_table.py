"""Where in a row of ascending numbers a number is: one look-up instead of a search.

A table takes 2 bytes for each number that there may be, so only long rows get one, as they occur,
and only this many as ``_BYTES`` holds. Whether a row has one changes the time and nothing else.
"""

from __future__ import annotations

import threading

import numpy as np
import numpy.typing as npt

from dxbeam.space.search.neighbors import Ids

_BYTES = 1 << 26
"""Of all tables: 990 rows of 33,849 words."""

_SHORT = 64
"""Rows that are shorter need no table."""


class PlaceTables:
    """Tables of some rows, -1 naming the last, of numbers below a width; threads may share them."""

    def __init__(self, rows: int, width: int):
        self._slots = np.full(rows, -1)
        self._tables = np.zeros((_BYTES // (2 * width), width), np.uint16)  # pages come with use
        self._used = 0
        self._lock = threading.Lock()

    def slots(self, rows: Ids) -> Ids:
        """The tables of rows, -1 where a row has none: int64 [B] -> int64 [B]."""
        return self._slots.take(rows, mode="wrap")

    @property
    def full(self) -> bool:
        """Whether no further row gets a table."""
        return self._used == len(self._tables)

    def add(self, row: int, numbers: npt.NDArray[np.integer]) -> None:
        """Makes the table of a row of ascending numbers, if it is long and there is room."""
        with self._lock:
            if not _SHORT <= len(numbers) < np.iinfo(np.uint16).max or self.full:
                return
            if self._slots[row] < 0:
                self._tables[self._used, numbers] = np.arange(1, len(numbers) + 1)
                self._slots[row] = self._used  # last: another thread may look
                self._used += 1

    def places(self, slots: Ids, numbers: npt.NDArray[np.integer]) -> npt.NDArray[np.uint16]:
        """The places, from 1, of numbers in rows that have a table; 0 where it is not there."""
        return self._tables.reshape(-1).take(slots * self._tables.shape[1] + numbers)
