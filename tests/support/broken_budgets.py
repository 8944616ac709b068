"""Budgets of words as others have them, under the names and claims of sound mechanisms."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dxbeam.guarantees import Guarantee
from dxbeam.mechanisms.laplace import Laplace
from dxbeam.mechanisms.public.importance import FrequencyWeights
from dxbeam.mechanisms.published.scaled_noise_published import ScaledNoisePublished
from dxbeam.mechanisms.sampling.noise import uniform
from dxbeam.mechanisms.santext import SanText
from dxbeam.mechanisms.tem import TEM
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.space.vocabulary.words import UNKNOWN, distances

Floats = Any
Ids = Any
WEIGHTS = FrequencyWeights(4.0)


@dataclass(frozen=True)
class AScaleForEachWord(Laplace):
    """Half the noise for frequent words, under the claim of the smaller epsilon."""

    def release(self, ids: Ids, random: Any, search: NeighborSearch) -> Ids:
        return ScaledNoisePublished(self.epsilon, 2.0, 0.4).release(ids, random, search)


def own_epsilon(prime: Floats, word: int, rho: Floats) -> Floats:
    return prime * (2.0 if 0 <= word < 0.4 * len(rho) else 1.0)


def forgets_the_original(prime: Floats, word: int, rho: Floats) -> Floats:
    return prime + _others(word, rho) * rho


def forgets_the_others(prime: Floats, word: int, rho: Floats) -> Floats:
    return prime + _others(word, rho) * _own(word, rho)


def of_the_word_itself_too(prime: Floats, word: int, rho: Floats) -> Floats:
    return prime + rho + _own(word, rho)


def twice(prime: Floats, word: int, rho: Floats) -> Floats:
    return prime + 2 * _others(word, rho) * (rho + _own(word, rho))


MISTAKES: dict[str, Callable[[Floats, int, Floats], Floats]] = {
    made.__name__: made
    for made in (
        own_epsilon,
        forgets_the_original,
        forgets_the_others,
        of_the_word_itself_too,
        twice,
    )
}


def _others(word: int, rho: Floats) -> Floats:
    return np.arange(len(rho)) != word


def _own(word: int, rho: Floats) -> float:
    return 0.0 if word == UNKNOWN else float(rho[word])


@dataclass(frozen=True)
class WrongWeights(SanText):
    """SanText whose exponents are changed by ``mistake``."""

    mistake: str = "own_epsilon"

    def release(self, ids: Ids, random: Any, search: NeighborSearch) -> Ids:
        vocabulary, released = search.vocabulary, np.empty(len(ids), np.int64)
        rho = WEIGHTS.of(vocabulary)
        for word in np.unique(ids):
            [vector] = vocabulary.vectors_of(np.array([word]))
            prime = self.epsilon * distances(vocabulary.vectors, vector)
            exponents = MISTAKES[self.mistake](prime, int(word), rho) / 2
            sums = np.cumsum(np.exp(exponents.min() - exponents))
            rows = np.flatnonzero(ids == word)
            released[rows] = np.searchsorted(sums, uniform(random[rows, 0]) * sums[-1])
        return released.clip(0, len(vocabulary) - 1)


MECHANISMS: dict[str, Any] = {
    "laplace: a scale for each word": AScaleForEachWord(10.0),
    "santext: an epsilon for each word": WrongWeights(10.0, "own_epsilon"),
    **{
        f"importance: {name.replace('_', ' ')}": WrongWeights(10.0, name, importance=WEIGHTS)
        for name in MISTAKES
        if name != "own_epsilon"
    },
}


@dataclass(frozen=True)
class WithoutThePrice(SanText):
    """Promises with weights what holds without them."""

    def guarantee(self) -> Guarantee:
        return SanText(self.epsilon).guarantee()


@dataclass(frozen=True)
class CapWithoutThePrice(TEM):
    """Leaves the weights out of what caps the exponent."""

    def guarantee(self) -> Guarantee:
        bare = TEM(self.epsilon, self.beta).guarantee()
        return dataclasses.replace(super().guarantee(), far_odds=bare.far_odds)


PROMISES: dict[str, Any] = {
    "santext: weights without a price": WithoutThePrice(1.5, importance=FrequencyWeights(3.0)),
    "tem: a cap without the weights": CapWithoutThePrice(
        1.5, 0.4, importance=FrequencyWeights(3.0)
    ),
}
