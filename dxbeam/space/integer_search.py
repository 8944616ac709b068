"""Exact nearest words by way of 8-bit integers, three times as fast as by way of float32.

Vectors and queries are rounded to 8-bit integers, whose product processors compute four times as
fast. Where that leaves a word an upper bound (below) that reaches the best word found so far, its
distance is computed in float64, and the nearest by (distance, id) is the answer. So the answer is
exact: rounding decides only how many distances are computed, about five per query.

The bound. With words and queries taken relative to the words' mean, the nearest word has the
largest score q.x - |x|^2 / 2. Let Q and X be the rounded q and x. By Cauchy and Schwarz

    q.x - |x|^2 / 2  <=  Q.X - |x|^2 / 2 + |q - Q| |X| + |q| |x - X|,

where Q.X is a product of integers, which no order of summation and no processor changes.

Queries have 8 or 7 bits, whichever this processor multiplies exactly (integer_products.py). The
words keep 8 bits, so with 7 the bound is a little wider, and the answer the same.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import numpy.typing as npt

from dxbeam.space.integer_products import LARGEST_QUERY, LARGEST_WORD, Product
from dxbeam.space.search_backend import Floats, Ids, SearchBackend
from dxbeam.space.vocabulary import distances

_QUERIES_PER_TILE = 256
_WORDS_PER_BLOCK = 2048  # measured: a tile's scores of a block stay in the cache
_CANDIDATES_PER_QUERY = 64  # with more, rounding decides too little to be worth it
_SHORTEST, _LONGEST = 1e-9, 1e9  # lengths whose squares float32 holds with room to spare
_FLOAT32_SLACK = 16 * 2.0**-24  # a handful of float32 roundings in scaling a score
_FLOAT64_SLACK = 1e-12


class IntegerSearch:
    """Nearest words of a vocabulary by integer products; holds a copy of it, one byte per number.

    Args:
      vectors: float32 [N, n], C order; may be a memory map.
      product: one that is exact for so many bits; see ``is_exact``.
      bits: of a query's integers, a key of LARGEST_QUERY.
      otherwise: searches where rounding leaves so many candidates that it is faster.
      threads: how many search at once, each a tile of queries.

    Raises:
      ArithmeticError: the vectors are too long or too short for float32 to hold their squares.
    """

    def __init__(
        self,
        vectors: npt.NDArray[np.float32],
        product: Product,
        bits: int,
        otherwise: SearchBackend,
        threads: int = 1,
    ):
        self.name = f"int{bits}"
        self._otherwise, self._threads = otherwise, threads
        self._vectors = np.asarray(vectors)  # slicing a memory map itself is slow
        self._product, self._largest_query = product, LARGEST_QUERY[bits]
        words = len(vectors)
        self._mean: Floats = vectors.mean(axis=0, dtype=np.float64)
        self._blocks: list[npt.NDArray[np.int8]] = []
        self._scales = np.empty(words, np.float32)
        half, rounded, residual = np.empty(words), np.empty(words), np.empty(words)
        for start in range(0, words, _WORDS_PER_BLOCK):
            part = slice(start, start + _WORDS_PER_BLOCK)
            centred = vectors[part] - self._mean
            integers, scales = _rounded(
                centred, np.abs(centred).max(axis=1, initial=0.0), LARGEST_WORD
            )
            self._blocks.append(np.ascontiguousarray(integers.astype(np.int8).T))
            self._scales[part] = scales
            half[part] = np.square(centred).sum(axis=1) / 2
            back = integers * scales[:, None].astype(np.float64)
            rounded[part] = np.linalg.norm(back, axis=1)
            residual[part] = np.linalg.norm(centred - back, axis=1)
        if not _SHORTEST**2 < half.max() < _LONGEST**2:
            raise ArithmeticError("the squares of the vectors do not fit float32")
        self._half_squares, self._rounded_lengths, self._residuals = half, rounded, residual
        self._underflow_slack = 2.0**-24 * float(half.max())

    def nearest(self, queries: Floats, count: int) -> tuple[Ids, Floats]:
        """As ``SearchBackend`` says, on all threads."""
        size = _QUERIES_PER_TILE
        tiles = [queries[i : i + size] for i in range(0, len(queries), size)]
        search = partial(self._nearest_of_tile, count=count)
        if self._threads == 1 or len(tiles) < 2:
            found = list(map(search, tiles))
        else:
            with ThreadPoolExecutor(self._threads) as pool:
                found = list(pool.map(search, tiles))
        found.append((np.empty((0, count), np.int64), np.empty((0, count))))
        ids, apart = zip(*found, strict=True)
        return np.concatenate(ids), np.concatenate(apart)

    def _nearest_of_tile(self, queries: Floats, count: int) -> tuple[Ids, Floats]:
        found = self.nearest_by_integers(queries, count)
        return self._otherwise.nearest(queries, count) if found is None else found

    def nearest_by_integers(self, queries: Floats, count: int) -> tuple[Ids, Floats] | None:
        """As ``nearest``; None where rounding leaves so many candidates that others are faster."""
        tile = _Tile(queries, self._mean, self._largest_query)
        if not tile.length < _LONGEST:
            return None
        rows = np.arange(len(queries))
        # Written in place, as new arrays of this size cost more in page faults than in work.
        scores = np.empty(len(queries) * _WORDS_PER_BLOCK, np.float32)
        marks = np.empty(len(scores), np.bool_)
        best = np.full((len(queries), count), np.inf)
        found: list[tuple[Ids, Ids, Floats]] = []
        unsettled: list[tuple[Ids, Ids, npt.NDArray[np.float32]]] = []
        for number, block in enumerate(self._blocks):
            first = number * _WORDS_PER_BLOCK
            upper = scores[: len(rows) * block.shape[1]].reshape(len(rows), -1)
            self._upper_bounds(tile, first, block, upper)
            hot, limits = rows, tile.limits(best[:, -1])
            reached = rows
            # The first block finds as many words as are asked for, the others improve on them.
            for turn in range(min(count, block.shape[1]) if number == 0 else 1):
                # Copying the rows that are hot pays off where they are few.
                few = 2 * len(hot) < len(rows)
                top = upper[hot].argmax(axis=1) if few else upper.argmax(axis=1)[hot]
                reaching = upper[hot, top] >= limits[hot]
                hot, top = hot[reaching], top[reaching]
                if turn == 0:
                    reached = hot  # no word reaches the limit of any other row
                exact = distances(self._vectors[first + top], queries[hot])
                found.append((hot, first + top, exact))
                upper[hot, top] = -np.inf  # done with
                best[hot] = np.sort(np.column_stack([best[hot], exact]), axis=1)[:, :count]
            limits = tile.limits(best[:, -1])
            rest = upper if len(reached) == len(rows) else upper[reached]
            reaches = np.greater_equal(
                rest, limits[reached, None], out=marks[: rest.size].reshape(rest.shape)
            )
            row, column = np.divmod(np.flatnonzero(reaches), block.shape[1])
            unsettled.append((reached[row], first + column, rest[row, column]))
            if sum(len(part[0]) for part in unsettled) > _CANDIDATES_PER_QUERY * (len(rows) + 16):
                return None
        row, ids, bounds = (np.concatenate(parts) for parts in zip(*unsettled, strict=True))
        still = bounds >= limits[row]
        row, ids = row[still], ids[still]
        found.append((row, ids, distances(self._vectors[ids], queries[row])))
        return _first_by_distance(found, count)

    def _upper_bounds(
        self,
        tile: _Tile,
        first: int,
        block: npt.NDArray[np.int8],
        out: npt.NDArray[np.float32],
    ) -> None:
        """Upper bounds of the scores of a block of words, float32 [B, words of the block]."""
        part = slice(first, first + block.shape[1])
        half, lengths = self._half_squares[part], self._rounded_lengths[part]
        bias = -half + tile.residual * lengths + tile.length * self._residuals[part]
        bias += _FLOAT32_SLACK * (half + (tile.length + tile.residual) * lengths)
        bias += self._underflow_slack
        self._product(tile.integers, tile.zero, block, tile.scale, self._scales[part], bias, out)


class _Tile:
    """Some queries, rounded together: one scale, and one bound on what rounding took away."""

    def __init__(self, queries: Floats, mean: Floats, largest: int):
        centred = queries - mean
        integers, scales = _rounded(centred, np.array([np.abs(centred).max(initial=0.0)]), largest)
        self.scale, self.zero = scales[0], largest + 1
        self.integers = (integers + self.zero).astype(np.uint8)
        self._squares = np.square(centred).sum(axis=1)
        self.length = float(np.sqrt(self._squares.max(initial=0.0)))
        rest = centred - integers * float(self.scale)
        self.residual = float(np.sqrt(np.square(rest).sum(axis=1).max(initial=0.0)))

    def limits(self, distances: Floats) -> npt.NDArray[np.float32]:
        """The score that a word at this distance has, a little less: float32 [B]."""
        squares = np.square(distances)
        limits = (self._squares - squares) / 2 - _FLOAT64_SLACK * (self._squares + squares)
        below: npt.NDArray[np.float32] = np.nextafter(
            limits.astype(np.float32), np.float32(-np.inf)
        )
        return below


def _rounded(vectors: Floats, span: Floats, largest: int) -> tuple[Floats, npt.NDArray[np.float32]]:
    """Integers -largest … largest as float64 [B, n], and what they are to be multiplied by."""
    scales = (span / largest).astype(np.float32)
    scales[scales == 0] = 1.0
    integers = np.rint(vectors / scales.astype(np.float64)[:, None])
    return np.clip(integers, -largest, largest, out=integers), scales


def _first_by_distance(found: list[tuple[Ids, Ids, Floats]], count: int) -> tuple[Ids, Floats]:
    """The first ``count`` ids of each row by (distance, id), and their distances."""
    row, ids, exact = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.lexsort((ids, exact, row))
    starts = np.searchsorted(row[order], np.arange(row.max() + 1))
    chosen = order[starts[:, None] + np.arange(count)]
    return ids[chosen], exact[chosen]
