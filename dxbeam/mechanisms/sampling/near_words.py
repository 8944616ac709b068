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

from dxbeam.mechanisms.sampling.place_table import PlaceTables
from dxbeam.space.search.neighbors import Floats, Ids, NeighborSearch

_FEW = 512
"""Words computed together that have their near words in the neighbour table."""

Array = TypeVar("Array", bound=npt.NDArray[np.generic])


class Near(NamedTuple):
    """The near words of B words, within arrays that hold those of many.

    Attributes:
      starts: int64 [B], the number of each word's first near word.
      counts: int64 [B], how many near words each has.
      sums: float64 [B], of the public shares times the excess.
      far: float64 [B], the weight of a far word.
      slots: int64 [B], their tables of places; -1 for none.
      words: int32 [L], ids, ascending for each word.
      excess: float64 [L], by how much each weighs more than a far word.
      ranked: int32 [L], each word's near words again, from the smallest public share times excess
        to the largest.
      ranked_sums: float64 [L], the sums of these products so far.
      tables: the tables of places.
    """

    starts: Ids
    counts: Ids
    sums: Floats
    far: Floats
    slots: Ids
    words: npt.NDArray[np.int32]
    excess: Floats
    ranked: npt.NDArray[np.int32]
    ranked_sums: Floats
    tables: PlaceTables

    def at(self, rows: Ids) -> Near:
        """The near words of some of the words: int64 [R], which."""
        return self._replace(
            starts=self.starts[rows],
            counts=self.counts[rows],
            sums=self.sums[rows],
            far=self.far[rows],
            slots=self.slots[rows],
        )

    def first(self, count: int) -> Near:
        """The near words of the first words, which come before those of the others."""
        end = int(self.starts[count - 1] + self.counts[count - 1])
        return self.at(np.arange(count))._replace(
            words=self.words[:end],
            excess=self.excess[:end],
            ranked=self.ranked[:end],
            ranked_sums=self.ranked_sums[:end],
        )

    def draw(self, row: int, place: float) -> int:
        """A near word of a row in proportion to its public share times excess; 0 < place <= 1."""
        part = slice(self.starts[row], self.starts[row] + self.counts[row])
        return drawn(self.ranked[part], self.ranked_sums[part], place)


