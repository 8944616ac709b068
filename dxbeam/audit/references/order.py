"""What mechanisms that draw a word by its place in a public order should do.

Orders are made by looking at all words each time, and probabilities are added up place by place.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from dxbeam.audit.references.distributions import Floats, Reference, distances_from
from dxbeam.space.vocabulary.words import Vocabulary

Ids = npt.NDArray[np.int64]


def diffractor(mechanism: Any, vocabulary: Vocabulary) -> Reference:
    """Steps of a two-sided geometric distribution, those beyond an end made up to it."""
    share = math.exp(-mechanism.epsilon)

    def by_place(place: int) -> Floats:
        steps = np.abs(np.arange(len(vocabulary)) - place)
        result = (1 - share) / (1 + share) * share**steps
        result[0], result[-1] = (share ** steps[[0, -1]]) / (1 + share)
        return result if len(result) > 1 else np.ones(1)

    return _of_orders(mechanism, vocabulary, by_place, lambda i, j: abs(i - j))


def diffractor_tem(mechanism: Any, vocabulary: Vocabulary) -> Reference:
    """By the number of steps up to gamma: half of epsilon on a line, all of it on a ring."""
    words, gamma, ring = len(vocabulary), mechanism.gamma, mechanism.shape == "ring"
    rate = mechanism.epsilon if ring else mechanism.epsilon / 2

    def steps(i: int, j: Any) -> Any:
        apart = np.abs(i - j)
        return np.minimum(np.minimum(apart, words - apart) if ring else apart, gamma)

    def by_place(place: int) -> Floats:
        weights = np.exp(-rate * steps(place, np.arange(words)))
        return np.asarray(weights / weights.sum())

    return _of_orders(mechanism, vocabulary, by_place, steps)


def _chain(vocabulary: Vocabulary, start: int) -> Ids:
    vectors = vocabulary.vectors.astype(np.float64)
    left, order = np.delete(np.arange(len(vectors)), start), [start]
    while len(left):
        apart = np.linalg.norm(vectors[left] - vectors[order[-1]], axis=1)
        nearest = int(apart.argmin())
        order.append(int(left[nearest]))
        left = np.delete(left, nearest)
    return np.array(order)


def _of_orders(
    mechanism: Any,
    vocabulary: Vocabulary,
    by_place: Callable[[int], Floats],
    steps: Callable[[int, int], Any],
) -> Reference:
    """The mean over the orders, and the largest number of steps in any of them."""
    starts = [number * len(vocabulary) // mechanism.orders for number in range(mechanism.orders)]
    orders = [_chain(vocabulary, start) for start in starts]
    places = [np.argsort(order) for order in orders]

    def stand_in(place: Floats) -> int:
        return int(distances_from(place, vocabulary).argmin())

    def distribution(word: int, start: Floats) -> Floats:
        center, result = word if word >= 0 else stand_in(start), np.zeros(len(vocabulary))
        for order, place in zip(orders, places, strict=True):
            result[order] += by_place(int(place[center]))
        return result / len(orders)

    def apart(x: Floats, y: Floats) -> float:
        first, second = stand_in(x), stand_in(y)
        return float(max(steps(int(place[first]), int(place[second])) for place in places))

    return Reference(
        loss=lambda x, y: mechanism.epsilon * apart(x, y),
        released=distribution,
        apart=apart,
    )
