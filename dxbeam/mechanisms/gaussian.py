"""Gaussian noise on the word's embedding, then the nearest word: a baseline with a delta.

The loss of the Gaussian mechanism between vectors at distance d is normal with mean d^2 / (2 s^2)
and deviation d / s (Dwork, Roth: The algorithmic foundations of differential privacy, 2014,
appendix A; Balle, Wang: Improving the Gaussian mechanism, 2018, lemma 3). It exceeds epsilon d with
probability Phi(d / (2 s) - epsilon s), which grows with d.

Proof of the guarantee. With z = Phi^-1(1 - delta) and s the positive root of
epsilon s^2 - z s - T / 2 = 0, that probability is delta at d = T and less below it. A loss that
exceeds a bound with probability delta at most is an (epsilon d, delta) guarantee; the nearest word
is a function of only the noisy vector.

With a radius C, vectors are clipped to a ball, in which no two are further apart than T = 2 C. So
the guarantee holds for any two words, in the distance d of their clipped vectors, and s need not
come from the loss's tail: it is that of the analytic Gaussian mechanism (Balle and Wang 2018,
theorem 8 and algorithm 1), the smallest one at which the exact slack at d = T is delta at most,

    D(d) = Phi(a) - e^(epsilon d) Phi(b),   a = d / (2 s) - epsilon s,  b = -d / (2 s) - epsilon s.

Nearer words need no more slack. As b^2 - a^2 = 2 epsilon d, e^(epsilon d) phi(b) = phi(a), and
D'(d) = phi(a) / s - epsilon e^(epsilon d) Phi(b). By Phi(b) <= phi(b) / |b| and |b| >= epsilon s
the last term is at most phi(a) / s: D grows with d.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field, replace
from statistics import NormalDist
from typing import ClassVar

from dxbeam.errors import ConfigurationError
from dxbeam.guarantees import EUCLIDEAN, Guarantee, approximate
from dxbeam.mechanisms.channels.noise_density import NoiseDensity
from dxbeam.mechanisms.parameters import (
    ADDED_LATER,
    checked_delta,
    checked_epsilon,
    checked_positive,
    settle,
)
from dxbeam.mechanisms.sampling.clipping import ClippedVector, checked_clip, clipped_euclidean
from dxbeam.mechanisms.sampling.noise import ROUNDED_NOISE, Floats, gaussian, gaussian_draws
from dxbeam.mechanisms.sampling.noisy_vector import least
from dxbeam.randomness import Random
from dxbeam.space.search.neighbors import NeighborSearch

DISTANCE = 10.0

_ROUNDING = 1e-12  # relative error of Phi(a) and of what is taken from it, by far
_LARGEST_LOSS = 700.0  # whose exponential is still a float


def tail_sigma(epsilon: float, delta: float, distance: float) -> float:
    """S at which the loss between vectors T apart exceeds epsilon T with probability delta."""
    z = -NormalDist().inv_cdf(delta)
    return (z + math.sqrt(z * z + 2 * epsilon * distance)) / (2 * epsilon)


def exact_slack(epsilon: float, distance: float, sigma: float) -> float:
    """D(d), rounded up: the smallest true delta between vectors at a distance d."""
    middle, shift = distance / (2 * sigma), epsilon * sigma
    likely = math.erfc((shift - middle) / math.sqrt(2)) / 2
    if epsilon * distance > _LARGEST_LOSS:
        return likely * (1 + _ROUNDING)
    unlikely = math.erfc((shift + middle) / math.sqrt(2)) / 2
    return likely * (1 + _ROUNDING) - math.exp(epsilon * distance) * unlikely


@functools.lru_cache(maxsize=64)
def analytic_sigma(epsilon: float, delta: float, distance: float) -> float:
    """The smallest s, rounded up, at which vectors up to T apart have a slack of delta at most."""
    return least(
        lambda sigma: exact_slack(epsilon, distance, sigma) <= delta,
        tail_sigma(epsilon, delta, distance),
    )


@dataclass(frozen=True)
class Gaussian(ClippedVector):
    """Word to noisy vector to nearest word.

    Attributes:
      epsilon: privacy parameter per unit of Euclidean distance.
      delta: additive slack.
      distance: T: the guarantee holds for words at most so far apart; 2 C with clip.
      clip: C, radius of the ball to which vectors are clipped, so that the guarantee holds for any
        two words; or None for no clipping.
    """

    epsilon: float
    delta: float = 1e-6
    distance: float = DISTANCE
    clip: float | None = field(default=None, metadata=ADDED_LATER)
    name: ClassVar[str] = "gaussian"

    def __post_init__(self) -> None:
        settle(self, epsilon=checked_epsilon(self.epsilon), delta=checked_delta(self.delta))
        meaning = "how far apart two words may be for the guarantee to hold"
        settle(self, distance=checked_positive("distance", self.distance, meaning))
        if self.clip is not None:
            clip = checked_clip(self.clip)
            if self.distance not in (DISTANCE, 2 * clip):
                raise ConfigurationError(
                    f"distance = {self.distance:g} and clip = {clip:g}: clipped vectors are at "
                    f"most {2 * clip:g} apart, and the guarantee holds for all of them; leave "
                    "distance out"
                )
            settle(self, clip=clip, distance=2 * clip)

    @property
    def sigma(self) -> float:
        """Standard deviation of the noise along a direction, in units of the embedding."""
        sigma_for = tail_sigma if self.clip is None else analytic_sigma
        return sigma_for(self.epsilon, self.delta, self.distance)

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

    def density(self, search: NeighborSearch) -> NoiseDensity:  # noqa: ARG002
        """Falls with the square of the distance from the clipped vector."""
        return NoiseDensity(1 / (2 * self.sigma**2), self.sigma, power=2, clip=self.clip)

    def guarantee(self) -> Guarantee:
        """(epsilon * Euclidean distance, delta), for words at most T apart or, if clipped, any."""
        if self.clip is not None:
            promise = approximate(
                self.epsilon,
                self.delta,
                "Balle and Wang 2018, theorem 8; proof in dxbeam/mechanisms/gaussian.py",
                clipped_euclidean(self.clip),
                ROUNDED_NOISE,
            )
            return replace(promise, cap=2 * self.epsilon * self.clip)
        promise = approximate(
            self.epsilon,
            self.delta,
            "Balle and Wang 2018, lemma 3; proof in dxbeam/mechanisms/gaussian.py",
            EUCLIDEAN.limited(f"or infinite where that is above {self.distance:.12g}"),
            ROUNDED_NOISE,
        )
        return replace(promise, longest=self.distance)
