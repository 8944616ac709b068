"""The truncated exponential mechanism on a word's place in a public order of all words.

Meisenbacher, Chevli, Matthes: 1-Diffractor (2024), with the truncated exponential mechanism of
tem.py on places i: all words g steps or more away are alike. On a line, where the order has two
ends, P(j | i) is proportional to exp(-epsilon min(|i - j|, g) / 2). On a ring, where its last word
is followed by its first, it is proportional to exp(-epsilon min(r, g)), r being the number of steps
the shorter way round.

Proof. min(|i - j|, g) and min(r, g) are metrics, so on a line the proof of santext.py holds. On a
ring every word has the same sum of weights, so that nothing is lost to it: the weights change by a
factor of at most exp(epsilon min(r, g)), and all of epsilon may be theirs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from dxbeam.guarantees import Guarantee
from dxbeam.mechanisms.channels.order_channel import OrderChannel
from dxbeam.mechanisms.channels.word_channel import WordChannel
from dxbeam.mechanisms.parameters import checked_choice, checked_whole, choice, settle
from dxbeam.mechanisms.sampling.noise import below, uniform
from dxbeam.mechanisms.sampling.order_choice import (
    SIZE_BITS,
    OrderChoice,
    by_steps,
    checked_orders,
    drawn,
    orders_of,
)
from dxbeam.randomness import Random
from dxbeam.space.search.exact_arithmetic import log
from dxbeam.space.search.neighbors import Floats, Ids, NeighborSearch

RING, LINE = SHAPES = ("ring", "line")

_LARGEST_GAMMA = 1 << 30


class _Reach(NamedTuple):
    """The places around some places that are nearer than g steps, by their number of steps.

    Attributes:
      down, up: int64 [B], how many there are below and above.
      far: int64 [B], how many places are further away.
    """

    down: Ids
    up: Ids
    far: Ids


@dataclass(frozen=True)
class DiffractorTEM(OrderChoice):
    """Word to place to place to word.

    Attributes:
      epsilon: privacy parameter per step in the order.
      gamma: g, the number of steps from which on words are alike.
      shape: ring, where the last word of the order is followed by its first; or line.
      orders: of how many public orders each word draws one.
    """

    gamma: int = 5
    shape: str = choice(*SHAPES, default=RING)
    orders: int = 1
    name: ClassVar[str] = "diffractor_tem"

    def __post_init__(self) -> None:
        super().__post_init__()
        meaning = "the number of steps from which on words are alike"
        gamma = checked_whole("gamma", self.gamma, 1, _LARGEST_GAMMA, meaning)
        settle(self, gamma=gamma)
        checked_choice("shape", self.shape, SHAPES, "whether the order has two ends")
        settle(self, orders=checked_orders(self.orders))

    def release(self, ids: Ids, random: Random, search: NeighborSearch) -> Ids:
        """The word at a place around each word's: int64 [B] -> int64 [B]."""
        orders, chance = orders_of(search, self.orders), drawn(random, self.orders)
        places = orders.places[chance.order, search.stand_ins(ids)].astype(np.int64)
        words = len(search.vocabulary)
        reach = self._reach(places, words)
        share = uniform(chance.size, chance.tail, SIZE_BITS)
        steps, one_sided, is_far = self._steps(share, reach)
        up = np.where(one_sided, reach.up > reach.down, chance.up)
        # Far places come after those that are reached upwards, and go on at the other end.
        beyond = reach.up + 1 + below(np.maximum(reach.far, 1), chance.far)
        moved = places + np.where(is_far, beyond, np.where(up, steps, -steps))
        if self.shape == LINE:
            around = is_far & (moved >= words)
            moved[around] -= words
        else:
            moved %= words
        return orders.words[chance.order, moved].astype(np.int64)

    def _reach(self, places: Ids, words: int) -> _Reach:
        if self.shape == LINE:
            down, up = (np.minimum(end, self.gamma - 1) for end in (places, words - 1 - places))
        else:
            half = np.full(len(places), min((words - 1) // 2, self.gamma - 1))
            # The place opposite to one on a ring of an even number is reached one way only.
            opposite = words % 2 == 0 and words // 2 < self.gamma
            down, up = half, half + opposite
        return _Reach(down, up, words - 1 - down - up)

    def _steps(self, share: Floats, reach: _Reach) -> tuple[Ids, Ids, Ids]:
        """How many steps are made, by the inverse distribution function from its rare end.

        Far places come first, then steps that can be made one way only, then those that can be made
        both ways, the most steps first in each, and then none. Of uniform numbers, float64 [B]:
        int64 [B], and whether this many can be made one way only, and whether the place is a far
        one, bool [B].
        """
        rate = self._rate
        both, most = np.minimum(reach.down, reach.up), np.maximum(reach.down, reach.up)
        far = reach.far * np.exp(-rate * self.gamma)
        outer, inner = _powers(rate, both + 1, most), 2 * _powers(rate, np.ones_like(both), both)
        left = share * (far + outer + inner + 1)
        is_far = (left <= far) & (reach.far > 0)
        left = left - far
        one_sided = (left <= outer) & (most > both)
        two_sided = ~one_sided & (left - outer <= inner) & (both > 0)
        steps = np.select(
            [one_sided, two_sided],
            [
                np.maximum(_last(rate, left, most), both + 1),
                np.maximum(_last(rate, (left - outer) / 2, both), 1),
            ],
            0,
        )
        return steps, one_sided, is_far

    def channel(self, search: NeighborSearch) -> WordChannel:
        """Falls with the number of steps up to gamma."""
        return OrderChannel(orders_of(search, self.orders), self._log_of_place, search)

    def _log_of_place(self, drawn: Ids, originals: Ids, words: int) -> Floats:
        """Ln P(j | i), as ``PlaceLaw``."""
        steps = np.abs(drawn - originals)
        if self.shape == RING:
            steps = np.minimum(steps, words - steps)
        reach = self._reach(originals.ravel(), words)
        sums = np.asarray(1 + reach.far * math.exp(-self._rate * self.gamma), np.float64)
        for side in (reach.down, reach.up):
            sums = sums + _powers(self._rate, np.ones_like(side), side)
        scaled = -self._rate * np.minimum(steps, self.gamma)
        return np.asarray(scaled - log(sums).reshape(originals.shape))

    @property
    def _rate(self) -> float:
        """What the logarithm of a probability falls by with each step."""
        return self.epsilon if self.shape == RING else self.epsilon / 2

    def guarantee(self) -> Guarantee:
        """Pure epsilon for each step between two words, up to gamma, for every pair of strings."""
        citation = "Carvalho et al. 2021, theorem 1; proof in dxbeam/mechanisms/diffractor_tem.py"
        ring = self.shape == RING
        return by_steps(self.epsilon, self.orders, ring=ring, limit=self.gamma, citation=citation)


def _powers(rate: float, first: Ids, last: Ids) -> Floats:
    """The sum of exp(-rate k) over k = first … last, float64 [B]; 0 where there is none."""
    count = np.maximum(last - first + 1, 0)
    return np.asarray(np.exp(-rate * first) * np.expm1(-rate * count) / np.expm1(-rate))


def _last(rate: float, left: Floats, end: Ids) -> Ids:
    """The largest k with exp(-rate k) + … + exp(-rate end) at least ``left``: int64 [B]."""
    power = np.maximum(left, 0.0) * -np.expm1(-rate) + np.exp(-rate * (end + 1))
    with np.errstate(divide="ignore"):
        steps = np.floor(np.log(power) / -rate)
    return np.asarray(np.minimum(steps, end).astype(np.int64))
