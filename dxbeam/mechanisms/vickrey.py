"""Noise on the word's vector, then the first or the second nearest word of the noisy vector.

Xu, Aggarwal, Feyisetan, Teissier: On a utilitarian approach to privacy preserving text generation
(2021), the Vickrey mechanism: with d1 <= d2 the distances of the two nearest words to the *noisy*
vector, the nearest is released with probability (1 - t) d2 / (t d1 + (1 - t) d2).

Proof. The noisy vector has the guarantee of the mechanism that its noise is of: laplace.py,
mahalanobis.py, gaussian.py or coordinate_laplace.py. Which of its two nearest words is released
depends only on it, on the public words and on fresh random numbers: post-processing. A variant
that excludes the original word looks at it after the noise and has no such guarantee.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from dxbeam.errors import ConfigurationError
from dxbeam.guarantees import Guarantee
from dxbeam.mechanisms.channels.noise_density import NoiseDensity
from dxbeam.mechanisms.coordinate_laplace import CoordinateLaplace
from dxbeam.mechanisms.gaussian import Gaussian
from dxbeam.mechanisms.laplace import Laplace
from dxbeam.mechanisms.mahalanobis import Mahalanobis
from dxbeam.mechanisms.parameters import (
    ADDED_LATER,
    checked_choice,
    checked_epsilon,
    checked_share,
    choice,
    settle,
)
from dxbeam.mechanisms.sampling.noise import TAIL_DRAWS, Floats, uniform
from dxbeam.randomness import Random
from dxbeam.space.search.neighbors import Ids, NeighborSearch

Noise = Laplace | Mahalanobis | Gaussian | CoordinateLaplace

NOISES: dict[str, type[Noise]] = {
    kind.name: kind for kind in (Laplace, Mahalanobis, Gaussian, CoordinateLaplace)
}
"""The mechanisms whose noise can be taken, by name; the default first."""


@dataclass(frozen=True)
class Vickrey:
    """Word to noisy vector to one of its two nearest words.

    Attributes:
      epsilon: privacy parameter per unit of the noise's distance, the Euclidean one for laplace.
      t: how much the second nearest word is favoured; 0 always takes the nearest, as the mechanism
        does whose noise it is, and 1 always the second.
      noise_of: the mechanism whose noise is added: laplace if not given, mahalanobis, gaussian or
        coordinate_laplace.
      covariance_weight: of mahalanobis.
      delta: of gaussian.
      distance: of gaussian.
      clip: of gaussian and coordinate_laplace.
    """

    epsilon: float
    t: float = 0.5
    noise_of: str | None = choice(*NOISES)
    covariance_weight: float | None = field(default=None, metadata=ADDED_LATER)
    delta: float | None = field(default=None, metadata=ADDED_LATER)
    distance: float | None = field(default=None, metadata=ADDED_LATER)
    clip: float | None = field(default=None, metadata=ADDED_LATER)
    name: ClassVar[str] = "vickrey"

    def __post_init__(self) -> None:
        t = checked_share("t", self.t, "how much the second nearest word is favoured")
        settle(self, epsilon=checked_epsilon(self.epsilon), t=t)
        if self.noise_of is not None:
            meaning = "the mechanism whose noise is added"
            checked_choice("noise_of", self.noise_of, tuple(NOISES), meaning)
            if self.noise_of == Laplace.name:  # as if it were not given: one configuration
                settle(self, noise_of=None)
        for key, value in dataclasses.asdict(self.source).items():
            if getattr(self, key) is not None:
                object.__setattr__(self, key, value)

    @property
    def source(self) -> Noise:
        """The mechanism whose noise is added.

        Raises:
          ConfigurationError: a parameter that it does not have, or that is out of range.
        """
        kind = NOISES[self.noise_of or Laplace.name]
        known = {each.name for each in dataclasses.fields(kind)}
        not_of_noise = ("epsilon", "t", "noise_of")
        chosen = {
            each.name: value
            for each in dataclasses.fields(self)
            if each.name not in not_of_noise and (value := getattr(self, each.name)) is not None
        }
        for key in chosen:
            if key not in known:
                raise ConfigurationError(
                    f"`mechanism` vickrey takes {key} only with the noise of a mechanism that has "
                    f"it, not with noise_of = {kind.name}"
                )
        return kind(epsilon=self.epsilon, **chosen)

    def draws(self, dimensions: int) -> int:
        """Random numbers per word: the noise's, and one for the choice."""
        return self.source.draws(dimensions) + 1

    def noise(self, random: Random, search: NeighborSearch) -> Floats:
        """The noise that is added: uint64 [B, draws] -> float64 [B, n]."""
        return self.source.noise(random, search)

    def noise_starts(self, ids: Ids, search: NeighborSearch) -> Floats:
        """The vectors that the noise is added to: int64 [B] -> float64 [B, n]."""
        return self.source.noise_starts(ids, search)

    def density(self, search: NeighborSearch) -> NoiseDensity:
        """That of the noise: which of two words is released comes after it."""
        return self.source.density(search)

    def release(self, ids: Ids, random: Random, search: NeighborSearch) -> Ids:
        """One of the two words nearest to each noisy vector: int64 [B] -> int64 [B]."""
        noisy = self.noise(random, search)
        noisy += self.source.noise_starts(ids, search)
        if len(search.vocabulary) == 1:
            return np.zeros(len(ids), np.int64)
        words, apart = search.nearest_two(noisy)
        first, second = self.t * apart[:, 0], (1 - self.t) * apart[:, 1]
        end = self.source.draws(search.vocabulary.dimensions)
        coin = uniform(random[:, end], random[:, end - TAIL_DRAWS : end])
        # Without a division: at t = 1 and d1 = 0 both products are 0, and the first is taken.
        takes_second = (first > 0) & (coin * (first + second) <= first)
        return np.where(takes_second, words[:, 1], words[:, 0])

    def guarantee(self) -> Guarantee:
        """That of the mechanism whose noise is added: what follows is post-processing."""
        promise = self.source.guarantee()
        noisy = "Laplace mechanism" if self.noise_of is None else f"mechanism {self.noise_of}"
        citation = f"Xu et al. 2021; post-processing of the {noisy}'s noisy vector"
        return dataclasses.replace(promise, citation=citation)
