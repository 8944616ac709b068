"""The distribution of SanText, SanText+ and TEM: probabilities that fall with distance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dxbeam.space.neighbors import Floats


@dataclass(frozen=True)
class WordDistribution:
    """Probability proportional to exp(-rate * min(d, cap)) over the words from ``first`` on.

    Attributes:
      rate: in 1 / units of the embedding.
      cap: distance from which on all words are alike.
      first: id of the first word that may be drawn.
    """

    rate: float
    cap: float = np.inf
    first: int = 0

    def weights(self, apart: Floats, smallest: npt.ArrayLike) -> Floats:
        """Probabilities up to a factor: 1 at the distance ``smallest``, so that none is lost."""
        over = np.maximum(np.minimum(apart, self.cap) - np.minimum(smallest, self.cap), 0.0)
        return np.asarray(np.exp(-self.rate * over))
