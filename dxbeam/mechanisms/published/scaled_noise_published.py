"""Laplace noise of a scale for each word: a budget per word, which has no finite bound.

Papers distribute a privacy budget over the words of a text by their importance, and libraries let
their users set epsilon for each token: noise of scale 1 / g(w) where g is large for words that
matter little. Here g is public and has two values, the larger one for the frequent words: already
that is enough.

Why there is no guarantee. With g(w) < g(w'), the densities of the noisy vectors around w and w'
have at y the log ratio g(w') |y - w'| - g(w) |y - w| + n ln(g(w) / g(w')), which grows with y
without an end: what is released far away was w. Taking the nearest word does not help, as the
farthest words come out with the probabilities of the tails: three words on a line at 0, 0.1 and F,
with g = 1 and 2, lose (F + 0.1) / 2 - 0.2 nats where max(g) d is 0.2. Near w' the log ratio is -n
ln(g(w') / g(w)) the other way. docs/reference/unequal-budgets.md has the figures, and what
holds instead. Kept for comparison, and run with --allow_unsound only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dxbeam.errors import ConfigurationError
from dxbeam.guarantees import Guarantee, nothing
from dxbeam.mechanisms.parameters import checked_epsilon, checked_positive, checked_share, settle
from dxbeam.mechanisms.sampling.noise import Floats, laplace, laplace_draws
from dxbeam.randomness import Random
from dxbeam.space.search.neighbors import Ids, NeighborSearch
from dxbeam.space.vocabulary.words import UNKNOWN


@dataclass(frozen=True)
class ScaledNoisePublished:
    """Word to noisy vector to nearest word, with less noise for frequent words.

    Attributes:
      epsilon: g of words that are not frequent, unknown words among them.
      ratio: g of frequent words is this many times as large; at least 1.
      frequent: share of the vocabulary, from its beginning, that is frequent.
    """

    epsilon: float
    ratio: float = 2.0
    frequent: float = 0.1
    name: ClassVar[str] = "scaled_noise_published"

    def __post_init__(self) -> None:
        epsilon = checked_epsilon(self.epsilon)
        meaning = "how many times as large an epsilon frequent words have"
        ratio = checked_positive("ratio", self.ratio, meaning)
        if ratio < 1:
            raise ConfigurationError(f"ratio must be at least 1, not {ratio:g}: {meaning}")
        checked_epsilon(epsilon * ratio)
        meaning = "the share of the vocabulary that is frequent"
        frequent = checked_share("frequent", self.frequent, meaning)
        settle(self, epsilon=epsilon, ratio=ratio, frequent=frequent)

    def budgets(self, ids: Ids, words: int) -> Floats:
        """G of each word: int64 [B], or UNKNOWN -> float64 [B]; ``words`` is how many there are."""
        frequent = (ids != UNKNOWN) & (ids < round(words * self.frequent))
        return np.where(frequent, self.epsilon * self.ratio, self.epsilon)

    def draws(self, dimensions: int) -> int:
        """Random numbers per word."""
        return laplace_draws(dimensions)

    def release(self, ids: Ids, random: Random, search: NeighborSearch) -> Ids:
        """The word nearest to each word's vector plus its noise: int64 [B] -> int64 [B]."""
        noisy = laplace(random, search.vocabulary.dimensions, 1.0)
        noisy /= self.budgets(ids, len(search.vocabulary))[:, None]
        noisy += search.vocabulary.vectors_of(ids)
        return search.nearest(noisy)

    def guarantee(self) -> Guarantee:
        """None: the loss grows with the distance of the farthest word."""
        return nothing(
            "proved",
            "noise whose scale depends on the word has no finite bound; "
            "docs/guides/budgets-per-word.md",
            (
                "A released word that is far from two originals is evidence for the one with the "
                "larger noise, the more so the farther it is.",
            ),
        )
