"""Multidimensional Laplace noise on the word's embedding, then the nearest word.

Fernandes, Dras, McIver: Generalised differential privacy for text document processing (2019);
Feyisetan, Balle, Drake, Diethe: Privacy- and utility-preserving textual analysis via calibrated
multivariate perturbations (2020), algorithm 1.

Proof. The noisy vector has density f(z) proportional to exp(-epsilon |z - w|), so by the triangle
inequality f(z | w) <= exp(epsilon |w - w'|) f(z | w') for every z; the nearest word is a function
of z only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from dxbeam.guarantees import Guarantee, pure
from dxbeam.mechanisms.channels.noise_density import NoiseDensity
from dxbeam.mechanisms.parameters import checked_epsilon, settle
from dxbeam.mechanisms.sampling.noise import ROUNDED_NOISE, Floats, laplace
from dxbeam.mechanisms.sampling.noisy_vector import LaplaceNoise
from dxbeam.randomness import Random
from dxbeam.space.search.neighbors import NeighborSearch


@dataclass(frozen=True)
class Laplace(LaplaceNoise):
    """Word to noisy vector to nearest word.

    Attributes:
      epsilon: privacy parameter per unit of Euclidean distance; the noise's length is Gamma(n,
        1/epsilon), n/epsilon on average.
    """

    epsilon: float
    name: ClassVar[str] = "laplace"

    def __post_init__(self) -> None:
        settle(self, epsilon=checked_epsilon(self.epsilon))

    def noise(self, random: Random, search: NeighborSearch) -> Floats:
        """Multidimensional Laplace noise: uint64 [B, draws] -> float64 [B, n]."""
        return laplace(random, search.vocabulary.dimensions, self.epsilon)

    def density(self, search: NeighborSearch) -> NoiseDensity:
        """Falls with the distance; a coordinate's deviation is sqrt(n + 1) / epsilon."""
        deviation = math.sqrt(search.vocabulary.dimensions + 1) / self.epsilon
        return NoiseDensity(self.epsilon, deviation)

    def guarantee(self) -> Guarantee:
        """Pure epsilon * Euclidean distance, for every pair of strings."""
        citation = "Fernandes et al. 2019, theorem 5; Feyisetan et al. 2020, theorem 1"
        return pure(self.epsilon, citation, arithmetic=ROUNDED_NOISE)
