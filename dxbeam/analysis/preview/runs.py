"""Which word is released from which epsilon on, for a page.

A reading holds K draws of T words. For each draw and word there are runs: from a place on, up to
the next one, one word is released. A place is a position of epsilons.py, or the number of a value
in a grid.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from dxbeam.analysis.preview.packing import smallest
from dxbeam.space.search.neighbors import Ids


class Runs(NamedTuple):
    """The runs of all draws and words, one after the other.

    Attributes:
      draws: K.
      counts: int64 [K * T], runs of each word of each draw.
      places: int64 [R], increasing within a word.
      ids: int64 [R], what is released.
    """

    draws: int
    counts: Ids
    places: Ids
    ids: Ids


def joined(rows: Iterable[tuple[Ids, Ids]], draws: int) -> Runs:
    """Runs from (places, ids) of each word of each draw."""
    every = list(rows)
    counts = np.array([len(places) for places, _ in every])
    places, ids = (np.concatenate([row[side] for row in every]) for side in (0, 1))
    return Runs(draws, counts, places, ids)


def of_grid(released: Ids, draws: int) -> Runs:
    """Runs from a word for each value of a grid: int64 [K * T, E]."""
    starts = np.ones(released.shape, bool)
    starts[:, 1:] = released[:, 1:] != released[:, :-1]
    return Runs(draws, starts.sum(axis=1), np.nonzero(starts)[1], released[starts])


def at_places(runs: Runs, places: Ids) -> Ids:
    """What is released at some places, int64 [E]: int64 [K * T, E]."""
    # Places increase within a word, so with the word's number before them they all increase.
    stride = max(int(runs.places.max()), int(places.max())) + 1
    rows = np.arange(len(runs.counts))
    keys = np.repeat(rows, runs.counts) * stride + runs.places
    return runs.ids[np.searchsorted(keys, rows[:, None] * stride + places, side="right") - 1]


def arrays(runs: Runs, lexicon: Ids) -> dict[str, Any]:
    """For packing: words by their number in a sorted lexicon."""
    return {
        "draws": runs.draws,
        "counts": smallest(runs.counts),
        "places": smallest(runs.places),
        "words": smallest(np.searchsorted(lexicon, runs.ids)),
    }


def lexicon_of(every: Sequence[Runs], also: Ids) -> Ids:
    """All words that occur, sorted: int64 [L]."""
    return np.unique(np.concatenate([*(runs.ids for runs in every), also]))
