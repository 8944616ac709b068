"""The nearest words of a vocabulary that were not taken yet, each taken once.

Nearly always they are among a word's first neighbours, which a table holds. When two words of three
are taken the table is made anew, of the words that are left. Where all neighbours in the table are
taken, bounds in float32 rule words out, and float64 settles which of the others are nearest.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dxbeam.space.search.backends.float32_bounds import Float32Bounds
from dxbeam.space.search.backends.score_bounds import WORDS_PER_BLOCK, Scores
from dxbeam.space.search.neighbors import Ids, NeighborSearch
from dxbeam.space.vocabulary.words import Vocabulary, distances

_LEFT = 0.35  # measured: with more or less of the words left, tables or searches take longer


class UnusedWords:
    """Words that can be taken, nearest first.

    Args:
      vocabulary: N words; their neighbour table is used where it is deep enough.
      depth: neighbours of a word that are looked at before all others are.
      ahead: how many of the words that come next in the vocabulary are looked up with one.
    """

    def __init__(self, vocabulary: Vocabulary, depth: int, ahead: int):
        self._vocabulary, self._depth, self._ahead = vocabulary, depth, ahead
        self._vectors = np.asarray(vocabulary.vectors)  # slicing a memory map itself is slow
        self._used = np.zeros(len(vocabulary), bool)
        self._unused = len(vocabulary)
        self._next = 0
        self._table: npt.NDArray[np.int32]
        self._start_over(np.arange(len(vocabulary)))
        tabled = vocabulary.neighbor_ids
        if tabled is not None and tabled.shape[1] >= self._table.shape[1]:
            self._table, self._looked_up = tabled, np.ones(len(vocabulary), bool)

    def __len__(self) -> int:
        return self._unused

    def first(self) -> int:
        """The first word of the vocabulary that was not taken; there must be one."""
        self._next += int(np.argmin(self._used[self._next :]))
        return self._next

    def take(self, word: int, count: int) -> Ids:
        """Takes a word, unless it is taken, and the words nearest to it, by (distance, id).

        int64 [count]; this many must be left.
        """
        self._mark(np.array([word]))
        if self._unused < _LEFT * len(self._left):
            self._start_over(np.flatnonzero(~self._used | (np.arange(len(self._used)) == word)))
        near = self._left[self._neighbors(word)]
        near = near[~self._used[near]]
        if len(near) < count:
            near = self._among_all(word, count)
        self._mark(near[:count])
        return near[:count]

    def _mark(self, words: Ids) -> None:
        self._unused -= int((~self._used[words]).sum())
        self._used[words] = True

    def _start_over(self, left: Ids) -> None:
        """Forgets all words but these, int64 [k] in increasing order."""
        self._left = left
        self._row_of = np.full(len(self._used), -1)
        self._row_of[left] = np.arange(len(left))
        vectors = self._vectors[left] if len(left) < len(self._vectors) else self._vectors
        numbers = range(len(left))
        self._search = NeighborSearch(
            Vocabulary(numbers, vectors, unknown_vector=vectors[0])  # type: ignore[arg-type]
        )
        self._bounds = Float32Bounds(vectors)
        depth = min(self._depth, len(left) - 1)
        self._table = np.zeros((len(left), depth), np.int32)
        self._looked_up = np.zeros(len(left), bool)

    def _neighbors(self, word: int) -> npt.NDArray[np.int32]:
        """The first neighbours of a word among ``_left``, as numbers of rows."""
        row = self._row_of[word]
        if not self._looked_up[row]:
            rows = np.arange(row + 1, len(self._left))
            rows = rows[~self._used[self._left[rows]] & ~self._looked_up[rows]][: self._ahead]
            rows = np.append(row, rows)
            self._table[rows], _ = self._search.neighbor_table(rows, self._table.shape[1])
            self._looked_up[rows] = True
        return np.asarray(self._table[row])

    def _among_all(self, word: int, count: int) -> Ids:
        """The nearest of all words that are left."""
        query = self._vectors[[word]].astype(np.float64)
        tile = self._bounds.tile(query)
        upper, lower = np.empty((2, len(self._left)), np.float32)
        for block, start in enumerate(range(0, len(self._left), WORDS_PER_BLOCK)):
            part = slice(start, start + WORDS_PER_BLOCK)
            for bound, error in ((upper, 1.0), (lower, -1.0)):
                scores: Scores = np.empty((1, len(bound[part])), np.float32)
                tile.scores(block, scores, error)
                bound[part] = scores[0]
        taken = self._used[self._left]
        upper[taken] = lower[taken] = -np.inf
        limit = np.partition(lower, len(lower) - count)[len(lower) - count]
        near = self._left[(upper >= limit) & ~taken]
        exact = distances(self._vectors[near], query)
        return np.asarray(near[np.lexsort((near, exact))[:count]])
