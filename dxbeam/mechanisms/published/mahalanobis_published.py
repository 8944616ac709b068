"""Mahalanobis noise as published code has it: rescaled after stretching.

Xu et al. 2020, algorithm 1, as in the package pypantera 1.0.2: a uniform direction is stretched by
S_l^1/2 and given the length 1 again, and then a length from Gamma(n, 1/epsilon). The noise points
along the directions in which words vary, and is no longer there than elsewhere: its density at z is
proportional to exp(-epsilon |z|) |S_l^-1/2 z / |z||^-n |det S_l|^-1/2, and the factor next to the
first changes with the direction of z by up to the n-th power of the ratio of the extreme axes: by
hundreds of nats on GloVe, however near two words are. mahalanobis.py is what holds. Kept for
comparison, and run with --allow_unsound only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dxbeam.guarantees import Guarantee, nothing
from dxbeam.mechanisms.mahalanobis import Mahalanobis
from dxbeam.mechanisms.parameters import settle
from dxbeam.mechanisms.sampling.noise import Floats, laplace
from dxbeam.mechanisms.sampling.noisy_vector import LaplaceNoise
from dxbeam.randomness import Random
from dxbeam.space.search.neighbors import NeighborSearch


@dataclass(frozen=True)
class MahalanobisPublished(LaplaceNoise):
    """Mahalanobis with another length of noise, without a guarantee.

    Attributes:
      epsilon: the published privacy parameter, which bounds nothing.
      covariance_weight: as for mahalanobis.
    """

    epsilon: float
    covariance_weight: float = 0.2
    name: ClassVar[str] = "mahalanobis_published"

    def __post_init__(self) -> None:
        checked = Mahalanobis(self.epsilon, self.covariance_weight)
        settle(self, epsilon=checked.epsilon, covariance_weight=checked.covariance_weight)

    def noise(self, random: Random, search: NeighborSearch) -> Floats:
        """Stretched noise of the length it had before: uint64 [B, draws] -> float64 [B, n]."""
        noise = Mahalanobis(self.epsilon, self.covariance_weight).noise(random, search)
        plain = laplace(random, search.vocabulary.dimensions, self.epsilon)
        noise *= (_lengths(plain) / _lengths(noise))[:, None]
        return noise

    def guarantee(self) -> Guarantee:
        """None: the density's factor that depends on the direction is not bounded by epsilon."""
        return nothing(
            "measured",
            "the noise's direction and length do not fit each other; "
            "dxbeam/mechanisms/published/mahalanobis_published.py",
            ("The noisy vector's loss exceeds epsilon times any of the distances, by far.",),
        )


def _lengths(noise: Floats) -> Floats:
    return np.asarray(np.sqrt(np.square(noise).sum(axis=1)))
