"""What mechanisms that draw a word by its distance should do, from their papers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats
from scipy.special import softmax

from dxbeam.audit.references.distributions import Floats, Reference, distances_from, euclidean
from dxbeam.mechanisms import WeighsWords
from dxbeam.space.vocabulary.words import Vocabulary

NextWord = Callable[[Floats, int, int], Floats]
"""(place of the original [n], the word released before the last, the last one) -> the distribution
of the released word [N]. A word before is an id, UNKNOWN, or BEGIN at the start of a sentence."""

BEGIN = -2


def santext(mechanism: Any, vocabulary: Vocabulary) -> Reference:
    """Proportional to q exp(-epsilon d / 2), or with public weights to q exp(-d' / 2)."""
    epsilon = mechanism.epsilon
    apart = _with_weights(mechanism, vocabulary, lambda d: epsilon * d)
    return apart.reference(epsilon)


@dataclass(frozen=True)
class _Apart:
    """What is in the exponents: a metric between words, or with public weights d' = d + rho.

    Attributes:
      vocabulary: the words.
      metric: epsilon d from Euclidean distances.
      rho: float64 [N + 1], the words' weights; the last one is that of the unknown word.
      logs: float64 [N], of the base measure.
      scale: the nominal epsilon divided by the guaranteed one.
    """

    vocabulary: Vocabulary
    metric: Callable[[Floats], Floats]
    rho: Floats
    logs: Floats
    scale: float

    def from_word(self, word: int, start: Floats) -> Floats:
        """From a word at its place to all words: float64 [N]."""
        apart = self.metric(distances_from(start, self.vocabulary))
        others = np.arange(len(self.vocabulary)) != word
        return np.asarray(apart + others * (self.rho[:-1] + self.rho[word]))

    def loss(self, x: Floats, y: Floats) -> float:
        """Between what is at two places, at most: of words at one place, the heaviest."""
        if (x == y).all():
            return 0.0
        heaviest = [
            self.rho[:-1][(self.vocabulary.vectors == place).all(axis=1)].max(initial=0.0)
            for place in (x, y)
        ]
        return float(self.metric(np.array(euclidean(x, y))) + sum(heaviest))

    def reference(self, epsilon: float) -> Reference:
        """Proportional to exp of minus half of it; epsilon a unit of it divided by epsilon."""
        return Reference(
            loss=self.loss,
            released=lambda word, start: softmax(
                self.logs - self.scale * self.from_word(word, start) / 2
            ),
            apart=lambda x, y: self.loss(x, y) / epsilon,
        )


def _public_values(mechanism: Any) -> tuple[Any, Any, Any]:
    """Weights, base measure and constant of a mechanism that has them."""
    if not isinstance(mechanism, WeighsWords):
        return None, None, None
    return mechanism.importance, mechanism.base, mechanism.constant


def _with_weights(
    mechanism: Any, vocabulary: Vocabulary, metric: Callable[[Floats], Floats]
) -> _Apart:
    weights = np.zeros(len(vocabulary))
    importance, base, constant = _public_values(mechanism)
    if importance is not None:
        weights = importance.of(vocabulary)
    logs = np.zeros(len(vocabulary))
    if base is not None:
        logs = base.logs(vocabulary)
    scale = 1.0
    if constant is not None:
        scale = constant.nominal(mechanism.epsilon) / mechanism.epsilon
    return _Apart(vocabulary, metric, np.append(weights, 0.0), logs, scale)


def santext_plus(mechanism: Any, vocabulary: Vocabulary) -> Reference:
    """The same over sensitive words; a common word is kept with probability 1 - p."""
    epsilon, words = mechanism.epsilon, len(vocabulary)
    first = min(round(words * (1 - mechanism.sensitive)), words - 1)

    def distribution(word: int, start: Floats) -> Floats:
        result = np.zeros(words)
        result[first:] = softmax(-epsilon / 2 * distances_from(start, vocabulary)[first:])
        if 0 <= word < first:
            result *= mechanism.p
            result[word] = 1 - mechanism.p
        return result

    def is_common(place: Floats) -> bool:
        return bool((vocabulary.vectors[:first] == place).all(axis=1).any())

    return Reference(
        loss=lambda x, y: math.inf if is_common(x) or is_common(y) else epsilon * euclidean(x, y),
        released=distribution,
    )


def tem(mechanism: Any, vocabulary: Vocabulary) -> Reference:
    """Algorithm 1: words within gamma compete with one candidate for all others."""
    epsilon, beta, words = mechanism.epsilon, mechanism.beta, len(vocabulary)
    gamma = 2 / epsilon * math.log((1 - beta) * (words - 1) / beta)
    if any(value is not None for value in _public_values(mechanism)):
        apart = _with_weights(mechanism, vocabulary, lambda d: epsilon * np.minimum(d, gamma))
        return apart.reference(epsilon)

    def distribution(_word: int, start: Floats) -> Floats:
        lengths = distances_from(start, vocabulary)
        within = lengths <= gamma
        others = words - int(within.sum())
        scores = -epsilon / 2 * lengths[within]
        if others:
            scores = np.append(scores, -epsilon / 2 * gamma + math.log(others))
        shares = softmax(scores)
        result = np.zeros(words)
        result[within] = shares[: words - others]
        if others:
            result[~within] = shares[-1] / others
        return result

    return Reference(loss=lambda x, y: epsilon * min(euclidean(x, y), gamma), released=distribution)


def fluent(mechanism: Any, vocabulary: Vocabulary) -> Reference:
    """The first word of a sentence: q(y | start) exp(-epsilon min(d, gamma) / 2)."""
    epsilon, gamma, words = mechanism.epsilon, mechanism.gamma, len(vocabulary)
    logs = np.zeros(words)
    if mechanism.model is not None:
        model = mechanism.model.opened(vocabulary)
        logs = np.log(model.probabilities(model.start)[:words])
    return Reference(
        loss=lambda x, y: epsilon * min(euclidean(x, y), gamma),
        released=lambda _, start: softmax(
            logs - epsilon / 2 * np.minimum(distances_from(start, vocabulary), gamma)
        ),
    )


def fluent_after(mechanism: Any, vocabulary: Vocabulary) -> NextWord:
    """q(y | the two words before) exp(-epsilon min(d, gamma) / 2)."""
    epsilon, gamma, words = mechanism.epsilon, mechanism.gamma, len(vocabulary)
    model = None if mechanism.model is None else mechanism.model.opened(vocabulary)

    def distribution(start: Floats, first: int, second: int) -> Floats:
        logs = np.zeros(words)
        if model is not None:
            before = [model.start if word == BEGIN else word for word in (first, second)]
            shares = float(model.backoff2(*before)) * model.probabilities(before[1])
            successors, added = model.successors2(*before)
            shares[successors] += added
            logs = np.log(shares[:words])
        return np.asarray(
            softmax(logs - epsilon / 2 * np.minimum(distances_from(start, vocabulary), gamma))
        )

    return distribution


def tem_published(mechanism: Any, vocabulary: Vocabulary) -> Reference:
    """The same, but what should be a word beyond gamma is the original; nothing is claimed."""
    epsilon, beta, words = mechanism.epsilon, mechanism.beta, len(vocabulary)
    gamma = 2 / epsilon * math.log((1 - beta) * (words - 1) / beta)
    corrected = tem(mechanism, vocabulary).released
    assert corrected is not None

    def distribution(word: int, start: Floats) -> Floats:
        lengths, result = distances_from(start, vocabulary), corrected(word, start)
        stand_in = word if word >= 0 else int(lengths.argmin())
        beyond = lengths > gamma
        result[stand_in] += result[beyond].sum()
        result[beyond & (np.arange(words) != stand_in)] = 0.0
        return result

    return Reference(loss=lambda *_: math.inf, released=distribution)


def truncated_gumbel(mechanism: Any, vocabulary: Vocabulary) -> Reference:
    """A Poisson number of candidates, the nearest ones; nothing is claimed."""
    words = len(vocabulary)
    chances = stats.poisson.pmf(np.arange(1, words + 1), math.log(words))
    chances /= chances.sum()

    def distribution(word: int, start: Floats) -> Floats:
        lengths = distances_from(start, vocabulary)
        keys = np.where(np.arange(words) == word, -1.0, lengths)
        order = np.argsort(keys, kind="stable")
        result = np.zeros(words)
        for k in np.flatnonzero(chances > 1e-18) + 1:
            chance = chances[k - 1]
            result[order[:k]] += chance * softmax(-mechanism.epsilon / 2 * lengths[order[:k]])
        return result

    return Reference(loss=lambda *_: math.inf, released=distribution, tolerance=1e-10)
