"""What mechanisms that draw a word by its place in a public order have in common.

Orders are chains of words (dxbeam/space/vocabulary/word_order.py), made of the public vocabulary
only. Of several orders each word draws one, with separate random numbers and whatever the word is.
Words outside the vocabulary are treated as the word nearest to the public unknown word's vector, so
what holds for that word holds for every such string.

Several orders. In each of them the loss is at most epsilon times the number of steps there, so it
is at most epsilon times the largest number of steps over all orders for what is released, of which
each probability is a mean over the orders.

Floating point, u = 2^-53 being the unit roundoff. A uniform number is relatively exact down to
2^-960 (noise.py). Its logarithm, up to 667, and the few operations next to it move the border
between two places by a share of 2^-43 of the probability beyond the border, which is at most
1 / (1 - exp(-epsilon / 2)) <= 2001 times that of the place itself: by a share of 2^-32 of it.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dxbeam.guarantees import Guarantee, Metric, pure
from dxbeam.mechanisms.parameters import checked_epsilon, checked_whole, settle
from dxbeam.mechanisms.sampling.noise import TAIL_DRAWS, below
from dxbeam.randomness import Random
from dxbeam.space.search.neighbors import Ids, NeighborSearch
from dxbeam.space.vocabulary.word_order import word_orders
from dxbeam.space.vocabulary.words import Vocabulary

LARGEST_ORDERS = 16

SIZE_BITS = 63
"""Of a word's first random number; the highest bit is a sign."""

_SIGN_BIT = np.uint64(SIZE_BITS)
_SIZE = np.uint64((1 << SIZE_BITS) - 1)
_NUMBER = 0
_TAIL = slice(1, 1 + TAIL_DRAWS)
_ORDER, _FAR = TAIL_DRAWS + 1, TAIL_DRAWS + 2

DRAWS = TAIL_DRAWS + 3
"""Random numbers per word: of its place, their tail, of the order, and of a far place."""

ROUNDED_PLACE = (
    "The proof is for exact arithmetic. In 64-bit floating point every word's probability is "
    "within a factor of 1 +- 4e-9 of the exact one, down to probabilities of 2^-900 (for up to a "
    "million words)."
)
"""What a guarantee says of computed places; the derivation is above."""


class Orders(NamedTuple):
    """Some orders of N words.

    Attributes:
      words: int32 [k, N], the word at each place.
      places: int32 [k, N], the place of each word.
    """

    words: npt.NDArray[np.int32]
    places: npt.NDArray[np.int32]


@dataclass(frozen=True)
class OrderChoice:
    """A mechanism that draws a word by its place in one of some public orders.

    Attributes:
      epsilon: privacy parameter per step in the order.
    """

    epsilon: float

    def __post_init__(self) -> None:
        settle(self, epsilon=checked_epsilon(self.epsilon))

    def draws(self, dimensions: int) -> int:  # noqa: ARG002
        """Random numbers per word."""
        return DRAWS


class Drawn(NamedTuple):
    """What is drawn for each word before its place is known.

    Attributes:
      order: int64 [B], the number of its order.
      size: uint64 [B], SIZE_BITS random bits.
      tail: uint64 [B, TAIL_DRAWS], the further numbers of ``size``.
      up: bool [B], a fair coin.
      far: uint64 [B], a number for a draw among far places.
    """

    order: Ids
    size: Random
    tail: Random
    up: Ids
    far: Random


def checked_orders(orders: float) -> int:
    """The number of orders as an int; refused unless a whole number from 1 to LARGEST_ORDERS."""
    meaning = "how many public orders of the words there are, of which each word draws one"
    return checked_whole("orders", orders, 1, LARGEST_ORDERS, meaning)


def orders_of(search: NeighborSearch, count: int) -> Orders:
    """Orders of a vocabulary, computed once: chains from words spread through the file."""

    def compute(vocabulary: Vocabulary) -> Orders:
        words = word_orders(vocabulary, count)
        return Orders(words, np.argsort(words, axis=1).astype(np.int32))

    return search.computed_once(("word orders", count), compute)


def drawn(random: Random, orders: int) -> Drawn:
    """What is drawn for words that have these random numbers, uint64 [B, DRAWS]."""
    number = random[:, _NUMBER]
    return Drawn(
        below(orders, random[:, _ORDER]),
        number & _SIZE,
        random[:, _TAIL],
        (number >> _SIGN_BIT).astype(bool),
        random[:, _FAR],
    )


def by_steps(
    epsilon: float, orders: int, *, ring: bool, limit: int | None, citation: str
) -> Guarantee:
    """Epsilon for each step between two words, in the order that has them farthest apart.

    ``ring`` says whether the last word is followed by the first, ``limit`` up to which steps count.
    """
    which = (
        "the public order of the words"
        if orders == 1
        else f"that of {orders} public orders of the words in which it is largest"
    )
    around = ", the last word being followed by the first" if ring else ""
    metric = Metric(
        "rank",
        f"number of steps between the words in {which}{around}, which is not a distance in meaning",
    )
    if limit is not None:
        metric = metric.limited(f"but at most {limit}")
    promise = pure(
        epsilon,
        citation,
        metric,
        caveats=(
            "Words one step apart in the order may be unlike each other, and words alike thousands "
            "of steps apart: the promise is about places in a list.",
            "The order follows from the vocabulary's own order and vectors; words outside it stand "
            "where the word nearest to the unknown word's vector does.",
        ),
        arithmetic=ROUNDED_PLACE,
    )
    cap = None if limit is None else epsilon * limit
    return dataclasses.replace(promise, euclidean_epsilon=None, cap=cap)
