"""How far from the original a released word is: its rank among the original's neighbours.

The rank of a released word is the number of words nearer to the original than it, 0 for the
original itself. Ranks are counted in bins that grow about twofold, with borders at 1 and at 101, so
that the shares of original, close and distant words are sums of bins.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from dxbeam.space.search.distance_rows import half_squares
from dxbeam.space.search.neighbors import CLOSE_RANK, Ids, NeighborSearch

Floats = npt.NDArray[np.float64]

_STEPS = (1, 2, 5)
_WORDS_PER_BLOCK = 64


def first_ranks(words: int) -> Ids:
    """The first rank of each bin, in a vocabulary of N words: 0, 1, 2, 3, 6, 11, 21, 51, 101, …."""
    ends = [step * 10**power for power in range(len(str(words))) for step in _STEPS]
    return np.array([0, 1] + [end + 1 for end in ends if end + 1 < words], np.int64)


def histogram(
    ids: Ids, released: Ids, kinds: Ids, search: NeighborSearch, threads: int = 2
) -> Floats:
    """How many released words have a rank in each bin, at each epsilon.

    Distances are compared in float32, so that of words at nearly equal distances either may come
    first; whether a word is original, close or distant is taken as given.

    Args:
      ids: int64 [B], the original words.
      released: int64 [B, E].
      kinds: int64 [B, E], 0 for original, 1 for close, 2 for distant.
      search: the vocabulary.
      threads: blocks of words that are ranked side by side.

    Returns:
      float64 [E, bins].
    """
    first = first_ranks(len(search.vocabulary))
    blocks = [
        slice(start, start + _WORDS_PER_BLOCK) for start in range(0, len(ids), _WORDS_PER_BLOCK)
    ]
    half_squares(search)  # before the threads, so that it is computed once
    with threadpool_limits(1, "blas"), ThreadPoolExecutor(threads) as pool:
        parts = pool.map(lambda rows: _ranks(ids[rows], released[rows], search), blocks)
        ranks = np.concatenate([np.zeros((0, released.shape[1]), np.int64), *parts])
    ranks = np.where(kinds == 1, np.clip(ranks, 1, CLOSE_RANK), ranks)
    ranks = np.where(kinds == 2, np.maximum(ranks, CLOSE_RANK + 1), ranks)
    ranks = np.where(kinds == 0, 0, ranks)
    bins = np.searchsorted(first, ranks, side="right") - 1
    return np.stack([np.bincount(column, minlength=len(first)) for column in bins.T]).astype(float)


def _ranks(ids: Ids, released: Ids, search: NeighborSearch) -> Ids:
    """How many words are nearer to the original than each released one: int64 [B, E]."""
    vectors = search.vocabulary.vectors
    nearness = vectors[ids] @ vectors.T  # <w, x> - |x|^2 / 2 falls with the distance
    nearness -= half_squares(search)
    ranks = np.empty(released.shape, np.int64)
    for row, near in enumerate(nearness):
        outputs, which = np.unique(released[row], return_inverse=True)
        ranks[row] = np.array([np.count_nonzero(near > near[word]) for word in outputs])[which]
    return ranks
