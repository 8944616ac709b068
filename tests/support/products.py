"""Products of 8-bit integers by numpy: what a search by integers may be given."""

from __future__ import annotations

import numpy as np

from dxbeam.space.search.backends.integer_products import LARGEST_QUERY, Factors

BITS = tuple(LARGEST_QUERY)


def plain(factors: Factors, out: np.ndarray) -> None:
    """The product by numpy: exact everywhere, and slow."""
    queries, zero, words, query_scale, word_scales, bias = factors
    products = (queries.astype(np.float64) - zero) @ words.astype(np.float64)
    np.multiply(products.astype(np.float32), np.float32(query_scale) * word_scales, out=out)
    out += bias.astype(np.float32)


def saturating(factors: Factors, out: np.ndarray) -> None:
    """As a processor without VNNI does it: pairs of products are added in 16 bits."""
    queries, zero, words, query_scale, word_scales, bias = factors
    q, w = queries.astype(np.int64), words.astype(np.int64)
    if len(w) % 2:
        q, w = np.pad(q, ((0, 0), (0, 1))), np.pad(w, ((0, 1), (0, 0)))
    products = np.zeros((len(q), w.shape[1]), np.int64)
    for i in range(0, len(w), 2):
        pair = q[:, i : i + 2] @ w[i : i + 2]
        products += np.clip(pair, -(2**15), 2**15 - 1)
    products -= zero * w.sum(axis=0)
    np.multiply(products.astype(np.float32), np.float32(query_scale) * word_scales, out=out)
    out += bias.astype(np.float32)
