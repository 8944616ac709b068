"""The words within a radius of each word, and how much more each of them weighs than a far one.

With rate r and radius gamma a word y has the weight exp(-r min(d(x, y), gamma)). Written as

    exp(-r gamma)  for every word   +   exp(-r d) - exp(-r gamma)  for the words nearer than gamma,

it needs only the near words: of 33,849 in vectors of GloVe and at gamma = 6 some 70 for a word of
the vocabulary and 1,700 for a word of a text, as common words are near to many. All weights of a
word are divided by exp(-r d0), d0 being the distance of its nearest word or gamma, so the largest
is 1 at any epsilon.
"""

from __future__ import annotations

import threading
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from dxbeam.space.neighbors import Floats, Ids, NeighborSearch

_MOST_KEPT = 1 << 24
"""Near words that a process keeps, 16 bytes each; those of further words are computed each time."""

Array = TypeVar("Array", bound=npt.NDArray[np.generic])


class Near(NamedTuple):
    """The near words of some words, one after the other.

    Attributes:
      bounds: int64 [B + 1], where each word's near words begin, and the end.
      words: int32 [L], ids, ascending for each word.
      excess: float64 [L], by how much each weighs more than a far word.
      order: int32 [L], for each word the numbers of its near words, counted from its first, from
        the smallest public share times excess to the largest.
      sums: float64 [B], of the public shares times the excess.
      far: float64 [B], the weight of a far word.
    """

    bounds: Ids
    words: npt.NDArray[np.int32]
    excess: Floats
    order: npt.NDArray[np.int32]
    sums: Floats
    far: Floats

    @property
    def counts(self) -> Ids:
        """int64 [B], how many near words each word has."""
        return np.diff(self.bounds)


class NearWords:
    """Near words, computed when a word first occurs; threads may share them.

    Args:
      rate: in 1 / units of the embedding.
      radius: gamma, in units of the embedding.
      shares: float64 [N], public shares of words.
      search: the vocabulary.
    """

    def __init__(self, rate: float, radius: float, shares: Floats, search: NeighborSearch):
        self._rate, self._radius, self._search = rate, radius, search
        self.shares = shares
        entries = len(search.vocabulary) + 1  # the last is that of UNKNOWN, -1
        self._starts = np.full(entries, -1)
        self._counts = np.zeros(entries, np.int64)
        self._sums, self._far = np.empty(entries), np.empty(entries)
        self._words, self._order = np.empty(1024, np.int32), np.empty(1024, np.int32)
        self._excess = np.empty(1024)
        self._used = 0
        self._lock = threading.Lock()

    def of(self, ids: Ids) -> Near:
        """The near words of words, int64 [B]; UNKNOWN stands for the unknown word's vector."""
        if (self._starts[ids] < 0).any():
            with self._lock:
                self._keep(ids)
        starts = self._starts[ids]
        if (starts < 0).any():
            return self._with_others(ids)
        counts = self._counts[ids]
        places = ragged(starts, counts)
        return Near(
            np.concatenate([[0], np.cumsum(counts)]),
            self._words.take(places),
            self._excess.take(places),
            self._order.take(places),
            self._sums[ids],
            self._far[ids],
        )

    def _with_others(self, ids: Ids) -> Near:
        """As ``of``, for words of which some could not be kept."""
        others = np.unique(ids)
        each = dict(zip(others.tolist(), self._computed(others), strict=True))
        return _joined([each[word] for word in ids.tolist()])

    def _computed(self, ids: Ids) -> list[Near]:
        """The near words of each word."""
        computed = []
        for words, apart in zip(*self._search.within(ids, self._radius), strict=True):
            nearest = float(apart.min(initial=self._radius))
            excess = np.exp(-self._rate * (apart - nearest))
            excess *= -np.expm1(-self._rate * (self._radius - apart))
            shares = self.shares[words] * excess
            order = np.argsort(shares, kind="stable")
            far = np.exp(-self._rate * (self._radius - nearest))
            computed.append(
                Near(
                    np.array([0, len(words)]),
                    words.astype(np.int32),
                    excess,
                    order.astype(np.int32),
                    np.array([shares[order].cumsum()[-1] if len(words) else 0.0]),
                    np.array([far]),
                )
            )
        return computed

    def _keep(self, ids: Ids) -> None:
        if self._used >= _MOST_KEPT:
            return
        missing = np.unique(ids[self._starts[ids] < 0])
        new = _joined(self._computed(missing))
        part = slice(self._used, self._used + len(new.words))
        self._words = _with_room(self._words, part.stop)
        self._order = _with_room(self._order, part.stop)
        self._excess = _with_room(self._excess, part.stop)
        self._words[part], self._order[part], self._excess[part] = new.words, new.order, new.excess
        self._counts[missing], self._sums[missing], self._far[missing] = (
            new.counts,
            new.sums,
            new.far,
        )
        starts = self._used + new.bounds[:-1]
        self._used = part.stop
        self._starts[missing] = starts  # last: another thread may look


def ragged(starts: Ids, counts: Ids) -> Ids:
    """The numbers starts[i], starts[i] + 1, … of each part, one part after the other."""
    ends = np.cumsum(counts)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - ends + counts, counts)


def _joined(parts: list[Near]) -> Near:
    if not parts:
        none = np.zeros(0, np.int32)
        return Near(np.zeros(1, np.int64), none, np.zeros(0), none, np.zeros(0), np.zeros(0))
    counts = np.array([len(part.words) for part in parts])
    return Near(
        np.concatenate([[0], np.cumsum(counts)]),
        np.concatenate([part.words for part in parts]),
        np.concatenate([part.excess for part in parts]),
        np.concatenate([part.order for part in parts]),
        np.concatenate([part.sums for part in parts]),
        np.concatenate([part.far for part in parts]),
    )


def _with_room(array: Array, needed: int) -> Array:
    """The same array, or a longer copy where it holds fewer values than needed."""
    if needed <= len(array):
        return array
    longer = np.empty(max(needed, 2 * len(array)), array.dtype)
    longer[: len(array)] = array
    return longer  # type: ignore[return-value]
