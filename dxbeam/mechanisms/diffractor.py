"""Two-sided geometric noise on a word's place in a public order of all words.

Meisenbacher, Chevli, Matthes: 1-Diffractor: efficient and utility-preserving text obfuscation
leveraging word-level metric differential privacy (2024), geometric variant: Ghosh, Roughgarden,
Sundararajan: Universally utility-maximizing privacy mechanisms (2009), on the places 0 … N - 1.
With a = exp(-epsilon), Z steps from the place i are made, P(Z = z) = (1 - a) / (1 + a) a^|z|, as
far as the ends of the order: P(j | i) = (1 - a) / (1 + a) a^|i - j| within, a^i / (1 + a) and
a^(N - 1 - i) / (1 + a) at the ends.

Proof. A step from i to i + 1 changes |i - j| by 1 for every j, so each probability by a factor of
at most e^epsilon; the same at the ends. So the loss is at most epsilon |i - i'|.

What that protects is a place in a list: how alike words are has entered the order, and no more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dxbeam.guarantees import Guarantee
from dxbeam.mechanisms.channels.order_channel import OrderChannel
from dxbeam.mechanisms.channels.word_channel import WordChannel
from dxbeam.mechanisms.parameters import settle
from dxbeam.mechanisms.sampling.noise import uniform
from dxbeam.mechanisms.sampling.order_choice import (
    SIZE_BITS,
    OrderChoice,
    by_steps,
    checked_orders,
    drawn,
    orders_of,
)
from dxbeam.randomness import Random
from dxbeam.space.search.neighbors import Floats, Ids, NeighborSearch


@dataclass(frozen=True)
class Diffractor(OrderChoice):
    """Word to place to place to word.

    Attributes:
      epsilon: privacy parameter per step in the order.
      orders: of how many public orders each word draws one.
    """

    orders: int = 1
    name: ClassVar[str] = "diffractor"

    def __post_init__(self) -> None:
        super().__post_init__()
        settle(self, orders=checked_orders(self.orders))

    def release(self, ids: Ids, random: Random, search: NeighborSearch) -> Ids:
        """The word this many steps from each word: int64 [B] -> int64 [B]."""
        orders, chance = orders_of(search, self.orders), drawn(random, self.orders)
        places = orders.places[chance.order, search.stand_ins(ids)].astype(np.int64)
        # P(|Z| >= z) = 2 a^z / (1 + a) for z >= 1, so |Z| is the last z with u at most that.
        beyond = uniform(chance.size, chance.tail, SIZE_BITS) * ((1 + math.exp(-self.epsilon)) / 2)
        last = len(search.vocabulary) - 1
        steps = np.minimum(np.floor(-np.log(beyond) / self.epsilon), last).astype(np.int64)
        places += np.where(chance.up, steps, -steps)
        return orders.words[chance.order, np.clip(places, 0, last)].astype(np.int64)

    def channel(self, search: NeighborSearch) -> WordChannel:
        """Falls with the number of steps, and is larger at the ends of an order."""
        return OrderChannel(orders_of(search, self.orders), self._log_of_place, search)

    def _log_of_place(self, drawn: Ids, originals: Ids, words: int) -> Floats:
        """Ln P(j | i), as ``PlaceLaw``."""
        share = math.exp(-self.epsilon)
        within, at_an_end = math.log((1 - share) / (1 + share)), -math.log1p(share)
        start = np.where((drawn == 0) | (drawn == words - 1), at_an_end, within)
        if words == 1:
            start = np.zeros(drawn.shape)
        return np.asarray(start - self.epsilon * np.abs(drawn - originals))

    def guarantee(self) -> Guarantee:
        """Pure epsilon for each step between two words, for every pair of strings."""
        citation = "Ghosh et al. 2009; proof in dxbeam/mechanisms/diffractor.py"
        return by_steps(self.epsilon, self.orders, ring=False, limit=None, citation=citation)
