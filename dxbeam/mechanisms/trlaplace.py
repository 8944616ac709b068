"""Truncated Laplace noise on every coordinate, calibrated so that its delta is true.

Each coordinate's noise has density proportional to exp(-a |z|) on [-A, A], a = epsilon / sqrt(n),
on a vector clipped to a ball of radius C. (Its paper states epsilon for the whole ball, which is
2 C times the epsilon used here.)

Guarantee. Where both of two noisy vectors' densities are positive they differ by a factor of at
most exp(a |D|_1) <= exp(epsilon |D|_2), D being the difference of the clipped vectors. So the
smallest true delta at that epsilon is the probability that one vector's noise leaves the other's
support in *some* coordinate:

    delta(D) = 1 - prod_i (1 - p(|D_i|)),
    p(t) = (e^{a t} - 1) / (2 (e^{a A} - 1))                      for t <= A,
           1/2 + (1 - e^{-a (t - A)}) / (2 (1 - e^{-a A}))         for A < t < 2 A,  1 beyond.

The published calibration (trlaplace_published.py) takes the probability of leaving it in *every*
coordinate instead, which is no bound at all.

Worst D, where no p exceeds 1/2, so that every |D_i| is at most A. Put s_i = D_i^2, which add up to
at most 4 C^2, and g(s) = -ln(1 - p(sqrt(s))). With x = a sqrt(s) and K = 1 / (2 (e^{a A} - 1)) the
sign of g'' is that of (x - 1)(1 + K) + K e^x, which grows from -1: g is concave up to some point
and convex beyond it. A maximum of sum g(s_i) therefore has at most one s_i in the convex part, as
of two the larger could grow at the other's cost, and equal ones in the concave part. So one
coordinate t and n - 1 equal ones are all there is to search, in one dimension. (A limit at which p
exceeds 1/2 somewhere is refused by the coordinate t = 2 C only.)
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from dxbeam.guarantees import Guarantee, approximate
from dxbeam.mechanisms.channels.noise_density import NoiseDensity
from dxbeam.mechanisms.parameters import checked_delta, checked_epsilon, settle
from dxbeam.mechanisms.sampling.clipping import ClippedVector, checked_clip, clipped_euclidean
from dxbeam.mechanisms.sampling.noise import (
    ROUNDED_NOISE,
    Floats,
    coordinate_laplace,
    coordinate_laplace_draws,
)
from dxbeam.mechanisms.sampling.noisy_vector import least
from dxbeam.randomness import Random
from dxbeam.space.search.neighbors import NeighborSearch

_SAFETY = 1e-3  # of delta: covers the steps of the search below, and costs 0.001 / a in A
_SHAPES = 4001


def log_staying(t: npt.ArrayLike, rate: float, limit: float) -> Floats:
    """ln(1 - p(t)): a coordinate's noise, moved by t >= 0, stays within the support it left from.

    float64, -inf from 2 A on.
    """
    moved = np.asarray(t, np.float64)
    inside = np.minimum(moved, limit)
    near = (
        np.exp(rate * (inside - limit)) * np.expm1(-rate * inside) / (2 * np.expm1(-rate * limit))
    )
    left = np.clip(2 * limit - moved, 0.0, limit)  # 1 - p beyond A, without cancellation
    far = np.exp(rate * (left - limit)) * np.expm1(-rate * left) / (2 * np.expm1(-rate * limit))
    with np.errstate(divide="ignore"):
        return np.asarray(np.where(moved <= limit, np.log1p(-near), np.log(far)))


def exact_delta(differences: npt.ArrayLike, rate: float, limit: float) -> Floats:
    """The smallest true delta at a loss of a |D|_1: float64 [..., n] -> [...]."""
    stays = log_staying(np.abs(differences), rate, limit).sum(axis=-1)
    return np.asarray(-np.expm1(stays))


def worst_delta(dimensions: int, rate: float, limit: float, diameter: float) -> float:
    """The largest ``exact_delta`` over all differences of length ``diameter`` or less."""
    if dimensions == 1:
        return float(exact_delta([diameter], rate, limit))
    one = np.linspace(diameter / math.sqrt(dimensions), diameter, _SHAPES)
    rest = np.sqrt(np.maximum(diameter**2 - one**2, 0.0) / (dimensions - 1))
    stays = log_staying(one, rate, limit) + (dimensions - 1) * log_staying(rest, rate, limit)
    return float(-np.expm1(stays).min())


@functools.lru_cache(maxsize=64)
def sound_limit(dimensions: int, rate: float, clip: float, delta: float) -> float:
    """The smallest A, rounded up, at which no two vectors of the ball have a larger delta."""
    target = delta * (1 - _SAFETY)
    return least(
        lambda limit: worst_delta(dimensions, rate, limit, 2 * clip) <= target,
        2 * clip + math.log1p(dimensions / (2 * target)) / rate,
    )


@dataclass(frozen=True)
class TrLaplace(ClippedVector):
    """Word to clipped and noisy vector to nearest word.

    Attributes:
      epsilon: privacy parameter per unit of Euclidean distance.
      delta: additive slack for any two words.
      clip: C, radius of the ball to which vectors are clipped.
    """

    epsilon: float
    delta: float = 1e-6
    clip: float = 5.0
    name: ClassVar[str] = "trlaplace"

    def __post_init__(self) -> None:
        settle(
            self,
            epsilon=checked_epsilon(self.epsilon),
            delta=checked_delta(self.delta),
            clip=checked_clip(self.clip),
        )

    def limit(self, dimensions: int) -> float:
        """A, in units of the embedding."""
        return sound_limit(dimensions, self.epsilon / math.sqrt(dimensions), self.clip, self.delta)

    def draws(self, dimensions: int) -> int:
        """Random numbers per word."""
        return coordinate_laplace_draws(dimensions)

    def noise(self, random: Random, search: NeighborSearch) -> Floats:
        """Independent truncated Laplace coordinates: uint64 [B, draws] -> float64 [B, n]."""
        n = search.vocabulary.dimensions
        return coordinate_laplace(random, n, self.epsilon / math.sqrt(n), self.limit(n))

    def density(self, search: NeighborSearch) -> NoiseDensity:
        """Falls with the sum of absolute differences, and is 0 where one is above the limit.

        The deviation of a truncated coordinate is below both sqrt(2) / rate and limit / sqrt(3); it
        is at least a third of the smaller one.
        """
        rate = self.epsilon / math.sqrt(search.vocabulary.dimensions)
        limit = self.limit(search.vocabulary.dimensions)
        deviation = min(math.sqrt(2) / rate, limit / math.sqrt(3)) / 3
        return NoiseDensity(rate, deviation, absolute=True, clip=self.clip, limit=limit)

    def guarantee(self) -> Guarantee:
        """(epsilon * Euclidean distance of the clipped vectors, delta)."""
        promise = approximate(
            self.epsilon,
            self.delta,
            "proof in dxbeam/mechanisms/trlaplace.py; not that of the mechanism's paper",
            clipped_euclidean(self.clip),
            ROUNDED_NOISE,
        )
        return replace(promise, cap=2 * self.epsilon * self.clip)
