"""The words within a radius of each word, and how much more each of them weighs than a far one.

With rate r and radius gamma a word y has the weight exp(-r min(d(x, y), gamma)). Written as

    exp(-r gamma)  for every word   +   exp(-r d) - exp(-r gamma)  for the words nearer than gamma,

it needs only the near words, some 90 of 33,849 in vectors of GloVe at gamma = 6. All weights of a
word are divided by exp(-r d0), d0 being the distance of its nearest word or gamma, so the largest
is 1 at any epsilon.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dxbeam.space.neighbors import Floats, Ids, NeighborSearch

_MOST_KEPT = 1 << 24
"""Near words that a process keeps, 12 bytes each; those of further words are computed each time."""

_SIZES = (32, 128, 512)
"""Words with as many near words are worked on together, so little is filled up."""


class Near(NamedTuple):
    """The near words of some words, filled up to one number.

    Attributes:
      rows: int64 [P], which of the words that were asked for.
      words: int64 [P, M], ids; 0 where a row is filled up.
      excess: float64 [P, M], by how much each weighs more than a far word; 0 where filled up.
      far: float64 [P], the weight of a far word.
    """

    rows: Ids
    words: Ids
    excess: Floats
    far: Floats


class NearWords:
    """Near words, computed when a word first occurs; threads may share them.

    Args:
      rate: in 1 / units of the embedding.
      radius: gamma, in units of the embedding.
      search: the vocabulary.
    """

    def __init__(self, rate: float, radius: float, search: NeighborSearch):
        self._rate, self._radius, self._search = rate, radius, search
        entries = len(search.vocabulary) + 1  # the last is that of UNKNOWN, -1
        self._starts = np.full(entries, -1)
        self._counts = np.zeros(entries, np.int64)
        self._far = np.empty(entries)
        self._words = np.empty(1024, np.int32)
        self._excess = np.empty(1024)
        self._used = 0
        self._lock = threading.Lock()

    def of(self, ids: Ids) -> Iterator[Near]:
        """The near words of each word: int64 [B], UNKNOWN standing for the unknown word's vector.

        Every row comes once, in one of the parts.
        """
        if (self._starts[ids] < 0).any():
            with self._lock:
                self._keep(ids)
        starts, counts = self._starts[ids], self._counts[ids]
        smaller = -1
        for size in (*_SIZES, len(self._search.vocabulary)):
            rows = np.flatnonzero((starts >= 0) & (counts > smaller) & (counts <= size))
            smaller = size
            if len(rows):
                yield self._part(rows, starts[rows], counts[rows], self._far[ids[rows]])
        for row in np.flatnonzero(starts < 0):
            [words], [excess], [far] = self._computed(ids[row : row + 1])
            yield Near(np.array([row]), words[None], excess[None], np.array([far]))

    def _part(self, rows: Ids, starts: Ids, counts: Ids, far: Floats) -> Near:
        places = np.arange(counts.max(initial=0))
        outside = places >= counts[:, None]
        places = starts[:, None] + places
        places[outside] = 0
        words, excess = self._words[places].astype(np.int64), self._excess[places]
        words[outside], excess[outside] = 0, 0.0
        return Near(rows, words, excess, far)

    def _computed(self, ids: Ids) -> tuple[list[Ids], list[Floats], list[float]]:
        """Near words, their excess, and the weight of a far word, for each word."""
        words, apart = self._search.within(ids, self._radius)
        excess, far = [], []
        for distances in apart:
            nearest = float(distances.min(initial=self._radius))
            weight = np.exp(-self._rate * (distances - nearest))
            excess.append(weight * -np.expm1(-self._rate * (self._radius - distances)))
            far.append(float(np.exp(-self._rate * (self._radius - nearest))))
        return words, excess, far

    def _keep(self, ids: Ids) -> None:
        missing = np.unique(ids[self._starts[ids] < 0])
        if self._used >= _MOST_KEPT:
            return
        words, excess, far = self._computed(missing)
        counts = np.array([len(each) for each in words])
        ends = self._used + np.cumsum(counts)
        self._make_room(int(ends[-1]))
        part = slice(self._used, int(ends[-1]))
        self._words[part], self._excess[part] = np.concatenate(words), np.concatenate(excess)
        self._counts[missing], self._far[missing] = counts, far
        self._used = int(ends[-1])
        self._starts[missing] = ends - counts  # last: another thread may look

    def _make_room(self, needed: int) -> None:
        if needed > len(self._words):
            room = max(needed, 2 * len(self._words))
            self._words, self._excess = _grown(self._words, room), _grown(self._excess, room)


def _grown(array: npt.NDArray[np.generic], room: int) -> npt.NDArray[np.generic]:
    larger = np.empty(room, array.dtype)
    larger[: len(array)] = array
    return larger
