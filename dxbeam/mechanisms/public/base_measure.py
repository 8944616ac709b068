"""A public base measure: what everybody knows of words, before any distance.

    P(y | x) proportional to q(y)^tau exp(-h(x, y)),  h(x, y) = epsilon d(x, y) / 2

with q public and tau >= 0. By q = 1 each word of the vocabulary is as likely as any other, so rare
words and misspellings crowd out those that a text consists of. With the frequencies of words as q
common words come back, and rare ones hide among them.

Proof. q does not depend on x, so in P(y | x) / P(y | x') it cancels, and what is left is
exp(h(x', y) - h(x, y)) Z(x') / Z(x). By the triangle inequality |h(x', y) - h(x, y)| <= h(x, x')
for every y; so each term of Z(x') = sum q(y)^tau exp(-h(x', y)) is at most exp(h(x, x')) times
that of Z(x), and the ratio of the sums is too. Together exp(2 h(x, x')) = exp(epsilon d(x, x')),
whatever q is; a word with q = 0 is never released.
(McSherry and Talwar 2007 state the exponential mechanism with a base measure, definition 2.)
The same with min(d, gamma) for d, and with the metric d' of importance.py for epsilon d.

All of this needs q to be public. One computed from the private corpus depends on what it should
hide, and voids the guarantee.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dxbeam.errors import ConfigurationError
from dxbeam.guarantees import Guarantee
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

LARGEST_EXPONENT = 4.0

LARGEST_RANGE = 600.0
"""Of tau log q. exp(-600) is 1e-261, and sums of words are exact compared with it."""

FILE = "file"

_NUMBERS = WordList(
    "a base measure is a mapping of words to numbers, such as {'the': 0.05}",
    "base: no word has a number above 0",
    f"base: {{words:,}} words are listed, and a list holds at most {MOST_WORDS:,}; leave out the "
    f"rarest, or take {FREQUENCY}",
    "`base`: none of the {words:,} words that are listed is in the vocabulary; give numbers of its "
    "words",
)

MUST_BE_PUBLIC = (
    "The base measure must be public; one computed from the private corpus voids the guarantee."
)


@dataclass(frozen=True)
class FrequencyBase:
    """q by Zipf's law: the word with the id i has q = 1 / (i + 1).

    Embedding files list words by their frequency in the public corpus that they were made of.

    Attributes:
      exponent: tau.
    """

    exponent: float = 1.0

    def __post_init__(self) -> None:
        settle(self, exponent=checked_exponent(self.exponent))

    def logs(self, vocabulary: Vocabulary) -> Floats:
        """Tau log q of each word, float64 [N], the largest 0."""
        return np.asarray(-self.exponent * np.log(np.arange(1, len(vocabulary) + 1)))

    def as_dict(self) -> dict[str, Any]:
        """Every parameter, ready for JSON."""
        return {"kind": FREQUENCY, "exponent": self.exponent}

    @property
    def sentence(self) -> str:
        """Which measure this is, as a person reads it."""
        return f"1 / r for the r-th word of the vocabulary, to the power of {self.exponent:.12g}"


@dataclass(frozen=True)
class ListedBase:
    """q by a list of words; words that it does not name are never released.

    Attributes:
      listed: q, above 0, by word; words with q = 0 are left out.
      exponent: tau.
      kind: which list it is, for sentences and release.json.
      file: where it was read, its name and the SHA-256 of its bytes; None for none.
      digest: SHA-256 of the words and q, in the order of the words.

    Raises:
      ConfigurationError: a q that is no number of 0 or more, none above 0, or too many words.
    """

    listed: Mapping[str, float] = field(repr=False, compare=False)
    exponent: float = 1.0
    kind: str = "listed"
    file: tuple[str, str] | None = field(default=None, compare=False)
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        kept, digest = kept_words(self.listed, checked_share_of, _NUMBERS)
        settle(self, exponent=checked_exponent(self.exponent), listed=kept, digest=digest)

    def logs(self, vocabulary: Vocabulary) -> Floats:
        """Tau log q of each word, float64 [N], the largest 0; -inf for words that have no q.

        Where the vocabulary's casing makes one word of several, they add up.

        Raises:
          ConfigurationError: none of the words is in the vocabulary, or q spans too many orders of
            magnitude.
        """
        ids, listed = known_words(self.listed, vocabulary, _NUMBERS)
        shares = np.zeros(len(vocabulary))
        np.add.at(shares, ids, listed)
        released = shares > 0
        logs = np.full(len(vocabulary), -np.inf)
        logs[released] = self.exponent * (np.log(shares[released]) - np.log(shares.max()))
        if logs[released].min() < -LARGEST_RANGE:
            raise ConfigurationError(
                f"`base`: the numbers span a factor of exp({-logs[released].min():.0f}), and at "
                f"most exp({LARGEST_RANGE:g}) can be computed; set the smallest to 0 or lower "
                "`base_exponent`"
            )
        return logs

    def as_dict(self) -> dict[str, Any]:
        """Every parameter, ready for JSON; the words by their number and SHA-256."""
        return {
            "kind": self.kind,
            "exponent": self.exponent,
            "words": len(self.listed),
            "sha256": self.digest,
        }

    @property
    def sentence(self) -> str:
        """Which measure this is, as a person reads it."""
        return (
            f"{self.kind}, {len(self.listed):,} words, SHA-256 {self.digest[:12]}, to the power of "
            f"{self.exponent:.12g}; other words are never drawn"
        )


BaseMeasure = FrequencyBase | ListedBase
"""A public base measure q^tau."""


def checked_exponent(exponent: float) -> float:
    """Tau as a float; refused unless above 0 and up to LARGEST_EXPONENT."""
    if isinstance(exponent, bool) or not isinstance(exponent, int | float):
        exponent = math.nan
    if not 0 < exponent <= LARGEST_EXPONENT:
        raise ConfigurationError(
            f"base_exponent is a number above 0 and up to {LARGEST_EXPONENT:g}; 1 takes the base "
            "measure as it is, 0.5 its square root"
        )
    return float(exponent)


def checked_share_of(share: float) -> float:
    """A word's q as a float; refused unless finite and 0 or more."""
    number = number_of(share)
    if not 0 <= number < math.inf:
        raise ConfigurationError("base: a word's number must be finite and 0 or more")
    return number


def with_base(promise: Guarantee, base: BaseMeasure | None) -> Guarantee:
    """The same guarantee, saying what words are drawn by; its numbers do not change."""
    if base is None:
        return promise
    return promise.with_caveats(
        f"Words are drawn in proportion to a public base measure ({base.sentence}), which changes "
        "no bound: the proof stands in dxbeam/mechanisms/public/base_measure.py.",
        MUST_BE_PUBLIC,
    )
