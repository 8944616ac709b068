"""What mechanisms share that release the word nearest to a noisy vector.

Post-processing. ``noise`` depends on random numbers and public knowledge only, so the guarantee of
such a mechanism is that of the noisy vector, start plus noise, given the word. ``release`` computes
the nearest word from the noisy vector and the public vocabulary, and looks at the word no more. So
what is released has the same guarantee (Dwork and Roth 2014, proposition 2.1), whichever search
finds it. No mechanism overrides ``release``: what each has to prove is the density of its noise.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import final

from dxbeam.mechanisms.sampling.noise import Floats, laplace_draws
from dxbeam.randomness import Random
from dxbeam.space.search.neighbors import Ids, NeighborSearch


def least(keeps: Callable[[float], bool], high: float) -> float:
    """The smallest number, rounded up by a share of 1e-9, that keeps a promise, as ``high`` does.

    What is returned was tried itself, or is ``high``.
    """
    low = 0.0
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        if keeps(middle):
            high = middle
        else:
            low = middle
    return high


class NoisyVector(ABC):
    """A mechanism that adds noise to a word's vector and releases the nearest word."""

    @abstractmethod
    def noise(self, random: Random, search: NeighborSearch) -> Floats:
        """The noise of each word, a fresh array: uint64 [B, draws] -> float64 [B, n]."""

    def noise_starts(self, ids: Ids, search: NeighborSearch) -> Floats:
        """The words' vectors, to which the noise is added: int64 [B] -> float64 [B, n]."""
        return search.vocabulary.vectors_of(ids)

    @final
    def release(self, ids: Ids, random: Random, search: NeighborSearch) -> Ids:
        """The word nearest to each noisy vector: int64 [B] -> int64 [B]."""
        noisy = self.noise(random, search)
        noisy += self.noise_starts(ids, search)
        return search.nearest(noisy)


class LaplaceNoise(NoisyVector):
    """One whose noise is made of multidimensional Laplace noise, and of nothing else random."""

    epsilon: float

    def draws(self, dimensions: int) -> int:
        """Random numbers per word."""
        return laplace_draws(dimensions)

    @property
    def noise_scale(self) -> float:
        """1 / epsilon: the noise is a multiple of it."""
        return 1 / self.epsilon
