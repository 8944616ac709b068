"""N-grams that two sequences have in common, with the one read once for many others.

An n-gram is numbered by the (n - 1)-gram that it begins with and by its last element, so numbers
stay below the square of the sequence's length however long the n-grams and however many elements
there are. What the first sequence lacks has no number: it has nothing in common with anything.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.int64]

_ABSENT = -1


class _Level(NamedTuple):
    """The n-grams of one n: codes in increasing order, int64 [k], and how often each is there."""

    codes: Ids
    counts: Ids


class NGrams:
    """The n-grams of a sequence, n from 1 up.

    Args:
      sequence: the elements.
      longest: the greatest n.
    """

    def __init__(self, sequence: Sequence[Hashable], longest: int):
        self._numbers = {element: i for i, element in enumerate(dict.fromkeys(sequence))}
        self._levels = []
        ids = self._ids(sequence)
        places = np.zeros(len(ids) + 1, np.int64)
        for n in range(1, longest + 1):
            codes = self._codes(places, ids, n)
            distinct, places, counts = np.unique(codes, return_inverse=True, return_counts=True)
            self._levels.append(_Level(distinct, counts))

    def _ids(self, sequence: Sequence[Hashable]) -> Ids:
        number = self._numbers.get
        return np.array([number(element, _ABSENT) for element in sequence], np.int64)

    def _codes(self, places: Ids, ids: Ids, n: int) -> Ids:
        """A number for each n-gram, in order of place."""
        result: Ids = places[:-1] * (len(self._numbers) + 1) + ids[n - 1 :]
        return result

    def in_common(self, other: Sequence[Hashable]) -> list[int]:
        """For each n, how many n-grams of another sequence are, as often, n-grams of this one."""
        ids, counts = self._ids(other), []
        places = np.zeros(len(ids) + 1, np.int64)
        for n, level in enumerate(self._levels, 1):
            there = (places[:-1] != _ABSENT) & (ids[n - 1 :] != _ABSENT)
            codes = self._codes(places, ids, n)[there]
            places = np.full(len(there), _ABSENT)
            if len(level.codes) and len(codes):
                at = np.minimum(np.searchsorted(level.codes, codes), len(level.codes) - 1)
                at[level.codes[at] != codes] = _ABSENT
                places[there] = at
            often = np.bincount(places[places != _ABSENT], minlength=len(level.codes))
            counts.append(int(np.minimum(often, level.counts).sum()))
        return counts
