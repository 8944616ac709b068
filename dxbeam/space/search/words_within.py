"""All words within a radius of some words.

A row of the neighbour table is ascending in distance, so where one of its words is beyond the
radius, the words within are among those before it. Rare words have few neighbours and are answered
so. The others are compared with all words, by float32 scores and, where these do not decide, in
float64. Either way the same words and the same distances come out.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dxbeam.space.search.backends.backend import Floats, Ids
from dxbeam.space.search.backends.float32_search import Float32Search
from dxbeam.space.vocabulary.words import UNKNOWN, Vocabulary, distances, distances_to_words

_DEPTHS = (8, 32, 128, 512)
"""How much of a row of the table is looked at, if it suffices; then all of it."""

_AT_ONCE = 1 << 9
"""Distances computed together; the vectors stay in the cache."""


class WordsWithin:
    """Finds all words within a radius of words; threads may share it."""

    def __init__(self, vocabulary: Vocabulary, float32: Float32Search):
        self._vocabulary, self._float32 = vocabulary, float32
        self._vectors = np.asarray(vocabulary.vectors)  # slicing a memory map itself is slow

    def in_table(self, ids: Ids, radius: float) -> npt.NDArray[np.bool_]:
        """Whether the neighbour table holds all words nearer than a radius: [B] -> [B]."""
        return self._depths(ids, radius) > 0

    def of(self, ids: Ids, radius: float) -> tuple[list[Ids], list[Floats]]:
        """The words nearer to each word than a radius, itself among them, and their distances.

        For each of int64 [B], or UNKNOWN: int64 [M], ascending, and float64 [M].
        """
        words, apart = [np.zeros(0, np.int64)] * len(ids), [np.zeros(0)] * len(ids)
        depths, queries = self._depths(ids, radius), self._vocabulary.vectors_of(ids)
        for depth in np.unique(depths[depths > 0]).tolist():
            rows = np.flatnonzero(depths == depth)
            assert self._vocabulary.neighbor_ids is not None
            near = np.column_stack([ids[rows], self._vocabulary.neighbor_ids[ids[rows], :depth]])
            near.sort(axis=1)
            exact = distances_to_words(self._vectors, queries[rows], near)
            for row, some, each in zip(rows.tolist(), near, exact, strict=True):
                words[row], apart[row] = some[each < radius], each[each < radius]
        rest = np.flatnonzero(depths == 0)
        perhaps = self._float32.perhaps_within(queries[rest], radius)
        for row, some in zip(rest.tolist(), perhaps, strict=True):
            each = self._distances(some, queries[row])
            words[row], apart[row] = some[each < radius], each[each < radius]
        return words, apart

    def _depths(self, ids: Ids, radius: float) -> Ids:
        """How much of each word's row of the table holds all words within; 0: no one knows."""
        table, depths = self._vocabulary.neighbor_ids, np.zeros(len(ids), np.int64)
        rows = np.flatnonzero(ids != UNKNOWN)
        if table is None or not table.shape[1] or not len(rows):
            return depths
        ends = np.array([depth for depth in _DEPTHS if depth < table.shape[1]] + [table.shape[1]])
        some = table[ids[rows]][:, ends - 1].astype(np.int64)
        queries = self._vocabulary.vectors_of(ids[rows])
        beyond = distances_to_words(self._vectors, queries, some) >= radius
        depths[rows] = np.where(beyond.any(axis=1), ends[beyond.argmax(axis=1)], 0)
        return depths

    def _distances(self, words: Ids, query: Floats) -> Floats:
        parts = [
            distances(self._vectors[words[start : start + _AT_ONCE]], query)
            for start in range(0, len(words), _AT_ONCE)
        ]
        return np.concatenate([np.zeros(0), *parts])