class NearWords:
    """Near words, computed when a word first occurs; threads may share them.

    Args:
      rate: in 1 / units of the embedding.
      radius: gamma, in units of the embedding.
      shares: float64 [N], public shares of words.
      search: the vocabulary.
      most_kept: near words that are kept at most, 24 bytes each; those of other words are computed
        each time.
      together: near words computed together, at most, where all words may be near to each; those
        of one word are always computed together.
    """

    def __init__(
        self,
        rate: float,
        radius: float,
        shares: Floats,
        search: NeighborSearch,
        most_kept: int = 10 << 20,
        together: int = 1 << 22,
    ):
        self._rate, self._radius, self._search = rate, radius, search
        self._shares, self._most_kept = shares, most_kept
        self._at_once = max(1, together // len(search.vocabulary))
        entries = len(search.vocabulary) + 1  # the last is that of UNKNOWN, -1
        self._starts = np.full(entries, -1)
        self._counts = np.zeros(entries, np.int64)
        self._sums, self._far = np.empty(entries), np.empty(entries)
        self._tables = PlaceTables(entries, entries)
        self._words, self._ranked = np.empty(1024, np.int32), np.empty(1024, np.int32)
        self._excess, self._ranked_sums = np.empty(1024), np.empty(1024)
        self._used, self._full = 0, False
        self._lock = threading.Lock()

    @property
    def kept(self) -> int:
        """How many near words are kept."""
        return self._used

    def at_once(self, ids: Ids, most: int) -> int:
        """How many of some words ``of`` takes at once, in bounded memory; ``most`` at most."""
        return most if (self._starts[ids] >= 0).all() else min(most, self._at_once)

    def of(self, ids: Ids) -> Near:
        """The near words of words, int64 [B]; UNKNOWN stands for the unknown word's vector."""
        self.keep(ids)
        starts = self._starts[ids]
        if (starts < 0).any():
            return self._computed(ids)
        return Near(
            starts,
            self._counts[ids],
            self._sums[ids],
            self._far[ids],
            self._tables.slots(ids),
            self._words,
            self._excess,
            self._ranked,
            self._ranked_sums,
            self._tables,
        )

    def keep(self, ids: Ids) -> None:
        """Computes the near words of words, int64 [B], while there is room for them.

        Many at once take less time: each pass over the vocabulary's vectors serves several words.
        """
        if not self._full and (self._starts[ids] < 0).any():
            with self._lock:
                missing = np.unique(ids[self._starts[ids] < 0])
                few = self._search.within.in_table(missing, self._radius)
                for some, words in ((missing[few], _FEW), (missing[~few], self._at_once)):
                    for start in range(0, len(some), words):
                        if not self._full:
                            self._keep(some[start : start + words])

    def _computed(self, ids: Ids) -> Near:
        """The near words of words, whether they are kept or not."""
        distinct, numbers = np.unique(ids, return_inverse=True)
        lists, far = [], np.empty(len(distinct))
        for row, (words, apart) in enumerate(
            zip(*self._search.within.of(distinct, self._radius), strict=True)
        ):
            nearest = float(apart.min(initial=self._radius))
            excess = np.exp(-self._rate * (apart - nearest))
            excess *= -np.expm1(-self._rate * (self._radius - apart))
            lists.append((words, excess, *ascending(words, self._shares[words] * excess)))
            far[row] = np.exp(-self._rate * (self._radius - nearest))
        words, excess, ranked, sums = map(np.concatenate, zip(*lists, strict=True))
        counts = np.array([len(each[0]) for each in lists])
        totals = np.array([each[3][-1] if len(each[3]) else 0.0 for each in lists])
        return Near(
            (np.cumsum(counts) - counts)[numbers],
            counts[numbers],
            totals[numbers],
            far[numbers],
            np.full(len(ids), -1),
            words.astype(np.int32),
            excess,
            ranked.astype(np.int32),
            sums,
            self._tables,
        )

    def _keep(self, missing: Ids) -> None:
        """Keeps the near words of some words, ascending and distinct, as far as there is room."""
        new = self._computed(missing)
        ends = new.starts + new.counts
        fit = int(ends.searchsorted(self._most_kept - self._used, side="right"))
        self._full = fit < len(missing)
        if not fit:
            return
        missing, new = missing[:fit], new.first(fit)
        part = slice(self._used, self._used + len(new.words))
        most = self._most_kept
        self._words = _with_room(self._words, part.stop, most)
        self._ranked = _with_room(self._ranked, part.stop, most)
        self._excess = _with_room(self._excess, part.stop, most)
        self._ranked_sums = _with_room(self._ranked_sums, part.stop, most)
        self._words[part], self._ranked[part] = new.words, new.ranked
        self._excess[part], self._ranked_sums[part] = new.excess, new.ranked_sums
        self._counts[missing], self._sums[missing] = new.counts, new.sums
        self._far[missing] = new.far
        for word, start, count in zip(
            missing.tolist(), new.starts.tolist(), new.counts.tolist(), strict=True
        ):
            self._tables.add(word, new.words[start : start + count])
        self._used = part.stop
        self._starts[missing] = part.start + new.starts  # last: another thread may look


def ragged(starts: Ids, counts: Ids) -> Ids:
    """The numbers starts[i], starts[i] + 1, … of each part, one part after the other."""
    ends = np.cumsum(counts)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - ends + counts, counts)


def ascending(
    words: npt.NDArray[np.integer], shares: Floats
) -> tuple[npt.NDArray[np.integer], Floats]:
    """Words from the smallest share to the largest, and the sums of their shares."""
    order = shares.argsort(kind="stable")
    return words[order], shares[order].cumsum()


def drawn(words: npt.NDArray[np.integer], sums: Floats, place: float) -> int:
    """One of some words, by the sums of their shares and a uniform number in (0, 1]."""
    return int(words[min(int(sums.searchsorted(place * sums[-1])), len(words) - 1)])


def _with_room(array: Array, needed: int, most: int) -> Array:
    """The same array, or a longer copy where it holds fewer values than needed."""
    if needed <= len(array):
        return array
    longer = np.empty(max(needed, min(2 * len(array), most)), array.dtype)
    longer[: len(array)] = array
    return longer  # type: ignore[return-value]
