"""Readings over all words: what decoders must come to, written down a second time.

A word is a state, the unknown word the last one. Everything is in natural logarithms and float64,
over dense tables of the model that are filled from one context at a time, so nothing is shared with
the decoders but the model's own numbers. ``by_enumeration`` adds up all sequences and has no
recursion to be wrong in.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from dxbeam.audit.references.table import REFERENCES
from dxbeam.mechanisms.public.importance import FrequencyWeights
from dxbeam.space.vocabulary.words import UNKNOWN, Vocabulary

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

WORDS, N, TEXT = 50, 3, 6
"""Words, dimensions, and words of a text that can be enumerated."""

CHOICES: dict[str, tuple[str, dict[str, Any]]] = {
    "santext": ("santext", {"epsilon": 2.0}),
    "santext, weighted": ("santext", {"epsilon": 2.0, "importance": FrequencyWeights(4.0)}),
    "tem": ("tem", {"epsilon": 2.0, "beta": 0.2}),
    "custext": ("custext", {"epsilon": 3.0, "cluster_size": 10}),
    "cluster_response": ("cluster_response", {"epsilon": 3.0, "cluster_size": 10}),
    "diffractor": ("diffractor", {"epsilon": 0.3, "orders": 2}),
    "diffractor_tem": ("diffractor_tem", {"epsilon": 0.3, "gamma": 8, "orders": 2}),
}
"""Mechanisms that choose a word, with parameters."""


def log_emissions(
    mechanism: Any, vocabulary: Vocabulary, observed: npt.NDArray[Any], beyond: float = 0.0
) -> Floats:
    """ln p(observation | x) for every word, the unknown one last: float64 [T, N + 1].

    Args:
      mechanism: what drew.
      vocabulary: N words.
      observed: noisy vectors, float64 [T, n], for a mechanism that adds noise; else released words,
        int64 [T].
      beyond: how far noisy vectors were moved to a grid, at most, beyond the reach of noise.
    """
    places = vocabulary.vectors_of(np.append(np.arange(len(vocabulary)), UNKNOWN))
    if observed.ndim == 2:
        density = _density(mechanism, vocabulary, beyond)
        return np.array([[density(y, x) for x in places] for y in observed])
    released = REFERENCES[mechanism.name].reference(mechanism, vocabulary).released
    assert released is not None
    words = [*range(len(vocabulary)), UNKNOWN]
    channel = np.array([released(word, x) for word, x in zip(words, places, strict=True)])
    with np.errstate(divide="ignore"):
        return np.log(channel[:, observed].T)


def _density(mechanism: Any, vocabulary: Vocabulary, beyond: float) -> Any:
    """(y, x) -> ln of the density at y of the noisy vector of a word at x, up to a number."""
    if mechanism.name == "vickrey":
        return _density(mechanism.source, vocabulary, beyond)
    n, epsilon, clip = vocabulary.dimensions, mechanism.epsilon, getattr(mechanism, "clip", None)

    def start(place: Floats) -> Floats:
        length = math.sqrt(math.fsum(place * place))
        return place if clip is None or length <= clip else place * (clip / length)

    if mechanism.name == "laplace":
        return lambda y, x: -epsilon * math.dist(y, x)
    if mechanism.name == "gaussian":
        return lambda y, x: -(math.dist(y, start(x)) ** 2) / (2 * mechanism.sigma**2)
    if mechanism.name == "mahalanobis":
        weight = mechanism.covariance_weight
        covariance = np.atleast_2d(np.cov(vocabulary.vectors.astype(np.float64), rowvar=False))
        shape = (1 - weight) * np.eye(n) + weight * covariance * n / np.trace(covariance)
        return lambda y, x: -epsilon * math.sqrt((y - x) @ np.linalg.solve(shape, y - x))
    limit = math.inf
    if mechanism.name == "trlaplace":
        limit = mechanism.limit(n) * (1 + 1e-9) + beyond

    def of_coordinates(y: Floats, x: Floats) -> float:
        apart = np.abs(y - start(x))
        return -math.inf if apart.max() > limit else -epsilon / math.sqrt(n) * math.fsum(apart)

    return of_coordinates


def following(model: Any) -> Floats:
    """ln p(y | x): float64 [N + 2, N + 1]; contexts are words, the unknown word and ``start``."""
    words = model.words
    table = np.empty((words + 2, words + 1))
    for row in range(words + 2):
        context = -1 if row == words else row
        table[row] = float(np.asarray(model.backoff(np.array([context])))[0]) * model.continuation
        successors, corrections = model.successors(context)
        for word, correction in zip(successors.tolist(), corrections.tolist(), strict=True):
            table[row, word] += correction
    with np.errstate(divide="ignore"):
        return np.log(table)


def following_two(model: Any) -> Floats:
    """ln p(z | x y) of a model of order 3: float64 [N + 2, N + 2, N + 1]."""
    words, lower = model.words, np.exp(following(model))
    table = np.empty((words + 2, words + 2, words + 1))
    for x, y in itertools.product(range(words + 2), repeat=2):
        first, second = (-1 if row == words else row for row in (x, y))
        weight = np.asarray(model.backoff2(np.array([first]), np.array([second])))
        table[x, y] = float(weight[0]) * lower[y]
        for word, correction in zip(*model.successors2(first, second), strict=True):
            table[x, y, int(word)] += correction
    with np.errstate(divide="ignore"):
        return np.log(table)


def by_prior(log_emissions: Floats, model: Any) -> Floats:
    """p(x_t | observation t) under the model's prior: float64 [T, N + 1].

    Args:
      log_emissions: float64 [T, N + 1], ln p(observation t | x), up to a number for each t.
      model: the public model.
    """
    return _normalized(log_emissions + np.log(model.prior))


def by_context(log_emissions: Floats, begins: Flags, model: Any) -> Floats:
    """p(x_t | all observations) under the bigram model: float64 [T, N + 1].

    Args:
      log_emissions: as for ``by_prior``.
      begins: bool [T], whether a sentence begins at t; the first always does.
      model: the public model.
    """
    table = following(model)
    found = [_forward_backward(log_emissions[part], table) for part in _sentences(begins)]
    return np.concatenate([np.empty((0, model.words + 1)), *found])


def _forward_backward(emissions: Floats, table: Floats) -> Floats:
    words, steps = table.shape[1], table[: table.shape[1]]
    ahead = np.zeros(emissions.shape)
    for t in range(len(emissions) - 2, -1, -1):
        ahead[t] = logsumexp(steps + emissions[t + 1] + ahead[t + 1], axis=1)
    behind = np.empty(emissions.shape)
    for t, seen in enumerate(emissions):
        reached = table[words] if t == 0 else logsumexp(behind[t - 1][:, None] + steps, axis=0)
        behind[t] = reached + seen
    return _normalized(behind + ahead)


def by_enumeration(log_emissions: Floats, begins: Flags, model: Any) -> Floats:
    """As ``by_context``, of order 2 or 3: the sum over all sequences of words of a sentence."""
    words = model.words
    two = following(model)
    three = following_two(model) if model.order == 3 else None
    found = [np.empty((0, words + 1))]
    for part in _sentences(begins):
        emissions = log_emissions[part]
        length = len(emissions)
        shape = (words + 1,) * length
        score = np.zeros(shape)
        for t in range(length):
            score = score + emissions[t].reshape([-1 if i == t else 1 for i in range(length)])
        for places in itertools.product(range(words + 1), repeat=length):
            before = [words + 1, *places]
            for t, word in enumerate(places):
                if three is None or t == 0:
                    score[places] += two[before[t], word]
                else:
                    score[places] += three[before[t - 1], before[t], word]
        every = [
            logsumexp(score, axis=tuple(i for i in range(length) if i != t)) for t in range(length)
        ]
        found.append(_normalized(np.array(every)))
    return np.concatenate(found)


def _sentences(begins: Flags) -> Iterator[slice]:
    starts = [0, *(t for t in range(1, len(begins)) if begins[t]), len(begins)]
    for first, last in itertools.pairwise(starts):
        if last > first:
            yield slice(first, last)


def _normalized(scores: Floats) -> Floats:
    return np.asarray(np.exp(scores - logsumexp(scores, axis=1, keepdims=True)))
