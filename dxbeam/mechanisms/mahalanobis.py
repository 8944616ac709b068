"""Laplace noise stretched along the directions in which words vary, then the nearest word.

Xu, Aggarwal, Feyisetan, Teissier: A differentially private text perturbation method using a
regularized Mahalanobis metric (2020), algorithm 1. With S_l = l S + (1 - l) I, S being the
vocabulary's covariance scaled to a mean variance of 1, the noise has density proportional to
exp(-epsilon |S_l^-1/2 z|). It is drawn as L eta with L L^T = S_l and eta multidimensional Laplace
noise: |L^-1 z|^2 = z^T S_l^-1 z, so L serves as well as the square root.

Proof. By the triangle inequality of the norm |S_l^-1/2 .| the density of the noisy vector changes
by a factor of at most exp(epsilon |S_l^-1/2 (w - w')|), and the nearest word depends only on the
noisy vector. S is positive semidefinite, so S_l >= (1 - l) I and the exponent is at most
epsilon / sqrt(1 - l) times the Euclidean distance. Noise that is rescaled to its old length after
stretching has another density, and not this guarantee.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dxbeam.errors import ConfigurationError
from dxbeam.guarantees import Guarantee, Metric, pure
from dxbeam.mechanisms.channels.noise_density import NoiseDensity
from dxbeam.mechanisms.parameters import checked_epsilon, checked_share, settle
from dxbeam.mechanisms.sampling.noise import ROUNDED_NOISE, Floats, laplace
from dxbeam.mechanisms.sampling.noisy_vector import LaplaceNoise
from dxbeam.randomness import Random
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.space.vocabulary.words import Vocabulary

LARGEST_WEIGHT = 0.999999
"""Leaves every direction a variance well above the rounding of S, whose eigenvalues reach n."""

_ROWS_PER_PRODUCT = 64
"""Rows are multiplied this many at a time, the last ones filled up with zeros: BLAS may sum in
another order for a matrix of another shape, and noise must not depend on other words."""


def shape_of(vocabulary: Vocabulary, weight: float) -> Floats:
    """S_l of a vocabulary, float64 [n, n].

    Args:
      vocabulary: public words.
      weight: l.
    """
    n = vocabulary.dimensions
    blocks = np.array_split(vocabulary.vectors, len(vocabulary) // 4096 + 1)
    mean = sum(block.sum(axis=0, dtype=np.float64) for block in blocks) / len(vocabulary)
    scatter = np.zeros((n, n))
    for block in blocks:
        centered = block.astype(np.float64) - mean
        scatter += centered.T @ centered
    if scatter.trace() > 0:
        scatter *= n / scatter.trace()
    return weight * scatter + (1 - weight) * np.eye(n)


def _shape_in(search: NeighborSearch, weight: float) -> Floats:
    return search.computed_once(("shape", weight), lambda vocabulary: shape_of(vocabulary, weight))


@dataclass(frozen=True)
class Mahalanobis(LaplaceNoise):
    """Word to noisy vector to nearest word.

    Attributes:
      epsilon: privacy parameter per unit of the mechanism's own distance.
      covariance_weight: l in [0, 1): how much the vocabulary's covariance counts against the
        identity; 0 is multidimensional Laplace noise.
    """

    epsilon: float
    covariance_weight: float = 0.2
    name: ClassVar[str] = "mahalanobis"

    def __post_init__(self) -> None:
        epsilon = checked_epsilon(self.epsilon)
        meaning = "how much the vocabulary's covariance counts against the identity"
        weight = checked_share("covariance_weight", self.covariance_weight, meaning)
        if weight > LARGEST_WEIGHT:
            raise ConfigurationError(
                f"covariance_weight must be at most {LARGEST_WEIGHT:g}, not {weight!r}: with less "
                "of the identity there may be directions without noise"
            )
        settle(self, epsilon=epsilon, covariance_weight=weight)

    def noise(self, random: Random, search: NeighborSearch) -> Floats:
        """Stretched Laplace noise: uint64 [B, draws] -> float64 [B, n]."""
        weight = self.covariance_weight
        stretch = search.computed_once(
            ("stretch", weight),
            lambda _: np.linalg.cholesky(_shape_in(search, weight)),
        )
        n = search.vocabulary.dimensions
        noise = laplace(random, n, self.epsilon)
        rows = np.zeros((_ROWS_PER_PRODUCT, n))
        for start in range(0, len(noise), _ROWS_PER_PRODUCT):
            block = noise[start : start + _ROWS_PER_PRODUCT]
            rows[: len(block)] = block
            block[:] = (rows @ stretch.T)[: len(block)]
        return noise

    def density(self, search: NeighborSearch) -> NoiseDensity:
        """Falls with the distance of whitened vectors: those of S_l^-1/2, or of L^-1.

        No direction has a smaller variance than 1 - l times that of laplace.
        """
        weight = self.covariance_weight
        whiten = search.computed_once(
            ("whitening", weight),
            lambda _: np.linalg.inv(np.linalg.cholesky(_shape_in(search, weight))).T,
        )
        deviation = math.sqrt((1 - weight) * (search.vocabulary.dimensions + 1)) / self.epsilon
        return NoiseDensity(self.epsilon, deviation, whiten=whiten)

    def guarantee(self) -> Guarantee:
        """Pure epsilon * Mahalanobis distance, for every pair of strings."""
        weight = self.covariance_weight
        euclidean = self.epsilon / math.sqrt(1 - weight)
        return pure(
            self.epsilon,
            "Xu et al. 2020, theorem 1; proof in dxbeam/mechanisms/mahalanobis.py",
            Metric(
                "mahalanobis",
                f"Mahalanobis distance between the words' vectors, of {weight:.12g} times the "
                f"vocabulary's scaled covariance plus {1 - weight:.12g} times the identity",
            ),
            euclidean,
            arithmetic=ROUNDED_NOISE,
        )
