"""Neighbour queries over one vocabulary: nearest word, word at a rank, close radius.

Which of its search backends finds the nearest words is decided in choose_backend.py. A result
depends neither on the batch a query came in nor, among the exact backends, on which one served it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from dxbeam.errors import ConfigurationError
from dxbeam.space.search.backends import choose_backend
from dxbeam.space.search.backends.backend import Floats as Floats
from dxbeam.space.search.backends.backend import Ids as Ids
from dxbeam.space.search.backends.backend import SearchBackend
from dxbeam.space.search.backends.choose_backend import AUTO
from dxbeam.space.search.backends.float32_search import Float32Search
from dxbeam.space.search.backends.score_bounds import BoundingBackend
from dxbeam.space.search.table_search import TableSearch
from dxbeam.space.search.words_within import WordsWithin
from dxbeam.space.vocabulary.words import UNKNOWN, Vocabulary, distances_to_words

CLOSE_RANK = 100
"""A released word is close if it is among the first 100 neighbours of the original."""

_REMEMBERED = 128
"""Neighbours that are remembered of a word once they were searched for, as no table has them: as
many as a mechanism that draws words in proportion to a weight looks at first."""

_MANY_WORDS, _MANY_ROWS = 4096, 64
"""From this many words, and rows of the table at once, bounds are faster than going row by row."""
_SHARE_OF_WORDS = 8
"""Provided that one word of this many, or fewer, is asked for as a neighbour."""


T = TypeVar("T")


class NeighborSearch:
    """Neighbour queries over one vocabulary.

    Holds nothing but the vocabulary and values computed from it; safe to share between threads.

    Args:
      vocabulary: the words to search.
      threads: threads of a search by integers; all cores by default. Searches by float32 and by
        FAISS use as many as BLAS and OpenMP are set to.
      backend: the exact search backend, one of ``choose_backend.NAMES``; by default what the
        environment variable DXBEAM_SEARCH says, else the fastest that is exact on this machine.
        The answers are the same.

    Raises:
      ConfigurationError: this is no vocabulary, or there is no such backend.
    """

    def __init__(self, vocabulary: Vocabulary, threads: int | None = None, backend: str = AUTO):
        if not isinstance(vocabulary, Vocabulary):
            raise ConfigurationError(
                f"words are searched in a Vocabulary, and this is a {type(vocabulary).__name__}; "
                'open one with dxbeam.open_vocabulary("demo")'
            )
        if threads is not None and threads < 1:
            raise ConfigurationError(f"a search needs at least one thread, not {threads}")
        self.vocabulary = vocabulary
        self._vectors = vocabulary.vectors
        self.threads = threads or os.cpu_count() or 1
        self._backend_name = choose_backend.from_environment(backend)
        self._float32 = Float32Search(vocabulary.vectors)
        self.within = WordsWithin(vocabulary, self._float32)
        self._computed: dict[Hashable, Any] = {}

    def computed_once(self, key: Hashable, compute: Callable[[Vocabulary], T]) -> T:
        """What a pure function makes of the vocabulary, at the first call with this key."""
        if key not in self._computed:
            self._computed[key] = compute(self.vocabulary)
        value: T = self._computed[key]
        return value

    @cached_property
    def exact_backend(self) -> BoundingBackend:
        """What searches exactly here; refused where this machine lacks what was asked for."""
        return choose_backend.exact_backend(
            self.vocabulary, self._float32, self._backend_name, self.threads
        )

    @cached_property
    def backend(self) -> SearchBackend:
        """What finds the words nearest to vectors: the vocabulary's index, or an exact search."""
        if self.vocabulary.index is None:
            return self.exact_backend
        return choose_backend.index_backend(self.vocabulary, lambda: self.exact_backend)

    def nearest(self, queries: Floats) -> Ids:
        """The id of the word nearest to each query, the lowest on ties: float64 [B, n] -> [B].

        With an approximate index, the nearest among the candidates that the index finds.
        """
        return self.backend.nearest(queries, 1)[0][:, 0]

    def nearest_two(self, queries: Floats) -> tuple[Ids, Floats]:
        """The two words nearest to each query by (distance, id), int64 [B, 2], and their distances.

        With an approximate index, the nearest two among the candidates that the index finds.
        """
        return self.backend.nearest(queries, 2)

    def neighbor(self, ids: Ids, ranks: Ids) -> Ids:
        """The word at a rank among all words around a word: [B], [B] -> [B].

        Rank 0 is the word itself, rank 1 its nearest neighbour, …, rank N - 1 the farthest word;
        words at equal distance are ranked by id.
        """
        table = self.vocabulary.neighbor_ids
        depth = 0 if table is None else table.shape[1]
        result: Ids = ids.copy()
        tabled = (ranks > 0) & (ranks <= depth)
        if table is not None:
            result[tabled] = table[ids[tabled], ranks[tabled] - 1]
        deep = np.flatnonzero(ranks > depth)
        queries = self._vectors[ids[deep]].astype(np.float64)
        result[deep] = self._float32.at_rank(queries, ranks[deep], ids[deep])
        return result

    def nearest_neighbors(self, ids: Ids, count: int) -> Ids:
        """The words nearest to each word by (distance, id): int64 [B] -> [B, count].

        A word's own row starts with itself; UNKNOWN stands for the unknown word's vector.
        """
        near = np.empty((len(ids), count), np.int64)
        known = np.flatnonzero(ids != UNKNOWN)
        near[known, 0] = ids[known]
        table = self.vocabulary.neighbor_ids
        if table is not None and table.shape[1] >= count - 1:
            near[known, 1:] = table[ids[known], : count - 1]
        elif count - 1 <= _REMEMBERED:
            near[known, 1:] = self._looked_up(ids[known])[0][ids[known], : count - 1]
        else:
            near[known, 1:] = self.neighbor_table(ids[known], count - 1)[0]
        if len(known) < len(ids):
            near[ids == UNKNOWN] = self.computed_once(
                ("nearest_neighbors", count), self._neighbors_of_unknown(count)
            )
        return near

    def stand_ins(self, ids: Ids) -> Ids:
        """The words themselves, int64 [B]; for UNKNOWN the word nearest to its vector."""
        unknown = ids == UNKNOWN
        if not unknown.any():
            return ids
        return np.where(unknown, self.nearest_neighbors(np.array([UNKNOWN]), 1)[0, 0], ids)

    def ranks(self, ids: Ids, others: Ids, depths: Ids) -> Ids:
        """At which rank around each word, int64 [B], others, [B, k], are: int64 [B, k].

        Where that is deeper than ``depths``, int64 [B], it is that or N. The neighbour table
        answers as deep as it is; beyond, each word takes a row of products with the whole
        vocabulary.
        """
        words = len(self._vectors)
        every_rank = np.full(others.shape, words)
        table = self.vocabulary.neighbor_ids
        tabled = np.zeros(len(ids), bool)
        if table is not None:
            tabled = np.minimum(depths, words - 1) <= table.shape[1]
            ranks = np.full(words, words)
            for row in np.flatnonzero(tabled):
                near = table[ids[row], : depths[row]]
                ranks[near] = np.arange(1, len(near) + 1)
                every_rank[row] = ranks[others[row]]
                ranks[near] = words
        deep = np.flatnonzero(~tabled)
        every_rank[deep] = self._float32.ranks(
            ids[deep], others[deep], np.minimum(depths[deep], words - 1)
        )
        every_rank[others == ids[:, None]] = 0
        return every_rank

    def _neighbors_of_unknown(self, count: int) -> Callable[[Vocabulary], Ids]:
        unknown = np.array([UNKNOWN])
        return lambda vocabulary: self._float32.at_rank(
            vocabulary.vectors_of(unknown).repeat(count, axis=0), np.arange(count)
        )

    def distances(self, ids: Ids, others: Ids) -> Floats:
        """Distances from each word to others: int64 [B] (or UNKNOWN), [B, k] -> float64 [B, k]."""
        return distances_to_words(self._vectors, self.vocabulary.vectors_of(ids), others)

    def is_close(self, originals: Ids, released: Ids) -> npt.NDArray[np.bool_]:
        """Whether each released word is within the close radius of its original (both known)."""
        return self.distances(originals, released[:, None])[:, 0] <= self.close_radius(originals)

    def close_radius(self, ids: Ids) -> Floats:
        """Distance from each word to its 100th neighbour, or the last one if there are fewer."""
        radii = self.vocabulary.close_radius
        if radii is None:
            radii = self._looked_up(ids)[1]
        return radii[ids]

    @cached_property
    def _remembered(self) -> tuple[npt.NDArray[np.int32], Floats]:
        """Neighbours and close radius per word, NaN where the word was not looked up yet."""
        words = len(self._vectors)
        return np.empty((words, min(_REMEMBERED, words - 1)), np.int32), np.full(words, np.nan)

    def _looked_up(self, ids: Ids) -> tuple[npt.NDArray[np.int32], Floats]:
        """``_remembered`` with the rows of these words filled."""
        neighbors, radii = self._remembered
        missing = np.unique(ids[np.isnan(radii[ids])])
        if len(missing):
            neighbors[missing], distances = self.neighbor_table(missing, _REMEMBERED)
            radii[missing] = distances  # last: another thread may look
        return neighbors, radii

    def neighbor_table(self, ids: Ids, depth: int) -> tuple[npt.NDArray[np.int32], Floats]:
        """The first neighbours of words, int32 [B, K], and their close radii, float64 [B].

        The nearest comes first, ties by id, without the word itself; K is ``depth`` or N - 1.
        """
        words = len(self._vectors)
        depth, radius_rank = min(depth, words - 1), min(CLOSE_RANK, words - 1)
        if (
            len(ids) < _MANY_ROWS
            or words < _MANY_WORDS
            or max(depth, radius_rank) * _SHARE_OF_WORDS > words
        ):
            return self._float32.neighbor_table(ids, depth, radius_rank)
        return self._table_search.table(ids, depth, radius_rank)

    @cached_property
    def _table_search(self) -> TableSearch:
        return TableSearch(
            self._vectors, self.exact_backend.bounds, self._float32.neighbor_table, self.threads
        )


def is_known(ids: Ids) -> npt.NDArray[np.bool_]:
    """Which ids are words of the vocabulary."""
    known: npt.NDArray[np.bool_] = ids != UNKNOWN
    return known
