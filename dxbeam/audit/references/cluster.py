"""What mechanisms that draw from a set of words should do: a public cluster, or a word's nearest.

Clusters are made by looking at all words each time, and t is solved for in real numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import optimize
from scipy.special import softmax

from dxbeam.audit.references.distributions import Floats, Reference, distances_from
from dxbeam.space.vocabulary.words import Vocabulary

Ids = npt.NDArray[np.int64]

_NUMBERS = 1e-15  # above 2^-62 words of probability for each word of a cluster


def custext(mechanism: Any, vocabulary: Vocabulary) -> Reference:
    """By distance within the cluster, as steeply as epsilon allows or half as steeply or so."""
    epsilon = mechanism.epsilon

    def scores(members: Ids) -> Floats:
        vectors = vocabulary.vectors[members].astype(np.float64)
        apart = np.linalg.norm(vectors[:, None] - vectors, axis=2)
        return np.asarray(-epsilon / 2 * apart / (apart.max() or 1.0))

    def loss(t: float, of: Floats) -> float:
        logs = np.log(np.maximum(softmax(t * of, axis=1), 2.0**-62))
        return float((logs.max(axis=0) - logs.min(axis=0)).max())

    @lru_cache
    def table(number: int) -> Floats:
        of = scores(words_of(number))
        if mechanism.scale == "published" or not of.any():
            return np.asarray(softmax(of, axis=1))
        t = optimize.brentq(lambda t: loss(t, of) - epsilon, 1.0, 1e3, xtol=1e-13, rtol=1e-13)
        return np.asarray(softmax(t * of, axis=1))

    numbers, words_of = _partition(vocabulary, mechanism.cluster_size)

    def distribution(word: int, start: Floats) -> Floats:
        number, center = _stand_in(word, start, vocabulary, numbers)
        result, members = np.zeros(len(vocabulary)), words_of(number)
        result[members] = table(number)[np.searchsorted(members, center)]
        return result

    return _of_clusters(epsilon, vocabulary, numbers, distribution, 1e-8)


def cluster_response(mechanism: Any, vocabulary: Vocabulary) -> Reference:
    """The word itself e^epsilon times as often as each other word of its cluster."""
    numbers, words_of = _partition(vocabulary, mechanism.cluster_size)

    def distribution(word: int, start: Floats) -> Floats:
        number, center = _stand_in(word, start, vocabulary, numbers)
        result = np.zeros(len(vocabulary))
        result[words_of(number)] = 1.0
        result[center] = math.exp(mechanism.epsilon)
        return np.asarray(result / result.sum())

    return _of_clusters(mechanism.epsilon, vocabulary, numbers, distribution, _NUMBERS)


def custext_published(mechanism: Any, vocabulary: Vocabulary) -> Reference:
    """By distance among the word's own nearest; nothing is claimed."""
    k = min(mechanism.k, len(vocabulary))

    def distribution(word: int, start: Floats) -> Floats:
        apart = distances_from(start, vocabulary)
        keys = np.where(np.arange(len(apart)) == word, -1.0, apart)
        near = np.argsort(keys, kind="stable")[:k]
        width = apart[near[-1]] - apart[near[0]] or 1.0
        result = np.zeros(len(apart))
        result[near] = softmax(-mechanism.epsilon / 2 * (apart[near] - apart[near[0]]) / width)
        return result

    return Reference(loss=lambda *_: math.inf, released=distribution)


def _partition(vocabulary: Vocabulary, size: int) -> tuple[Ids, Callable[[int], Ids]]:
    """Each word's cluster, and the words of a cluster in increasing order."""
    numbers = np.full(len(vocabulary), -1)
    for number in range(max(len(numbers) // size, 1)):
        left = np.flatnonzero(numbers < 0)
        if len(left) < 2 * size:
            numbers[left] = number
            break
        apart = distances_from(vocabulary.vectors[left[0]].astype(np.float64), vocabulary)[left]
        apart[0] = -1.0
        for _ in range(size):
            nearest = int(apart.argmin())
            numbers[left[nearest]], apart[nearest] = number, np.inf
    return numbers, lambda number: np.flatnonzero(numbers == number)


def _stand_in(word: int, start: Floats, vocabulary: Vocabulary, numbers: Ids) -> tuple[int, int]:
    """The cluster of a word and the word that it is treated as."""
    center = word if word >= 0 else int(distances_from(start, vocabulary).argmin())
    return int(numbers[center]), center


def _of_clusters(
    epsilon: float,
    vocabulary: Vocabulary,
    numbers: Ids,
    released: Callable[[int, Floats], Floats],
    tolerance: float,
) -> Reference:
    """Epsilon between words of one cluster; words at other places are the nearest one."""

    def steps(x: Floats, y: Floats) -> float:
        first, second = (int(distances_from(place, vocabulary).argmin()) for place in (x, y))
        if numbers[first] != numbers[second]:
            return math.inf
        return float(first != second)

    return Reference(
        loss=lambda x, y: epsilon * steps(x, y),
        released=released,
        tolerance=tolerance,
        apart=steps,
    )
