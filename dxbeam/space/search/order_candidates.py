"""Candidates -> the nearest of them, by (float64 distance, id).

Squared distances are computed in float32, as the sum of the squares of differences: n terms of one
sign, so it errs by at most some n u of itself in any order of summation, u = 2^-24. Neighbours in
that order whose distances differ by more than that are in true order. All others, a few of a row,
are compared by distances in float64.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dxbeam.space.search.backends.backend import Floats, Ids
from dxbeam.space.vocabulary.words import distances

_UNIT_ROUNDOFF = 2.0**-24
_UNDERFLOW = 2.0**-125  # of a term, even where the processor is set to make it 0
_PAIRS_AT_ONCE = 1 << 8  # float64 differences that stay in the cache
_NOTHING = np.uint64(2**64 - 1)

Squares = npt.NDArray[np.float32]


class Candidates(NamedTuple):
    """Row, word and float32 squared distance of words that may be among the nearest of a row."""

    row: Ids
    word: Ids
    squares: Squares


def measure_on_one_thread() -> None:
    """From here on this thread computes its squared distances only."""
    import faiss

    openmp: Any = faiss
    openmp.omp_set_num_threads(1)


@contextmanager
def measured_on_one_thread() -> Iterator[None]:
    """Inside, this thread computes its squared distances without the help of others.

    For few of them threads that wait for one another take longer than the work.
    """
    import faiss

    openmp: Any = faiss
    before = openmp.omp_get_max_threads()
    openmp.omp_set_num_threads(1)
    try:
        yield
    finally:
        openmp.omp_set_num_threads(before)


def squared_distances(
    queries: npt.NDArray[np.float32], row: Ids, vectors: npt.NDArray[np.float32], word: Ids
) -> Squares:
    """Squared distances, float32 [m], of pairs: rows of queries and words of vectors, int64 [m]."""
    import faiss  # a tenth of a second that those who search for no table do not need

    pairs: Any = faiss  # whose stubs lack these
    squares = np.empty(len(row), np.float32)
    arrays = (queries, np.ascontiguousarray(row), vectors, np.ascontiguousarray(word), squares)
    pairs.pairwise_indexed_L2sqr(queries.shape[1], len(row), *map(pairs.swig_ptr, arrays))
    return squares


def _relative_error(n: int) -> float:
    return (n + 8) * _UNIT_ROUNDOFF * (1 + 1e-3)


def at_most(squares: Floats, n: int) -> Floats:
    """The most that squared distances of n terms can be, where float32 has these."""
    return squares * (1 + _relative_error(n)) + n * _UNDERFLOW


def nearest_of(
    candidates: Candidates,
    vectors: npt.NDArray[np.float32],
    ids: Ids,
    depth: int,
    radius_rank: int,
) -> tuple[npt.NDArray[np.int32], Floats]:
    """The first ``depth`` candidates around each word, and the distance to one further on.

    int32 [B, depth], nearest first, ties by id, any words where there are fewer; and float64 [B],
    the distance to the neighbour at ``radius_rank``, 0 for rank 0.
    """
    count = max(depth, radius_rank)
    word, squares, there = _by_row(candidates, len(ids), count)
    undecided = _undecided(squares, there, vectors.shape[1], count)
    row, column = np.nonzero(undecided.member)
    settled = word[row, column]
    exact = _distances(vectors, settled, ids[row])
    order = np.lexsort((settled, exact, undecided.group[row, column]))
    word[row, column] = settled[order]  # groups stay where they are
    radii = np.zeros(len(ids))
    if radius_rank:
        radii = _distances(vectors, word[:, radius_rank - 1], ids)
    return word[:, :depth].astype(np.int32), radii


def _by_row(candidates: Candidates, rows: int, least: int) -> tuple[Ids, Squares, Ids]:
    """Words by (float32 distance, id) and squared distances, [rows, width], and how many there are.

    Both are sorted as one number, which is several times as fast as sorting places.
    """
    row, word, squares = candidates
    numbers = np.bincount(row, minlength=rows)
    width = max(least, int(numbers.max(initial=0)))
    order = np.argsort(row.astype(np.uint16), kind="stable")
    keys = np.full((rows, width), _NOTHING)
    # Floats that are not negative are ordered as their bits are.
    keys[np.arange(width) < numbers[:, None]] = (
        squares.view(np.uint32).astype(np.uint64) << np.uint64(32) | word.astype(np.uint64)
    )[order]
    keys.sort(axis=1)
    words = (keys & np.uint64(2**32 - 1)).astype(np.int64)
    words[keys == _NOTHING] = 0
    return words, (keys >> np.uint64(32)).astype(np.uint32).view(np.float32), numbers


class _Undecided(NamedTuple):
    """Which words are to be compared in float64, and groups in which they may change places."""

    member: npt.NDArray[np.bool_]
    group: Ids


def _undecided(squares: Squares, numbers: Ids, n: int, count: int) -> _Undecided:
    wide = squares.astype(np.float64)
    margins = 2 * (_relative_error(n) * wide[:, 1:] + n * _UNDERFLOW)
    with_next = np.zeros(squares.shape, bool)
    # Negated so that a NaN counts as undecided.
    with_next[:, :-1] = ~(wide[:, 1:] - wide[:, :-1] > margins)
    with_next &= np.arange(1, squares.shape[1] + 1) < numbers[:, None]
    # Beyond the last that is asked for, only what may change places with it is of interest.
    with_next[:, count - 1 :] = np.logical_and.accumulate(with_next[:, count - 1 :], axis=1)
    with_previous = np.zeros(squares.shape, bool)
    with_previous[:, 1:] = with_next[:, :-1]
    group = np.cumsum(~with_previous).reshape(squares.shape)
    return _Undecided(with_next | with_previous, group)


def _distances(vectors: npt.NDArray[np.float32], words: Ids, others: Ids) -> Floats:
    """Distances of pairs in float64, as everywhere: int64 [m], [m] -> float64 [m]."""
    result = np.empty(len(words))
    for start in range(0, len(words), _PAIRS_AT_ONCE):
        part = slice(start, start + _PAIRS_AT_ONCE)
        result[part] = distances(vectors[words[part]], vectors[others[part]].astype(np.float64))
    return result
