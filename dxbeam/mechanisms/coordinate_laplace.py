"""Laplace noise on every coordinate of the clipped embedding, then the nearest word: a baseline.

Dwork, McSherry, Nissim, Smith: Calibrating noise to sensitivity in private data analysis (2006),
proposition 1, with the L1 norm; clipping is the projection onto a ball around the origin.

Proof of the guarantee. With rate a = epsilon / sqrt(n) the noisy vectors' densities differ by at
most exp(a |c(w) - c(w')|_1) (triangle inequality in each coordinate), and the L1 norm of an
n-vector is at most sqrt(n) times its L2 norm: the factor is at most exp(epsilon |c(w) - c(w')|_2).
Projection onto a convex set brings no two points further apart, so clipping only lowers it, and
two points of a ball of radius C are at most 2 C apart: never more than exp(2 epsilon C).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

from dxbeam.guarantees import Guarantee, Metric, pure
from dxbeam.mechanisms.channels.noise_density import NoiseDensity
from dxbeam.mechanisms.parameters import checked_epsilon, settle
from dxbeam.mechanisms.sampling.clipping import ClippedVector, checked_clip
from dxbeam.mechanisms.sampling.noise import (
    ROUNDED_NOISE,
    Floats,
    coordinate_laplace,
    coordinate_laplace_draws,
)
from dxbeam.randomness import Random
from dxbeam.space.search.neighbors import NeighborSearch


@dataclass(frozen=True)
class CoordinateLaplace(ClippedVector):
    """Word to clipped and noisy vector to nearest word.

    Attributes:
      epsilon: privacy parameter per unit of Euclidean distance; the rate of a coordinate's noise
        is epsilon / sqrt(n).
      clip: radius of the ball to which vectors are clipped, or None for no clipping.
    """

    epsilon: float
    clip: float | None = None
    name: ClassVar[str] = "coordinate_laplace"

    def __post_init__(self) -> None:
        settle(self, epsilon=checked_epsilon(self.epsilon))
        if self.clip is not None:
            settle(self, clip=checked_clip(self.clip))

    def draws(self, dimensions: int) -> int:
        """Random numbers per word."""
        return coordinate_laplace_draws(dimensions)

    def noise(self, random: Random, search: NeighborSearch) -> Floats:
        """Independent Laplace coordinates: uint64 [B, draws] -> float64 [B, n]."""
        n = search.vocabulary.dimensions
        return coordinate_laplace(random, n, self.epsilon / math.sqrt(n))

    @property
    def noise_scale(self) -> float:
        """1 / epsilon: the noise is a multiple of it."""
        return 1 / self.epsilon

    def density(self, search: NeighborSearch) -> NoiseDensity:
        """Falls with the sum of absolute differences; a coordinate deviates by sqrt(2) / rate."""
        rate = self.epsilon / math.sqrt(search.vocabulary.dimensions)
        return NoiseDensity(rate, math.sqrt(2) / rate, absolute=True, clip=self.clip)

    def guarantee(self) -> Guarantee:
        """Pure epsilon * L1 distance / sqrt(n), which Euclidean distance bounds."""
        ball = "" if self.clip is None else f", clipped to a ball of radius {self.clip:.12g}"
        cap = None if self.clip is None else 2 * self.epsilon * self.clip
        promise = pure(
            self.epsilon,
            "Dwork et al. 2006, proposition 1; dxbeam/mechanisms/coordinate_laplace.py",
            Metric(
                "l1",
                f"L1 distance between the words' vectors{ball}, divided by the square root of n",
            ),
            arithmetic=ROUNDED_NOISE,
        )
        return replace(promise, cap=cap)
