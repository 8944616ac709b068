"""The channel of mechanisms that draw a word of the original's public cluster.

Words outside the vocabulary have the row of the word that stands in for them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dxbeam.space.search.exact_arithmetic import log
from dxbeam.space.search.neighbors import Floats, Ids, NeighborSearch
from dxbeam.space.search.offset_search import NOTHING
from dxbeam.space.vocabulary.clusters import Partition


class ClusterChannel:
    """P(z | x) of words of one cluster, ``shares`` of int64 [m] each; 0 between clusters."""

    def __init__(
        self, parts: Partition, shares: Callable[[Ids, Ids], Floats], search: NeighborSearch
    ):
        self._parts, self._shares, self._search = parts, shares, search

    def likely(self, drawn: Ids, offsets: Floats, count: int) -> Ids:  # noqa: ARG002
        """As ``WordChannel`` says: all words of the drawn word's cluster."""
        parts = self._parts
        clusters = parts.number[drawn]
        places = np.arange(max(count, int(parts.size[clusters].max(initial=0))))
        there = places < parts.size[clusters][:, None]
        at = parts.start[clusters][:, None] + places
        return np.where(there, parts.members[np.minimum(at, len(parts.members) - 1)], NOTHING)

    def logs(self, drawn: Ids, words: Ids) -> Floats:
        """As ``WordChannel`` says."""
        originals = self._search.stand_ins(words.ravel()).reshape(words.shape)
        result = np.full(words.shape, -np.inf)
        row, column = np.nonzero(
            self._parts.number[originals] == self._parts.number[drawn][:, None]
        )
        result[row, column] = log(self._shares(drawn[row], originals[row, column]))
        return result
