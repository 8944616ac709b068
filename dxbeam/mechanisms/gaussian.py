"""Gaussian noise on the word's embedding, then the nearest word: a baseline with a delta.

The loss of the Gaussian mechanism between vectors at distance d is normal with mean d^2 / (2 s^2)
and deviation d / s (Dwork, Roth: The algorithmic foundations of differential privacy, 2014,
appendix A; Balle, Wang: Improving the Gaussian mechanism, 2018, lemma 3). It exceeds epsilon d with
probability Phi(d / (2 s) - epsilon s), which grows with d.

Proof of the guarantee. With z = Phi^-1(1 - delta) and s the positive root of
epsilon s^2 - z s - T / 2 = 0, that probability is delta at d = T and less below it. A loss that
exceeds a bound with probability delta at most is an (epsilon d, delta) guarantee; the nearest word
is a function of the noisy vector alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import ClassVar

from dxbeam.guarantees import EUCLIDEAN, Guarantee, approximate
from dxbeam.mechanisms.noise import ROUNDED_NOISE, Floats, gaussian, gaussian_draws
from dxbeam.mechanisms.parameters import checked_delta, checked_epsilon, checked_positive
from dxbeam.randomness import Random
from dxbeam.space.neighbors import Ids, NeighborSearch


@dataclass(frozen=True)
class Gaussian:
    """Word to noisy vector to nearest word.

    Attributes:
      epsilon: privacy parameter per unit of Euclidean distance.
      delta: additive slack.
      distance: T: the guarantee holds for words at most so far apart.
    """

    epsilon: float
    delta: float = 1e-6
    distance: float = 10.0
    name: ClassVar[str] = "gaussian"

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon))
        object.__setattr__(self, "delta", checked_delta(self.delta))
        meaning = "how far apart two words may be for the guarantee to hold"
        object.__setattr__(self, "distance", checked_positive("distance", self.distance, meaning))

    @property
    def sigma(self) -> float:
        """Standard deviation of the noise along a direction, in units of the embedding."""
        z = -NormalDist().inv_cdf(self.delta)
        root = math.sqrt(z * z + 2 * self.epsilon * self.distance)
        return (z + root) / (2 * self.epsilon)

    def draws(self, dimensions: int) -> int:
        """Random numbers per word."""
        return gaussian_draws(dimensions)

    def noise(self, random: Random, search: NeighborSearch) -> Floats:
        """Normal noise: uint64 [B, draws] -> float64 [B, n]."""
        return gaussian(random, search.vocabulary.dimensions, self.sigma)

    @property
    def noise_scale(self) -> float:
        """The standard deviation, of which the noise is a multiple."""
        return self.sigma

    def noise_starts(self, ids: Ids, search: NeighborSearch) -> Floats:
        """The words' vectors, to which the noise is added: int64 [B] -> float64 [B, n]."""
        return search.vocabulary.vectors_of(ids)

    def release(self, ids: Ids, random: Random, search: NeighborSearch) -> Ids:
        """The word nearest to each word's vector plus noise: int64 [B] -> int64 [B]."""
        noisy = self.noise(random, search)
        noisy += search.vocabulary.vectors_of(ids)
        return search.nearest(noisy)

    def guarantee(self) -> Guarantee:
        """(epsilon * Euclidean distance, delta), for words no further apart than T."""
        promise = approximate(
            self.epsilon,
            self.delta,
            "Balle and Wang 2018, lemma 3; proof in dxbeam/mechanisms/gaussian.py",
            EUCLIDEAN.limited(f"or infinite where that is above {self.distance:.12g}"),
            ROUNDED_NOISE,
        )
        return replace(promise, longest=self.distance)
