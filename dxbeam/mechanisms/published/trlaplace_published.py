"""Truncated Laplace noise by the calibration of its paper, whose delta is false for n > 1.

The paper takes (2 C / B)^n for delta, B = 2 (1 - e^{-a A}) / a: the probability that the noise
leaves the other support in every coordinate at once. The true one is of leaving it in any
(trlaplace.py): above 0.9 at a claimed 1e-5 in 300 dimensions, see docs/reference/trlaplace.md.
Kept for comparison, and run with --allow_unsound only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from dxbeam.errors import ConfigurationError
from dxbeam.guarantees import Guarantee, nothing
from dxbeam.mechanisms.trlaplace import TrLaplace


@dataclass(frozen=True)
class TrLaplacePublished(TrLaplace):
    """TrLaplace with another limit and without a guarantee.

    Attributes:
      epsilon: per unit of Euclidean distance; the paper's is 2 * clip times as large.
      delta: the claimed one.
      clip: C, radius of the ball to which vectors are clipped.
    """

    delta: float = 1e-5
    name: ClassVar[str] = "trlaplace_published"

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
                f"{self.clip:g}; choose less, or the mechanism trlaplace"
            )
        return -math.log1p(-share) / rate

    def draws(self, dimensions: int) -> int:
        """Random numbers per word; refuses an epsilon for which there is no noise."""
        self.limit(dimensions)
        return super().draws(dimensions)

    def guarantee(self) -> Guarantee:
        """None: the published delta is that of another event."""
        return nothing(
            "published",
            "the published proof bounds another probability; see docs/reference/trlaplace.md",
            (
                f"The claimed delta of {self.delta:g} is false for the noisy vector.",
                "It is false for released words, too: in 300 dimensions, at epsilon = 0.5, a "
                "claimed delta of 1e-5 and clip = 1, there are two words of which one becomes one "
                "of a set of words with a probability of 0.944 and the other never "
                "(docs/reference/trlaplace.md).",
            ),
        )
