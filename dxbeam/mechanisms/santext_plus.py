"""SanText for rare words; common words are kept with a given probability.

Yue et al. 2021, SanText+: words are divided into sensitive and other ones. A sensitive word is
replaced as by SanText, by a sensitive word; another one is with probability p, and is otherwise
released as it is. The paper takes the words' frequencies in the private corpus for that division,
which voids any guarantee. Here sensitive words are the last ones of the public vocabulary, which
embedding files order by frequency, and all words outside it.

What is guaranteed, in truth. Between two sensitive words: epsilon d, as for SanText. Between any
others nothing: a common word that is released as it is tells that it was there, which happens with
probability 1 - p, so no delta below 1 - p is true.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dxbeam.errors import ConfigurationError
from dxbeam.guarantees import Guarantee, pure
from dxbeam.mechanisms.parameters import checked_epsilon, checked_share, settle
from dxbeam.mechanisms.public.word_distribution import WordDistribution
from dxbeam.mechanisms.sampling.exponential_choice import (
    DRAWS,
    PROPOSAL_TAIL,
    ROUNDED_CHOICE,
    choose,
)
from dxbeam.mechanisms.sampling.noise import uniform
from dxbeam.randomness import Random
from dxbeam.space.search.neighbors import Ids, NeighborSearch
from dxbeam.space.vocabulary.words import UNKNOWN, Vocabulary


@dataclass(frozen=True)
class SanTextPlus:
    """Word to word.

    Attributes:
      epsilon: privacy parameter per unit of Euclidean distance, between sensitive words.
      p: probability that a common word is replaced.
      sensitive: share of the vocabulary, from its end, that is sensitive.
    """

    epsilon: float
    p: float = 0.3
    sensitive: float = 0.9
    name: ClassVar[str] = "santext_plus"

    def __post_init__(self) -> None:
        p = checked_share("p", self.p, "the probability that a common word is replaced")
        meaning = "the share of the vocabulary that is sensitive"
        share = checked_share("sensitive", self.sensitive, meaning)
        if share == 0:
            raise ConfigurationError(
                "sensitive must be above 0: sensitive words are what is released"
            )
        settle(self, epsilon=checked_epsilon(self.epsilon), p=p, sensitive=share)

    def first_sensitive(self, words: int) -> int:
        """Id of the first sensitive word of this many."""
        return min(round(words * (1 - self.sensitive)), words - 1)

    def distribution(self, vocabulary: Vocabulary) -> WordDistribution:
        """What is drawn for a word that is replaced, over a vocabulary."""
        return WordDistribution(self.epsilon / 2, first=self.first_sensitive(len(vocabulary)))

    def draws(self, dimensions: int) -> int:  # noqa: ARG002
        """Random numbers per word: SanText's, and one for the coin."""
        return DRAWS + 1

    def release(self, ids: Ids, random: Random, search: NeighborSearch) -> Ids:
        """A sensitive word for each word, or a common word itself: int64 [B] -> int64 [B]."""
        first = self.first_sensitive(len(search.vocabulary))
        common = (ids != UNKNOWN) & (ids < first)
        coin = uniform(random[:, DRAWS], random[:, PROPOSAL_TAIL])
        replaced = ~common | (coin <= self.p)
        released = ids.copy()
        distribution = self.distribution(search.vocabulary)
        released[replaced] = choose(ids[replaced], random[replaced], distribution, search)
        return np.asarray(released)

    def guarantee(self) -> Guarantee:
        """Pure epsilon * Euclidean distance between two sensitive words; otherwise nothing.

        Where every word is sensitive, or every common word is replaced, it is that of SanText.
        """
        citation = "Yue et al. 2021; proof in dxbeam/mechanisms/santext_plus.py"
        if self.p == 1 or self.sensitive == 1:
            return pure(self.epsilon, citation, arithmetic=ROUNDED_CHOICE)
        kept = f"{1 - self.p:.12g}"
        among = pure(
            self.epsilon,
            citation,
            caveats=(
                f"Sensitive are the last {100 * self.sensitive:.12g} % of the vocabulary and, "
                "where they are noised, words outside it; every other word is common.",
                f"The mechanism keeps a common word as it is with probability {kept}; no delta "
                f"below {kept} would be true of what it draws.",
            ),
            arithmetic=ROUNDED_CHOICE,
        ).narrowed(
            "sensitive words", f"common words, which the mechanism keeps with probability {kept}"
        )
        return dataclasses.replace(
            among,
            notion="metric differential privacy among sensitive words",
            covered_share=self.sensitive,
        )
