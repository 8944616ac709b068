"""What rank resampling makes of released words, in expectation instead of by a further draw.

With q = exp(-epsilon c) and N words the neighbour of rank i around the mechanism's output x* (0 is
x* itself) is released with probability (1 - q) q^i / (1 - q^N).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dxbeam.analysis.every_epsilon import Floats, Ids
from dxbeam.space.neighbors import CLOSE_RANK, NeighborSearch

LARGEST_ERROR = 1e-3
"""Shares with rank resampling are off by so much at most, apart from the sampling of words."""

_WORDS_PER_BLOCK = 64


def resampled_shares(
    ids: Ids, released: Ids, epsilons: Floats, rank_cs: Sequence[float], search: NeighborSearch
) -> Floats:
    """What rank resampling makes of released words, in expectation: float64 [C, B, E, 3].

    The neighbour table answers where the ranks beyond it hold at most LARGEST_ERROR together;
    elsewhere all distances around the released word are sorted.

    Args:
      ids: int64 [B], the original words.
      released: int64 [B, E], what the mechanism released for them.
      epsilons: float64 [E].
      rank_cs: values of c, C of them.
      search: the vocabulary, with its neighbour table.
    """
    words = len(search.vocabulary)
    near = min(CLOSE_RANK, words - 1)
    table = search.vocabulary.neighbor_ids
    depth = 0 if table is None else table.shape[1]
    rates = np.asarray(rank_cs)[:, None] * epsilons  # [C, E]
    first = -np.expm1(-rates) / -np.expm1(-rates * words)  # the probability of rank 0
    stays = np.stack([first, first * _geometric(rates, near)], axis=-1)
    deep = (np.exp(-depth * rates) > LARGEST_ERROR).any(axis=0) & (depth < words - 1)
    groups = search.nearest_neighbors(ids, near + 1)
    shares = np.empty((len(rank_cs), *released.shape, 3))
    for start in range(0, len(ids), _WORDS_PER_BLOCK):
        block = slice(start, start + _WORDS_PER_BLOCK)
        ranks = _Ranks(search, depth, released[block][:, deep])
        for row in range(*block.indices(len(ids))):
            stayed = released[row] == ids[row]
            shares[:, row, stayed, :2] = stays[:, stayed]
            left = np.flatnonzero(~stayed)
            outputs, which = np.unique(released[row, left], return_inverse=True)
            found = ranks.of(groups[row], outputs)
            chances = np.exp(-rates[:, left, None] * found[which]) * first[:, left, None]
            shares[:, row, left, 0] = chances[..., 0]
            shares[:, row, left, 1] = chances[..., 1:].sum(axis=-1)
    shares[..., 2] = np.maximum(0, 1 - shares[..., 0] - shares[..., 1])
    return shares


def _geometric(rates: Floats, ranks: int) -> Floats:
    """The sum of exp(-rate i) over i = 1 … ranks."""
    return np.asarray(np.exp(-rates) * -np.expm1(-rates * ranks) / -np.expm1(-rates))


class _Ranks:
    """Ranks of the words of a group around released words.

    Args:
      search: the vocabulary.
      depth: how many neighbours its table has.
      deep: int64, released words around which ranks beyond the table count as well.
    """

    def __init__(self, search: NeighborSearch, depth: int, deep: Ids):
        self._search = search
        self._depth = depth
        self._place = np.full(len(search.vocabulary), -1, np.int32)  # in the group, or -1
        vectors = search.vocabulary.vectors
        self._deep = np.unique(deep)
        if len(self._deep):
            squares = search.computed_once(
                _Ranks, lambda _: np.einsum("ij,ij->i", vectors, vectors)
            )
            self._scores = squares - 2 * (vectors[self._deep] @ vectors.T)
            self._scores[np.arange(len(self._deep)), self._deep] = -np.inf

    def of(self, group: Ids, outputs: Ids) -> Floats:
        """float64 [U, 1 + k]: the rank of the group's first word, then those of k others.

        Which of the others stands where is of no interest. A rank is infinite where a word stands
        beyond the table, unless the output is one of those that are looked up in full.

        Args:
          group: int64 [G], distinct words.
          outputs: int64 [U], in increasing order.
        """
        self._place[group] = np.arange(len(group))
        places = self._place[self._search.nearest_neighbors(outputs, self._depth + 1)]
        self._place[group] = -1
        rows, columns = np.nonzero(places >= 0)
        ranks = np.full((len(outputs), len(group)), np.inf)
        ranks[rows, places[rows, columns]] = columns
        for row in np.flatnonzero(np.isin(outputs, self._deep)):
            scores = self._scores[np.searchsorted(self._deep, outputs[row])]
            # Equally far words share the lowest rank.
            ranks[row] = np.searchsorted(np.sort(scores), scores[group])
        widest = int(np.isfinite(ranks[:, 1:]).sum(axis=1).max(initial=0))
        return np.concatenate([ranks[:, :1], np.sort(ranks[:, 1:], axis=1)[:, :widest]], axis=1)
