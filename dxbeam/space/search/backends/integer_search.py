"""Exact nearest words by way of 8-bit integers, three times as fast as by way of float32.

Vectors and queries are rounded to 8-bit integers, whose product processors compute four times as
fast. Where that leaves a word an upper bound that reaches the best word found so far, its distance
is computed in float64, and the nearest by (distance, id) is the answer. So the answer is exact:
rounding decides only how many distances are computed, about five per query. The bound and its proof
are in rounded_words.py.
"""

from __future__ import annotations

from functools import cached_property, partial

import numpy as np
import numpy.typing as npt

from dxbeam.space.search.backends.backend import Floats, Ids, SearchBackend, on_threads
from dxbeam.space.search.backends.integer_products import (
    OnnxProduct,
    PackedWords,
    is_exact,
    packing_product,
)
from dxbeam.space.search.backends.rounded_words import RoundedWords
from dxbeam.space.search.backends.score_bounds import WORDS_PER_BLOCK
from dxbeam.space.vocabulary.words import distances

_QUERIES_PER_TILE = 512
_FEW_QUERIES = 64
_SMALL_SEARCHES_FIRST = 4  # the ends of a job's bundles are small too, and are not worth a copy
_PACKED_BYTES = 64 << 20
_CANDIDATES_PER_QUERY = 256  # with more, rounding decides too little to be worth it


class IntegerSearch:
    """Nearest words of a vocabulary by integer products.

    Args:
      words: in integers, one byte per number.
      otherwise: searches where rounding leaves so many candidates that it is faster.
      threads: how many search at once, each a tile of queries.
    """

    def __init__(self, words: RoundedWords, otherwise: SearchBackend, threads: int = 1):
        self.name = f"int{words.bits}"
        self._otherwise, self._threads = otherwise, threads
        self._vectors, self.bounds = words.vectors, words
        self._small_searches = 0
        self._packed: PackedWords | None = None

    def nearest(self, queries: Floats, count: int) -> tuple[Ids, Floats]:
        """As ``SearchBackend`` says, on all threads."""
        size = _QUERIES_PER_TILE
        tiles = [queries[i : i + size] for i in range(0, len(queries), size)]
        search = partial(self._nearest_of_tile, count=count)
        of_tiles = on_threads(self._threads, search, tiles)
        of_tiles.append((np.empty((0, count), np.int64), np.empty((0, count))))
        ids, apart = zip(*of_tiles, strict=True)
        return np.concatenate(ids), np.concatenate(apart)

    def _nearest_of_tile(self, queries: Floats, count: int) -> tuple[Ids, Floats]:
        candidates = self.nearest_by_integers(queries, count)
        return self._otherwise.nearest(queries, count) if candidates is None else candidates

    def nearest_by_integers(self, queries: Floats, count: int) -> tuple[Ids, Floats] | None:
        """As ``nearest``; None where rounding leaves so many candidates that others are faster."""
        tile = self.bounds.tile(queries)
        if tile is None:
            return None
        packed = self._packed_for(len(queries))
        rows = np.arange(len(queries))
        # Written in place, as new arrays of this size cost more in page faults than in work.
        width = len(self._vectors) if packed else WORDS_PER_BLOCK
        scores = np.empty(0 if packed else len(queries) * width, np.float32)
        marks = np.empty(len(queries) * width, np.bool_)
        best = np.full((len(queries), count), np.inf)
        candidates: list[tuple[Ids, Ids, Floats]] = []
        unsettled: list[tuple[Ids, Ids, npt.NDArray[np.float32]]] = []
        for number in range(1 if packed else len(self.bounds.blocks)):
            first = number * width
            if packed:
                upper = tile.scores_of_all(packed)
            else:
                words = self.bounds.blocks[number].shape[1]
                upper = scores[: len(rows) * words].reshape(len(rows), words)
                tile.scores(number, upper)
            hot, limits = rows, tile.limits(best[:, -1])
            reached = rows
            # The first block finds as many words as are asked for, the others improve on them.
            for turn in range(min(count, upper.shape[1]) if number == 0 else 1):
                # Copying the rows that are hot pays off where they are few.
                few = 2 * len(hot) < len(rows)
                top = upper[hot].argmax(axis=1) if few else upper.argmax(axis=1)[hot]
                reaching = upper[hot, top] >= limits[hot]
                hot, top = hot[reaching], top[reaching]
                if turn == 0:
                    reached = hot  # no word reaches the limit of any other row
                exact = distances(self._vectors[first + top], queries[hot])
                candidates.append((hot, first + top, exact))
                upper[hot, top] = -np.inf  # done with
                best[hot] = np.sort(np.column_stack([best[hot], exact]), axis=1)[:, :count]
            limits = tile.limits(best[:, -1])
            rest = upper if len(reached) == len(rows) else upper[reached]
            reaches = np.greater_equal(
                rest, limits[reached, None], out=marks[: rest.size].reshape(rest.shape)
            )
            row, column = np.divmod(np.flatnonzero(reaches), upper.shape[1])
            unsettled.append((reached[row], first + column, rest[row, column]))
            if sum(len(part[0]) for part in unsettled) > _CANDIDATES_PER_QUERY * (len(rows) + 16):
                return None
        row, ids, bounds = (np.concatenate(parts) for parts in zip(*unsettled, strict=True))
        still = bounds >= limits[row]
        row, ids = row[still], ids[still]
        candidates.append((row, ids, distances(self._vectors[ids], queries[row])))
        return first_by_distance(candidates, count)

    def _packed_for(self, queries: int) -> PackedWords | None:
        """All words packed, where few queries come at a time, as from texts one after another."""
        if queries > _FEW_QUERIES or not self._may_be_packed:
            return None
        if self._packed is None:
            self._small_searches += 1
            if self._small_searches > _SMALL_SEARCHES_FIRST:
                self._packed = PackedWords(np.concatenate(self.bounds.blocks, axis=1))
        return self._packed

    @cached_property
    def _may_be_packed(self) -> bool:
        """Whether packed words take little memory, and their products are exact here."""
        return (
            isinstance(self.bounds.product, OnnxProduct)
            and self._vectors.size <= _PACKED_BYTES
            and is_exact(packing_product, self.bounds.bits)
        )


def first_by_distance(candidates: list[tuple[Ids, Ids, Floats]], count: int) -> tuple[Ids, Floats]:
    """The first ``count`` ids of each row by (distance, id), and their distances."""
    row, ids, exact = (np.concatenate(parts) for parts in zip(*candidates, strict=True))
    order = np.lexsort((ids, exact, row))
    starts = np.searchsorted(row[order], np.arange(row.max() + 1))
    chosen = order[starts[:, None] + np.arange(count)]
    return ids[chosen], exact[chosen]
