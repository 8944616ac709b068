"""For words z, the words x of the largest offset(x) - rate min(d(x, z), cap): all are compared.

Distances are float32 products first (distance_rows.py). With L the longest vector and
E = (n + 16) 2^-24 (|z| + L)^2, a squared distance errs by at most E, so a distance by sqrt(E) at
most. Words that may be among the best by that are measured in float64, and ordered by (value, id):
so what is found does not depend on the processor, or on what else is asked for. offset_search.py
finds the same by bounds, and is slow where offsets differ by more than bounds tell apart.
"""

from __future__ import annotations

import numpy as np

from dxbeam.space.search.distance_rows import Singles, distance_rows
from dxbeam.space.search.neighbors import Floats, Ids, NeighborSearch
from dxbeam.space.search.offset_search import NOTHING

_GROUP = 8  # the largest of this many words stands for them
_ROUNDING = 2.0**-20  # of a value in float32


def best_by_scan(
    ids: Ids, offsets: Floats, rate: float, cap: float, count: int, search: NeighborSearch
) -> Ids:
    """The best words of each word, without itself: int64 [B, K], by (value, lowest id).

    ``offsets``, float64 [N], are -inf for words that are never wanted. NOTHING where there are no
    more.
    """
    vocabulary, most = search.vocabulary, min(count, len(offsets))
    margins = 2 * rate * _errors(ids, search)
    finite = offsets[np.isfinite(offsets)]
    margins += _ROUNDING * (np.abs(finite).max(initial=0.0) + 2 * rate * vocabulary.longest)
    candidates = np.full((len(ids), count), NOTHING)
    singles, limit = offsets.astype(np.float32), np.float32(min(cap, np.finfo(np.float32).max))
    for part, rows in distance_rows(ids, search):
        np.minimum(rows, limit, out=rows)
        rows *= np.float32(-rate)
        rows += singles
        rows[np.arange(len(rows)), ids[part]] = -np.inf
        reached = (_guesses(rows, most) - margins[part]).astype(np.float32)
        kept = (rows >= reached[:, None]) & (rows > -np.inf)
        numbers = kept.sum(axis=1)
        words = np.zeros((len(rows), max(1, int(numbers.max()))), np.int64)
        there = np.arange(words.shape[1]) < numbers[:, None]
        words[there] = np.nonzero(kept)[1]
        apart = search.distances(ids[part], words)
        values = np.where(there, offsets[words] - rate * np.minimum(apart, cap), -np.inf)
        order = np.lexsort((words, -values), axis=1)[:, :count]
        best = np.take_along_axis(np.where(there, words, NOTHING), order, 1)
        candidates[part, : best.shape[1]] = best
    return candidates


def _errors(ids: Ids, search: NeighborSearch) -> Floats:
    """By how much a float32 distance of each word may err: float64 [B]."""
    vocabulary = search.vocabulary
    lengths = np.sqrt(np.square(vocabulary.vectors_of(ids)).sum(axis=1))
    return np.asarray(
        np.sqrt((vocabulary.dimensions + 16) * 2.0**-24) * (lengths + vocabulary.longest)
    )


def _guesses(values: Singles, count: int) -> Singles:
    """A value that at least this many of each row reach: float32 [B, N] -> float32 [B]."""
    groups = values.shape[1] // _GROUP
    if groups > count:
        values = values[:, : groups * _GROUP].reshape(len(values), _GROUP, groups).max(axis=1)
    return np.asarray(np.partition(values, -count, axis=1)[:, -count])
