"""A word drawn with probability proportional to exp(-epsilon d / 2): the exponential mechanism.

Yue, Du, Wang, Li, Sun, Chow: Differential privacy for text analytics via natural text sanitization
(2021), SanText, with Euclidean distance.

Proof. Replacing x by x' changes each weight exp(-epsilon d(x, w) / 2) by a factor of at most
exp(epsilon d(x, x') / 2) (triangle inequality), and so their sum by at most as much. With public
weights of words the same holds in another metric: importance.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from dxbeam.guarantees import Guarantee, pure
from dxbeam.mechanisms.exponential_choice import (
    DRAWS,
    IMPORTANCE_DRAWS,
    ROUNDED_CHOICE,
    choose,
)
from dxbeam.mechanisms.importance import Importance, checked_importance, with_importance
from dxbeam.mechanisms.parameters import ADDED_LATER, checked_epsilon
from dxbeam.mechanisms.word_channel import FallingChannel, WordChannel
from dxbeam.mechanisms.word_distribution import WordDistribution
from dxbeam.randomness import Random
from dxbeam.space.neighbors import Ids, NeighborSearch


@dataclass(frozen=True)
class SanText:
    """Word to word, by distances alone.

    Attributes:
      epsilon: privacy parameter per unit of Euclidean distance.
      importance: public weights by which harmless words stay unchanged more often, or None.
    """

    epsilon: float
    importance: Importance | None = field(default=None, metadata=ADDED_LATER, kw_only=True)
    name: ClassVar[str] = "santext"

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon))
        checked_importance(self.importance)

    def draws(self, dimensions: int) -> int:  # noqa: ARG002
        """Random numbers per word."""
        return DRAWS if self.importance is None else IMPORTANCE_DRAWS

    def release(self, ids: Ids, random: Random, search: NeighborSearch) -> Ids:
        """A word of the vocabulary for each word: int64 [B] -> int64 [B]."""
        return choose(
            ids, random, WordDistribution(self.epsilon / 2, importance=self.importance), search
        )

    def channel(self, search: NeighborSearch) -> WordChannel:
        """Falls with the distance."""
        distribution = WordDistribution(self.epsilon / 2, importance=self.importance)
        return FallingChannel(distribution, search)

    def guarantee(self) -> Guarantee:
        """Pure epsilon * Euclidean distance, for every pair of strings; with weights more."""
        citation = "Yue et al. 2021, theorem 1; McSherry and Talwar 2007, theorem 6"
        promise = pure(self.epsilon, citation, arithmetic=ROUNDED_CHOICE)
        return with_importance(promise, self.importance)
