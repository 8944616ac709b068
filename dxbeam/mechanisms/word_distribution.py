"""The distribution of SanText, SanText+ and TEM: probabilities that fall with distance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dxbeam.mechanisms.importance import Importance
from dxbeam.space.neighbors import Floats


@dataclass(frozen=True)
class WordDistribution:
    """Probability proportional to exp(-rate * min(d, cap)) over the words from ``first`` on.

    Attributes:
      rate: in 1 / units of the embedding.
      cap: distance from which on all words are alike.
      first: id of the first word that may be drawn.
      importance: public weights; the probability of a word y other than the original x is lower by
        the factor exp(-(rho(x) + rho(y)) / 2). None for no weights; with them ``first`` is 0.
    """

    rate: float
    cap: float = np.inf
    first: int = 0
    importance: Importance | None = None

    def weights(self, apart: Floats, smallest: npt.ArrayLike) -> Floats:
        """By distance alone, up to a factor: 1 at the distance ``smallest``; none is lost."""
        over = np.maximum(np.minimum(apart, self.cap) - np.minimum(smallest, self.cap), 0.0)
        return np.asarray(np.exp(-self.rate * over))
