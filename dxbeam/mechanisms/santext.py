"""A word drawn with probability proportional to exp(-epsilon d / 2): the exponential mechanism.

Yue, Du, Wang, Li, Sun, Chow: Differential privacy for text analytics via natural text sanitization
(2021), SanText, with Euclidean distance.

Proof. Replacing x by x' changes each weight exp(-epsilon d(x, w) / 2) by a factor of at most
exp(epsilon d(x, x') / 2) (triangle inequality), and so their sum by at most as much. With public
weights of words the same holds in another metric: importance.py. A public base measure changes no
bound: base_measure.py. What is lost in one vocabulary may be less: exact_constant.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from dxbeam.guarantees import Guarantee, pure
from dxbeam.mechanisms.channels.word_channel import FallingChannel, WordChannel
from dxbeam.mechanisms.constants.exact_constant import (
    ExactConstant,
    checked_constant,
    with_constant,
)
from dxbeam.mechanisms.parameters import ADDED_LATER, checked_epsilon, recorded_settings
from dxbeam.mechanisms.public.base_measure import BaseMeasure, checked_base, with_base
from dxbeam.mechanisms.public.importance import Importance, checked_importance, with_importance
from dxbeam.mechanisms.sampling.exponential_choice import ROUNDED_CHOICE, choose, draws_of
from dxbeam.mechanisms.sampling.word_distribution import WordDistribution
from dxbeam.randomness import Random
from dxbeam.space.search.neighbors import Ids, NeighborSearch
from dxbeam.space.vocabulary.words import Vocabulary


@dataclass(frozen=True)
class SanText:
    """Word to word, by distances only.

    Attributes:
      epsilon: privacy parameter per unit of Euclidean distance: what is guaranteed.
      importance: public weights by which harmless words stay unchanged more often, or None.
      base: public base measure, by which likely words are released more often, or None.
      constant: what a scan of the vocabulary found, or None for the worst case of all.
    """

    epsilon: float
    importance: Importance | None = field(default=None, metadata=ADDED_LATER, kw_only=True)
    base: BaseMeasure | None = field(default=None, metadata=ADDED_LATER, kw_only=True)
    constant: ExactConstant | None = field(default=None, metadata=ADDED_LATER, kw_only=True)
    name: ClassVar[str] = "santext"

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon))
        checked_importance(self.importance)
        checked_base(self.base)
        checked_constant(self.constant, self.epsilon, recorded_settings(self))

    def draws(self, dimensions: int) -> int:  # noqa: ARG002
        """Random numbers per word."""
        return draws_of(self.importance, self.base)

    def distribution(self, vocabulary: Vocabulary) -> WordDistribution:
        """What is drawn, over a vocabulary."""
        scale = 1.0
        if self.constant is not None:
            self.constant.check(vocabulary)
            scale = self.constant.nominal(self.epsilon) / self.epsilon
        return WordDistribution(
            scale * self.epsilon / 2, importance=self.importance, base=self.base, scale=scale
        )

    def release(self, ids: Ids, random: Random, search: NeighborSearch) -> Ids:
        """A word of the vocabulary for each word: int64 [B] -> int64 [B]."""
        return choose(ids, random, self.distribution(search.vocabulary), search)

    def channel(self, search: NeighborSearch) -> WordChannel:
        """Falls with the distance."""
        return FallingChannel(self.distribution(search.vocabulary), search)

    def guarantee(self) -> Guarantee:
        """Pure epsilon * Euclidean distance, for every pair of strings; with weights more."""
        citation = "Yue et al. 2021, theorem 1; McSherry and Talwar 2007, theorem 6"
        promise = pure(self.epsilon, citation, arithmetic=ROUNDED_CHOICE)
        promise = with_base(with_importance(promise, self.importance), self.base)
        return with_constant(promise, self.epsilon, self.constant)
