"""Which released words a word is read after, for mechanisms that read what they have released.

``places``, int64 [B, 2], names the two words before each of B words, the last one second. A number
of 0 or more is that of an earlier row, for the word released there; STARTS is the start of a
sentence, UNKNOWN a word that is not known, and ``known_word`` names a word of an earlier call.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dxbeam.space.search.neighbors import Ids
from dxbeam.space.vocabulary.words import UNKNOWN

STARTS = -2
"""The start of a sentence."""

_KNOWN = -3  # and below: a word


def places_after(breaks: Ids) -> Ids:
    """The places, int64 [B, 2], of words that are released one after the other.

    ``breaks``, int64 [B], has STARTS for the first word of a sentence, UNKNOWN for one before which
    the words are not read, and 0 for one that follows the row before it.
    """
    rows = np.arange(len(breaks))
    follows = breaks == 0
    second = np.where(follows, rows - 1, breaks)
    before = np.concatenate([[UNKNOWN], second[:-1]])
    first = np.where(follows, before, breaks)
    return np.column_stack([first, second])


def known_word(ids: Ids) -> Ids:
    """How ``places`` names words that were released earlier: int64 [B] -> int64 [B]."""
    return np.where(ids == UNKNOWN, UNKNOWN, _KNOWN - ids)


def in_steps(places: Ids) -> Iterator[Ids]:
    """Rows in an order in which each comes after the rows it is read after, int64 [R] together.

    Each number of a row of ``places`` is that of the row before, or the one before that. A row is
    at most as many steps from the last row that is read after none as it is rows.
    """
    every = np.arange(len(places))
    starts = np.where((places < 0).all(axis=1), every, -1)
    steps = every - np.maximum.accumulate(starts) if len(every) else every
    order = np.argsort(steps, kind="stable")
    yield from np.split(order, np.cumsum(np.bincount(steps))[:-1]) if len(every) else ()


def words_before(places: Ids, chosen: Ids, start: int) -> Ids:
    """The words that places name, so far released in ``chosen``: int64 [R] -> int64 [R]."""
    words = np.where(places == STARTS, start, UNKNOWN)
    words = np.where(places <= _KNOWN, _KNOWN - places, words)
    released = places >= 0
    words[released] = chosen[places[released]]
    return words
