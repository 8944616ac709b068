"""The distribution of SanText, SanText+ and TEM: probabilities that fall with distance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dxbeam.mechanisms.public.base_measure import BaseMeasure
from dxbeam.mechanisms.public.importance import Importance
from dxbeam.mechanisms.sampling.noise import uniform
from dxbeam.randomness import Random
from dxbeam.space.search.neighbors import Floats, Ids, NeighborSearch
from dxbeam.space.vocabulary.words import Vocabulary


class Favoured(NamedTuple):
    """What base measure and weights make of a vocabulary.

    Attributes:
      factors: float64 [N + 1], by which each word is proposed; the last one is that of UNKNOWN, 1.
      order: int64 [N], the words from the smallest factor to the largest.
      sums: float64 [N], the factors added up in this order.
      leaving: float64 [N + 1], by which the probability of every word other than the original x is
        lower.
      staying: float64 [N], by which that of x itself is.
    """

    factors: Floats
    order: Ids
    sums: Floats
    leaving: Floats
    staying: Floats

    def times_factors(self, weights: Floats, words: Ids, others: Ids) -> Floats:
        """Weights by distance, float64 [B, k], as base measure and importance change them.

        They are of ``others``, int64 [B, k] or [k], around ``words``, int64 [B] or UNKNOWN.
        """
        factors = self.factors[others] * self.leaving[words][:, None]
        return np.where(others == words[:, None], weights * self.staying[others], weights * factors)

    def draw(self, random: Random, tail: Random) -> Ids:
        """Words with probabilities proportional to their factors: uint64 [B] -> int64 [B]."""
        places = np.searchsorted(self.sums, uniform(random, tail) * self.sums[-1])
        return np.asarray(self.order[places])


@dataclass(frozen=True)
class WordDistribution:
    """Probability proportional to q(y) exp(-rate * min(d, cap)) over the words from ``first`` on.

    Attributes:
      rate: in 1 / units of the embedding.
      cap: distance from which on all words are alike.
      first: id of the first word that may be drawn.
      importance: public weights; the probability of a word y other than the original x is lower by
        the factor exp(-scale (rho(x) + rho(y)) / 2). None for no weights; with them ``first`` is 0.
      base: the public base measure q, or None for q = 1; with it ``first`` is 0.
      scale: of the weights of importance.
    """

    rate: float
    cap: float = np.inf
    first: int = 0
    importance: Importance | None = None
    base: BaseMeasure | None = None
    scale: float = 1.0

    def weights(self, apart: Floats, smallest: npt.ArrayLike) -> Floats:
        """By distance only, up to a factor: 1 at the distance ``smallest``; none is lost."""
        over = np.maximum(np.minimum(apart, self.cap) - np.minimum(smallest, self.cap), 0.0)
        return np.asarray(np.exp(-self.rate * over))

    def half_weights(self, vocabulary: Vocabulary) -> Floats | None:
        """By which the exponent of every word other than the original grows: float64 [N]."""
        return None if self.importance is None else self.scale * self.importance.of(vocabulary) / 2


def public_factors(distribution: WordDistribution, search: NeighborSearch) -> Favoured | None:
    """What base measure and weights make of the vocabulary, computed once; None without them."""
    base, importance, scale = distribution.base, distribution.importance, distribution.scale
    if base is None and importance is None:
        return None

    def compute(vocabulary: Vocabulary) -> Favoured:
        lowered = distribution.half_weights(vocabulary)
        lower = np.zeros(len(vocabulary)) if lowered is None else lowered
        logs = np.zeros(len(vocabulary)) if base is None else base.logs(vocabulary)
        factors = np.exp(logs - lower)
        order = np.argsort(factors, kind="stable")
        return Favoured(
            np.append(factors, 1.0),
            order,
            np.cumsum(factors[order]),
            np.append(np.exp(-lower), 1.0),
            np.exp(logs),
        )

    return search.computed_once(("public factors", importance, base, scale), compute)
