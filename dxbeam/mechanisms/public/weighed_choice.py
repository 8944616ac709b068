"""What santext and tem share: a draw by distance, with public weights, a base measure, a constant.

The guarantee is that of the distances; importance.py, base_measure.py and exact_constant.py prove
what each of the three makes of it.
"""

from __future__ import annotations

import math
from abc import ABC

from dxbeam.errors import check_type
from dxbeam.guarantees import Guarantee
from dxbeam.mechanisms.channels.word_channel import FallingChannel, WordChannel
from dxbeam.mechanisms.constants.exact_constant import (
    ExactConstant,
    checked_constant,
    with_constant,
)
from dxbeam.mechanisms.parameters import recorded_settings
from dxbeam.mechanisms.public.base_measure import BaseMeasure, with_base
from dxbeam.mechanisms.public.importance import Importance, with_importance
from dxbeam.mechanisms.public.word_distribution import WordDistribution
from dxbeam.mechanisms.sampling.exponential_choice import choose, draws_of
from dxbeam.randomness import Random
from dxbeam.space.search.neighbors import Ids, NeighborSearch
from dxbeam.space.vocabulary.words import Vocabulary


class WeighedChoice(ABC):
    """A mechanism whose probabilities fall with distance; its exact constant can be scanned for.

    Attributes:
      epsilon: privacy parameter per unit of Euclidean distance: what is guaranteed.
      importance: public weights by which harmless words stay unchanged more often, or None.
      base: public base measure, by which likely words are released more often, or None.
      constant: what a scan of the vocabulary found, or None for the worst case of all.
    """

    epsilon: float
    importance: Importance | None
    base: BaseMeasure | None
    constant: ExactConstant | None

    def _check_public_values(self) -> None:
        """Refuses what are no weights, no base measure, or not this mechanism's constant."""
        check_type(
            self.importance,
            Importance | None,
            "importance is what dxbeam.read_importance gives, WordWeights or FrequencyWeights",
        )
        check_type(
            self.base,
            BaseMeasure | None,
            "base is what dxbeam.read_base gives, FrequencyBase or ListedBase",
        )
        checked_constant(self.constant, self.epsilon, recorded_settings(self))

    def gamma(self, words: int) -> float:  # noqa: ARG002
        """The distance from which on words are alike, in units of the embedding."""
        return math.inf

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
            scale * self.epsilon / 2,
            cap=self.gamma(len(vocabulary)),
            importance=self.importance,
            base=self.base,
            scale=scale,
        )

    def release(self, ids: Ids, random: Random, search: NeighborSearch) -> Ids:
        """A word of the vocabulary for each word: int64 [B] -> int64 [B]."""
        return choose(ids, random, self.distribution(search.vocabulary), search)

    def channel(self, search: NeighborSearch) -> WordChannel:
        """Falls with the distance, up to gamma."""
        return FallingChannel(self.distribution(search.vocabulary), search)

    def _with_public_values(self, promise: Guarantee) -> Guarantee:
        """The guarantee, from that of the distances."""
        promise = with_base(with_importance(promise, self.importance), self.base)
        return with_constant(promise, self.epsilon, self.constant)
