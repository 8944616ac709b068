"""What rank resampling makes of released words, in expectation instead of by a further draw.

With q = exp(-epsilon c) and N words the neighbour of rank i around the mechanism's output x* (0 is
x* itself) is released with probability (1 - q) q^i / (1 - q^N).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dxbeam.analysis.measure.every_epsilon import Floats, Ids
from dxbeam.space.search.neighbors import CLOSE_RANK, NeighborSearch

LARGEST_ERROR = 1e-3
"""Shares with rank resampling are off by so much at most, apart from the sampling of words."""

_WORDS_PER_BLOCK = 256


def resampled_shares(
    ids: Ids, released: Ids, epsilons: Floats, rank_cs: Sequence[float], search: NeighborSearch
) -> Floats:
    """What rank resampling makes of released words, in expectation: float64 [C, B, E, 3].

    Around a released word, ranks count as deep as those beyond hold at most LARGEST_ERROR together.

    Args:
      ids: int64 [B], the original words.
      released: int64 [B, E], what the mechanism released for them.
      epsilons: float64 [E].
      rank_cs: values of c, C of them.
      search: the vocabulary.
    """
    shares = np.empty((len(rank_cs), *released.shape, 3))
    if not len(rank_cs):
        return shares
    words = len(search.vocabulary)
    near = min(CLOSE_RANK, words - 1)
    rates = np.asarray(rank_cs)[:, None] * epsilons  # [C, E]
    first = -np.expm1(-rates) / -np.expm1(-rates * words)  # the probability of rank 0
    stays = np.stack([first, first * _geometric(rates, near)], axis=-1)
    depths = np.ceil(-np.log(LARGEST_ERROR) / rates.min(axis=0)).astype(np.int64)
    for start in range(0, len(ids), _WORDS_PER_BLOCK):
        block = slice(start, start + _WORDS_PER_BLOCK)
        left = released[block] != ids[block, None]
        groups = search.nearest_neighbors(ids[block], near + 1)
        shares[:, block, :, :2] = np.where(left[..., None], 0.0, stays[:, None])
        rows, columns = np.nonzero(left)
        # A word comes out as the same few words at many epsilons: each pair is looked at once.
        pairs, which = np.unique(rows * words + released[block][left], return_inverse=True)
        deepest = np.zeros(len(pairs), np.int64)
        np.maximum.at(deepest, which, depths[columns])
        ranks = search.ranks(pairs % words, groups[pairs // words], deepest)
        looked_at = ranks.min(axis=1)[which] < words
        rows, columns, which = rows[looked_at], columns[looked_at], which[looked_at]
        original, close = ranks[:, :1], np.sort(ranks[:, 1:], axis=1)
        widest = int((close < words).sum(axis=1).max(initial=0))
        for kind, reached in enumerate((original, close[:, :widest])):
            reached = np.where(reached < words, reached, np.inf)[which]
            chances = np.exp(-rates[:, columns, None] * reached).sum(axis=-1)
            shares[:, start + rows, columns, kind] = first[:, columns] * chances
    shares[..., 2] = np.maximum(0, 1 - shares[..., 0] - shares[..., 1])
    return shares


def _geometric(rates: Floats, ranks: int) -> Floats:
    """The sum of exp(-rate i) over i = 1 … ranks."""
    return np.asarray(np.exp(-rates) * -np.expm1(-rates * ranks) / -np.expm1(-rates))
