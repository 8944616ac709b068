"""The density of a noisy vector given the word that noise was added to.

Every density here is exp(-rate |T(y) - T(c(x))|^power) up to a factor, of the noisy vector y and
the word's vector x: c clips to a ball or does nothing, T is a linear map or none, and the norm is
Euclidean or the sum of absolute values.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dxbeam.mechanisms.sampling.clipping import clipped
from dxbeam.space.search.neighbors import Floats, Ids
from dxbeam.space.vocabulary.words import Vocabulary

_COORDINATES_AT_ONCE = 1 << 17


@dataclass(frozen=True, eq=False)
class NoiseDensity:
    """The density of a noisy vector y given a word, up to a factor.

    Attributes:
      rate: in 1 / (units of the embedding to the power below).
      deviation: no coordinate of the noise has a smaller standard deviation, in units of the
        embedding.
      power: 1 or 2.
      absolute: whether the norm is the sum of absolute values; otherwise it is Euclidean.
      clip: radius of the ball that vectors are clipped to; None for no ball.
      whiten: T, float64 [n, n], rows are multiplied by it; None for the identity.
      limit: no coordinate of the noise is larger.
    """

    rate: float
    deviation: float
    power: int = 1
    absolute: bool = False
    clip: float | None = None
    whiten: Floats | None = None
    limit: float = math.inf

    @property
    def is_plain(self) -> bool:
        """Whether it falls with the Euclidean distance from the word's own vector."""
        return not self.absolute and self.clip is None and self.whiten is None

    def starts(self, vectors: Floats) -> Floats:
        """What noise is added to: the words' vectors, float64 [B, n] -> [B, n]."""
        return clipped(vectors, self.clip)

    def in_coordinates(self, vectors: Floats) -> Floats:
        """T of vectors, row by row, so that none depends on the others: [B, n] -> [B, n]."""
        if self.whiten is None:
            return vectors
        return np.array([row @ self.whiten for row in vectors]).reshape(vectors.shape)

    def logs(self, noisy: Floats, words: Ids, vocabulary: Vocabulary) -> Floats:
        """The logarithm of the density at noisy vectors, float64 [B, n], given words, int64 [B, k].

        float64 [B, k]; -inf where the word cannot have become the vector. UNKNOWN is the unknown
        word.
        """
        result = np.empty(words.shape)
        rows = max(1, _COORDINATES_AT_ONCE // vocabulary.dimensions // max(1, words.shape[1]))
        for start in range(0, len(noisy), rows):
            part = slice(start, start + rows)
            here = words[part]
            vectors = self.starts(vocabulary.vectors_of(here.ravel()))
            apart = vectors.reshape(*here.shape, -1)
            apart -= noisy[part, None, :]
            farthest = np.abs(apart).max(axis=2) if self.limit < math.inf else None
            if self.whiten is not None:
                flat = apart.reshape(-1, apart.shape[2])
                apart = self.in_coordinates(flat).reshape(apart.shape)
            result[part] = self.of_differences(apart)
            if farthest is not None:
                result[part][farthest > self.limit] = -np.inf
        return result

    def of_differences(self, apart: Floats) -> Floats:
        """The logarithm of the density without its limit: differences [..., n] -> [...].

        ``apart`` is overwritten.
        """
        if self.absolute:
            return np.asarray(-self.rate * np.abs(apart, out=apart).sum(axis=-1))
        squares = np.multiply(apart, apart, out=apart).sum(axis=-1)
        return np.asarray(-self.rate * (np.sqrt(squares) if self.power == 1 else squares))
