"""Laplace noise, then the first or the second nearest word of the noisy vector.

Xu, Aggarwal, Feyisetan, Teissier: On a utilitarian approach to privacy preserving text generation
(2021), the Vickrey mechanism: with d1 <= d2 the distances of the two nearest words to the *noisy*
vector, the nearest is released with probability (1 - t) d2 / (t d1 + (1 - t) d2).

Proof. The noisy vector has the guarantee of laplace.py. Which of its two nearest words is released
depends on it, on the public words and on fresh random numbers alone: post-processing. A variant
that excludes the original word looks at it after the noise and has no such guarantee.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dxbeam.guarantees import Guarantee, pure
from dxbeam.mechanisms.noise import (
    ROUNDED_NOISE,
    TAIL_DRAWS,
    Floats,
    laplace,
    laplace_draws,
    uniform,
)
from dxbeam.mechanisms.parameters import checked_epsilon, checked_share
from dxbeam.randomness import Random
from dxbeam.space.neighbors import Ids, NeighborSearch


@dataclass(frozen=True)
class Vickrey:
    """Word to noisy vector to one of its two nearest words.

    Attributes:
      epsilon: privacy parameter per unit of Euclidean distance.
      t: how much the second nearest word is favoured; 0 is the multidimensional Laplace mechanism,
        1 always takes the second.
    """

    epsilon: float
    t: float = 0.5
    name: ClassVar[str] = "vickrey"

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon))
        meaning = "how much the second nearest word is favoured"
        object.__setattr__(self, "t", checked_share("t", self.t, meaning))

    def draws(self, dimensions: int) -> int:
        """Random numbers per word: the noise's, and one for the choice."""
        return laplace_draws(dimensions) + 1

    def noise(self, random: Random, search: NeighborSearch) -> Floats:
        """Multidimensional Laplace noise: uint64 [B, draws] -> float64 [B, n]."""
        return laplace(random, search.vocabulary.dimensions, self.epsilon)

    def release(self, ids: Ids, random: Random, search: NeighborSearch) -> Ids:
        """One of the two words nearest to each noisy vector: int64 [B] -> int64 [B]."""
        noisy = self.noise(random, search)
        noisy += search.vocabulary.vectors_of(ids)
        if len(search.vocabulary) == 1:
            return np.zeros(len(ids), np.int64)
        words, apart = search.nearest_two(noisy)
        first, second = self.t * apart[:, 0], (1 - self.t) * apart[:, 1]
        end = laplace_draws(search.vocabulary.dimensions)
        coin = uniform(random[:, end], random[:, end - TAIL_DRAWS : end])
        # Without a division: at t = 1 and d1 = 0 both products are 0, and the first is taken.
        takes_second = (first > 0) & (coin * (first + second) <= first)
        return np.where(takes_second, words[:, 1], words[:, 0])

    def guarantee(self) -> Guarantee:
        """Pure epsilon * Euclidean distance, for every pair of strings."""
        citation = "Xu et al. 2021; post-processing of the Laplace mechanism's noisy vector"
        return pure(self.epsilon, citation, arithmetic=ROUNDED_NOISE)
