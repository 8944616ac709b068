"""Truncated Laplace noise by the calibration of its paper, whose delta is false for n > 1.

The paper takes (C / B)^n for delta, B = (1 - e^{-a A}) / a: the probability that the noise leaves
the other support in every coordinate at once. The true one is of leaving it in any (trlaplace.py):
above 0.9 at a claimed 1e-5 in 300 dimensions, see docs/trlaplace.md. Kept for comparison, and run
with --allow_unsound alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from dxbeam.errors import ConfigurationError
from dxbeam.guarantees import Guarantee
from dxbeam.mechanisms.coordinate_laplace import checked_clip, clipped
from dxbeam.neighbors import Ids, NeighborSearch
from dxbeam.noise import Floats, coordinate_laplace
from dxbeam.parameters import checked_delta, checked_epsilon
from dxbeam.randomness import Random


@dataclass(frozen=True)
class TrLaplacePublished:
    """Word to clipped and noisy vector to nearest word.

    Attributes:
      epsilon: per unit of Euclidean distance; the paper's is 2 * clip times as large.
      delta: the claimed one.
      clip: C, radius of the ball to which vectors are clipped.
    """

    epsilon: float
    delta: float = 1e-5
    clip: float = 5.0
    name: ClassVar[str] = "trlaplace_published"

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon))
        object.__setattr__(self, "delta", checked_delta(self.delta))
        object.__setattr__(self, "clip", checked_clip(self.clip))

    def limit(self, dimensions: int) -> float:
        """A, in units of the embedding.

        Raises:
          ConfigurationError: epsilon is so large that the formula has no value.
        """
        rate = self.epsilon / math.sqrt(dimensions)
        share = rate * self.clip / self.delta ** (1 / dimensions)
        if share >= 1:
            largest = self.delta ** (1 / dimensions) * math.sqrt(dimensions) / self.clip
            raise ConfigurationError(
                f"epsilon = {self.epsilon:g}: the published calibration of TrLaplace is undefined "
                f"from epsilon = {largest:g} on in {dimensions} dimensions with clip "
                f"{self.clip:g}; choose less, or --mechanism trlaplace"
            )
        return -math.log1p(-share) / rate

    def draws(self, dimensions: int) -> int:
        """Random numbers a word; refuses an epsilon for which there is no noise."""
        self.limit(dimensions)
        return dimensions

    def noise(self, random: Random, search: NeighborSearch) -> Floats:
        """Independent truncated Laplace coordinates: uint64 [B, n] -> float64 [B, n]."""
        n = search.vocabulary.dimensions
        return coordinate_laplace(random, n, self.epsilon / math.sqrt(n), self.limit(n))

    def release(self, ids: Ids, random: Random, search: NeighborSearch) -> Ids:
        """The word nearest to each word's clipped vector plus noise: int64 [B] -> int64 [B]."""
        start = clipped(search.vocabulary.vectors_of(ids), self.clip)
        return search.nearest(start + self.noise(random, search))

    def guarantee(self) -> Guarantee:
        """None: the published delta is that of another event."""
        return Guarantee(
            notion="none",
            metric="none",
            epsilon=math.inf,
            delta=1.0,
            unit="word",
            composition="nothing to compose",
            evidence="published",
            citation="the published proof bounds another probability; see docs/trlaplace.md",
            caveats=(
                f"The claimed delta of {self.delta:g} is false for the noisy vector.",
                "No violation by the released words themselves is known.",
            ),
        )
