"""Exact nearest words by way of integers on a GPU; only what reaches the limit leaves it.

As integer_search.py, whose bound it shares, with the scores of all words for a tile of queries held
on the device at once:

1. The words with the largest upper bounds, one or two of a query, are measured on the processor in
   float64, which gives the limit.
2. All words whose upper bound reaches the limit come back, some ten of a query, and are measured
   too. The nearest by (distance, id) is the answer.
"""

from __future__ import annotations

import numpy as np

from dxbeam.space.search.backends.backend import Floats, Ids, SearchBackend
from dxbeam.space.search.backends.integer_search import first_by_distance
from dxbeam.space.search.backends.rounded_words import RoundedWords
from dxbeam.space.search.backends.torch_product import TorchProduct
from dxbeam.space.vocabulary.words import distances

_SCORES_AT_ONCE = {"cpu": 1 << 22, "cuda": 1 << 27}  # float32: 16, 512 MiB
_MOST_QUERIES = 4096
_CANDIDATES_PER_QUERY = 64  # with more, rounding decides too little to be worth it


class TorchSearch:
    """Nearest words of a vocabulary by PyTorch; the words' integers are on the device.

    Args:
      words: for queries of 8 bits.
      product: that of the words, which is exact for these.
      otherwise: searches where rounding leaves so many candidates that it is faster.

    Raises:
      RuntimeError: the device's memory does not hold the words.
    """

    name = "torch"

    def __init__(self, words: RoundedWords, product: TorchProduct, otherwise: SearchBackend):
        self._vectors, self.bounds = words.vectors, words
        self._product, self._otherwise = product, otherwise
        self._words = product.torch.cat([product.words(block) for block in words.blocks], dim=1)
        self._scales = product.on_device(words.scales)
        self._half_squares = product.on_device(words.half_squares)
        self._lengths = product.on_device(words.rounded_lengths)
        self._residuals = product.on_device(words.residuals)
        at_once = _SCORES_AT_ONCE.get(product.device.type, _SCORES_AT_ONCE["cpu"])
        self._tile = max(1, min(_MOST_QUERIES, at_once // len(words.vectors)))

    def nearest(self, queries: Floats, count: int) -> tuple[Ids, Floats]:
        """As ``SearchBackend`` says."""
        ids, apart = np.empty((len(queries), count), np.int64), np.empty((len(queries), count))
        for start in range(0, len(queries), self._tile):
            part = slice(start, start + self._tile)
            candidates = self.nearest_by_integers(queries[part], count)
            ids[part], apart[part] = candidates or self._otherwise.nearest(queries[part], count)
        return ids, apart

    def nearest_by_integers(self, queries: Floats, count: int) -> tuple[Ids, Floats] | None:
        """As ``nearest``; None where rounding leaves so many candidates that others are faster."""
        tile = self.bounds.tile(queries)
        if tile is None:
            return None
        upper = self._product.products(self._product.queries(tile.integers, tile.zero), self._words)
        bias = tile.bound(self._half_squares, self._lengths, self._residuals) - self._half_squares
        upper.mul_(self._scales * float(tile.scale)).add_(bias.to(upper.dtype))
        best = upper.argmax(1, keepdim=True) if count == 1 else upper.topk(count).indices
        first: Ids = best.cpu().numpy()
        apart = distances(self._vectors[first], queries[:, None, :])
        limits = self._product.on_device(tile.limits(apart.max(axis=1)))
        reaching = upper.scatter_(1, best, -np.inf) >= limits[:, None]
        if int(reaching.count_nonzero()) > _CANDIDATES_PER_QUERY * (len(queries) + 16):
            return None
        row, ids = (part.cpu().numpy() for part in reaching.nonzero(as_tuple=True))
        candidates = [
            (np.arange(len(queries)).repeat(count), first.ravel(), apart.ravel()),
            (row, ids, distances(self._vectors[ids], queries[row])),
        ]
        return first_by_distance(candidates, count)
