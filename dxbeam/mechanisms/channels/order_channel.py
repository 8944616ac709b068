"""The channel of mechanisms that draw a word by its place in one of some public orders.

    P(z | x)  =  mean over the orders of P(place of z | place of x),

each of them a function of the number of steps between the two places, of where z is and of where x
is. A word outside the vocabulary has the row of the word that stands in for it.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from dxbeam.mechanisms.sampling.order_choice import Orders
from dxbeam.space.search.exact_arithmetic import exp, log
from dxbeam.space.search.neighbors import Floats, Ids, NeighborSearch

_PLACES_AT_ONCE = 1 << 20


class PlaceLaw(Protocol):
    """Ln P(j | i) of places j drawn for places i, of one order of this many words."""

    def __call__(self, drawn: Ids, originals: Ids, words: int) -> Floats:
        """Ln P(j | i) of int64 arrays that broadcast, places from 0 to words - 1, in float64."""
        ...


class OrderChannel:
    """P(z | x) of a mixture of orders: of diffractor and diffractor_tem.

    Args:
      orders: the public orders.
      law: of places in one of them.
      search: the vocabulary.
    """

    def __init__(self, orders: Orders, law: PlaceLaw, search: NeighborSearch):
        self._orders, self._law, self._search = orders, law, search

    def likely(self, drawn: Ids, offsets: Floats, count: int) -> Ids:
        """As ``WordChannel`` says: every word is compared."""
        count = min(count, len(offsets))
        sources = np.empty((len(drawn), count), np.int64)
        every = np.arange(len(offsets))
        rows = max(1, _PLACES_AT_ONCE // len(offsets))
        for start in range(0, len(drawn), rows):
            part = slice(start, start + rows)
            values = offsets + self._logs(drawn[part, None], every[None])
            for row, value in enumerate(values, start):
                least = np.partition(value, -count)[-count]
                near = np.flatnonzero(value >= least)
                sources[row] = near[np.lexsort((near, -value[near]))[:count]]
        return sources

    def logs(self, drawn: Ids, words: Ids) -> Floats:
        """As ``WordChannel`` says."""
        originals = self._search.stand_ins(words.ravel()).reshape(words.shape)
        return self._logs(drawn[:, None], originals)

    def _logs(self, drawn: Ids, originals: Ids) -> Floats:
        words = len(self._search.vocabulary)
        by_order: list[npt.NDArray[np.float64]] = [
            self._law(places[drawn].astype(np.int64), places[originals].astype(np.int64), words)
            for places in self._orders.places
        ]
        if len(by_order) == 1:
            return by_order[0]
        largest = np.maximum.reduce(by_order)
        total = np.zeros(largest.shape)
        for each in by_order:
            total += exp(each - largest)
        return np.asarray(largest + log(total / len(by_order)))
