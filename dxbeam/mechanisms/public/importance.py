"""Importance: public weights of words, by which harmless words stay unchanged more often.

A budget epsilon for each word seems natural, more for harmless words and less for others. With
noise of a scale that depends on the word there is no finite bound, and an exponential mechanism
with a separate epsilon for each word exceeds what its largest epsilon promises
(docs/guides/budgets-per-word.md). What holds is a public weight rho(w) >= 0 for each word in the
metric:

    d'(w, w') = epsilon d(w, w') + rho(w) + rho(w')  for w != w',    d'(w, w) = 0,

and the exponential mechanism, P(y | w) proportional to exp(-d'(w, y) / 2). Words without a weight
keep epsilon d among themselves. A word with one is farther from all others, so it stays what it is
more often, and others become it less often; the price is rho(w) more in the exponent.

d' is a metric wherever d is one (a pseudometric where words share a vector). It is symmetric and
nowhere negative, and d'(w, w') <= d'(w, z) + d'(z, w'): where z is w or w' both sides are equal;
elsewhere the right side is at least epsilon d(w, w') + rho(w) + 2 rho(z) + rho(w') where w != w',
and the left side is 0 where w = w'. The same with min(d, gamma), a metric too, for d.

The bound. By the triangle inequality each weight exp(-d'(w, y) / 2) changes by a factor of at most
exp(d'(w, w') / 2) when w is replaced by w', and so does their sum: P(y | w) <= exp(d'(w, w'))
P(y | w'), McSherry and Talwar 2007, theorem 6.

Words outside the vocabulary. Let pi be the identity on the vocabulary (where that is lower-case, pi
lower-cases first, so every casing of a word has one weight) and send every other string to one
further word u, at the public unknown vector and with rho(u) = 0. d' is a metric on the
vocabulary and u together; u is never released, which is no matter for the bound, as outputs may be
any subset. The mechanism sees pi(s) only, so for all strings the bound holds with d'(pi(s),
pi(s')): pulling a metric back along a fixed public function is how a guarantee survives
pre-composition. Two unknown strings are at distance 0. A larger rho(u) would change no
probability, as exp(-rho(u) / 2) cancels where u itself cannot be released, and so would promise
less for nothing: hence 0.

All of this needs rho to be public. Weights that were computed from the private corpus depend on
what they should hide, and void the guarantee.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dxbeam.errors import ConfigurationError, described
from dxbeam.guarantees import Guarantee, Metric, at_most
from dxbeam.mechanisms.parameters import settle
from dxbeam.mechanisms.public.listed_words import (
    FREQUENCY,
    MOST_WORDS,
    WordList,
    kept_words,
    known_words,
    number_of,
)
from dxbeam.space.search.neighbors import Floats
from dxbeam.space.vocabulary.words import Vocabulary

LARGEST_WEIGHT = 100.0
"""exp(-100 / 2) = 2e-22: with such a weight a word stays what it is for certain."""

_WEIGHTS = WordList(
    "importance is a mapping of words to weights, such as {'the': 10.0}",
    "importance: no word has a weight above 0; leave it out",
    f"importance: {{words:,}} words have a weight, and a list holds at most {MOST_WORDS:,}; leave "
    f"out the smallest, or take {FREQUENCY}",
    "`importance`: none of the {words:,} words with a weight is in the vocabulary; give weights of "
    "its words",
)

MUST_BE_PUBLIC = (
    "The weights of importance must be public; weights computed from the private corpus void the "
    "guarantee."
)


@dataclass(frozen=True)
class WordWeights:
    """Weights by a list of words; words that it does not name have none.

    Attributes:
      listed: the weights, from 0 to LARGEST_WEIGHT, by word.
      kind: which list it is, for sentences and release.json.
      file: where it was read, its name and the SHA-256 of its bytes; None for none.
      largest: of the weights.
      digest: SHA-256 of the words and their weights, in the order of the words.

    Raises:
      ConfigurationError: an invalid weight, no weight above 0, or too many words.
    """

    listed: Mapping[str, float] = field(repr=False, compare=False)
    kind: str = "listed"
    file: tuple[str, str] | None = field(default=None, compare=False)
    largest: float = field(init=False)
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        kept, digest = kept_words(self.listed, checked_weight, _WEIGHTS)
        settle(self, listed=kept, largest=max(kept.values()), digest=digest)

    def as_dict(self) -> dict[str, Any]:
        """Every parameter, ready for JSON; the words by their number and SHA-256."""
        return {
            "kind": self.kind,
            "largest": self.largest,
            "words": len(self.listed),
            "sha256": self.digest,
        }

    @property
    def sentence(self) -> str:
        """Which weights these are, as a person reads it."""
        return f"{self.kind}, {len(self.listed):,} words, SHA-256 {self.digest[:12]}"

    def of(self, vocabulary: Vocabulary) -> Floats:
        """The weight of each word of a vocabulary, float64 [N].

        Where the vocabulary's casing makes one word of several, the largest counts.

        Raises:
          ConfigurationError: none of the words is in the vocabulary.
        """
        ids, listed = known_words(self.listed, vocabulary, _WEIGHTS)
        weights = np.zeros(len(vocabulary))
        np.maximum.at(weights, ids, listed)
        return weights


@dataclass(frozen=True)
class FrequencyWeights:
    """Weights that fall with the logarithm of a word's rank, from ``largest`` to 0.

    Embedding files list words by their frequency in the public corpus that they were made of, and
    by Zipf's law a word of rank r occurs 1 / r times as often as the first one. So the weight of
    the word with the id i, rank i + 1, is largest (1 - ln(i + 1) / ln N): proportional to the
    logarithm of how much more often it occurs than the last word.

    Attributes:
      largest: the first word's weight.
    """

    largest: float = 10.0

    def __post_init__(self) -> None:
        settle(self, largest=checked_weight(self.largest))
        if not self.largest:
            raise ConfigurationError(_WEIGHTS.none_above_0)

    def as_dict(self) -> dict[str, Any]:
        """Every parameter, ready for JSON."""
        return {"kind": FREQUENCY, "largest": self.largest}

    @property
    def sentence(self) -> str:
        """Which weights these are, as a person reads it."""
        return (
            f"{FREQUENCY}: {self.largest:.12g} (1 - ln(r) / ln(N)) for the r-th of the N words of "
            "the vocabulary"
        )

    def of(self, vocabulary: Vocabulary) -> Floats:
        """The weight of each word of a vocabulary, float64 [N]."""
        words = len(vocabulary)
        ranks = np.arange(1, words + 1)
        return np.asarray(self.largest * (1 - np.log(ranks) / math.log(max(words, 2))))


Importance = WordWeights | FrequencyWeights
"""Public weights of words."""


def checked_weight(weight: float) -> float:
    """A weight as a float; refused unless a number from 0 to LARGEST_WEIGHT."""
    number = number_of(weight)
    if not 0 <= number <= LARGEST_WEIGHT:
        raise ConfigurationError(
            f"a weight of importance is a number from 0 to {LARGEST_WEIGHT:g}, not "
            f"{number if isinstance(weight, (int, float)) else described(weight)}; with 10 a word "
            "stays what it is unless some hundred others are near"
        )
    return number


def with_importance(promise: Guarantee, importance: Importance | None) -> Guarantee:
    """The guarantee of a word in the metric d', from that in d; without weights the same."""
    if importance is None:
        return promise
    epsilon, largest = promise.epsilon, at_most(importance.largest)
    metric = Metric(
        f"{promise.metric.name}, with importance",
        f"sum of the {promise.metric.sentence}, and, for two different words, of (rho(x) + "
        f"rho(x')) / {epsilon:.12g}, rho being the public weights of importance "
        f"({importance.sentence})",
    )
    return dataclasses.replace(
        promise,
        metric=metric,
        euclidean_epsilon=None,
        far_odds=None
        if promise.far_odds is None
        else promise.far_odds * math.exp(importance.largest),
        caveats=(
            *promise.caveats,
            "The price of importance: between two words without a weight the exponent is "
            f"{at_most(epsilon)} times the first of the two distances; a word with a weight costs "
            f"its weight more, {largest} at most, and two such words the sum of theirs. A word "
            "counts as the vocabulary looks it up: where that is lower-case, every casing of a "
            "word has the largest weight that is listed for any of them. Words outside the "
            "vocabulary have none.",
            MUST_BE_PUBLIC,
        ),
    )
