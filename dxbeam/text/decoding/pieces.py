"""Sentences in pieces that are read together.

Sentences longer than PIECE words are cut by their number into pieces, each of which is read with
OVERLAP words more on each side.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dxbeam.space.search.neighbors import Ids

STARTS, FOLLOWS, CUT = 0, 1, 2
"""What comes before a place: the start of a sentence, the place before, or a word that is not read
with it, so that its first word is judged by frequency."""

PIECE, OVERLAP = 64, 16
"""Longer sentences are read in pieces of this many words, with this many more on each side."""

_TRANSITIONS = 1 << 25  # kept at once, float64

Breaks = npt.NDArray[np.int8]


class Pieces(NamedTuple):
    """Parts of sentences that are read at once, int64 [P] each, the longest first.

    Attributes:
      sentence: the first place of the sentence.
      first: the first place that is read.
      start: the first whose posterior is kept.
      stop: behind the last one.
      end: behind the last place that is read.
    """

    sentence: Ids
    first: Ids
    start: Ids
    stop: Ids
    end: Ids

    def counts(self) -> Ids:
        """How many pieces have a place t, int64 [L]: they come first."""
        lengths = self.end - self.first
        return np.searchsorted(-lengths, -np.arange(lengths[0]), side="left")

    def begins(self, breaks: Breaks) -> Breaks:
        """What is before the first place of each: int8 [P], STARTS or CUT."""
        return np.where(self.first == self.sentence, breaks[self.first], CUT)

    def places(self, t: int, count: int) -> tuple[Ids, npt.NDArray[np.bool_]]:
        """Places t of the first pieces, int64 [count], and whether their posteriors are kept."""
        here = self.first[:count] + t
        return here, (here >= self.start[:count]) & (here < self.stop[:count])


def _pieces(breaks: Breaks) -> Pieces:
    """Sentences in parts of PIECE places, read with OVERLAP more on each side."""
    begins = np.flatnonzero(breaks != FOLLOWS)
    ends = np.append(begins[1:], len(breaks))
    counts = -((begins - ends) // PIECE)
    sentence, last = np.repeat(begins, counts), np.repeat(ends, counts)
    number = np.arange(len(sentence)) - np.repeat(np.cumsum(counts) - counts, counts)
    start = sentence + number * PIECE
    stop = np.minimum(start + PIECE, last)
    first, end = np.maximum(start - OVERLAP, sentence), np.minimum(stop + OVERLAP, last)
    order = np.argsort(first - end, kind="stable")  # so that those not at their end are a slice
    return Pieces(*(each[order] for each in (sentence, first, start, stop, end)))


def pieces_at_once(
    breaks: Breaks, transitions: int, *, at_once: int = _TRANSITIONS
) -> Iterator[Pieces]:
    """Pieces that are read at once, so that their transitions take no more than a quarter GiB.

    ``transitions`` are kept of each place; a single piece may take more.
    """
    if not len(breaks):
        return
    pieces = _pieces(breaks)
    taken = np.cumsum(pieces.end - pieces.first) * transitions
    start = 0
    while start < len(taken):
        before = taken[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(taken, before + at_once, side="right")))
        yield Pieces(*(each[start:stop] for each in pieces))
        start = stop
