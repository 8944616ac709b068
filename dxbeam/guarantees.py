"""What a configuration promises, in numbers and in a sentence.

Sentences are composed from a guarantee's values, so that they stay true when a configuration
changes a value: which words are covered, how many of them make up what is released.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Context
from typing import Any


@dataclass(frozen=True)
class Metric:
    """A distance d between originals, in which a guarantee is stated.

    Attributes:
      name: for code and for JSON, e.g. "euclidean"; the distances of two configurations may have
        one name and differ in a number that the sentence holds.
      sentence: what it is, as a person reads it after "where d is the".
      euclidean: whether it is made of Euclidean distances between words' vectors in the
        vocabulary, so that epsilon needs no comparison with them.
      shows: what may be published of every word, as a noun, where words that differ in it are
        infinitely far apart; "" where there is no such thing.
    """

    name: str
    sentence: str
    euclidean: bool = field(default=False, compare=False)
    shows: str = field(default="", compare=False)

    def limited(self, limit: str) -> Metric:
        """The same distance up to a limit: how far, and what it is beyond."""
        return Metric(f"{self.name}, limited", f"{self.sentence}, {limit}", self.euclidean)


EUCLIDEAN = Metric(
    "euclidean", "Euclidean distance between the words' vectors in the vocabulary", True
)
NO_METRIC = Metric("none", "none")

LEFT_OUT = (
    "A record that cannot be used because of what it holds, such as a null character or too much "
    "text, is missing from the release, and a reader may notice that."
)
"""A caveat of every release."""

SEVERAL = (
    "Several documents of one person, and one text under several ids, cost the sum of what each "
    "of them costs."
)
"""What every composition of documents says."""


@dataclass(frozen=True)
class Guarantee:
    """A privacy guarantee as a value; an entry never changes its meaning.

    Attributes:
      notion: the definition that is met, e.g. "metric differential privacy".
      metric: the distance d in which it is stated; JSON has its sentence, and its name next to it.
      epsilon: the factor of d in the exponent; infinite where nothing is guaranteed.
      delta: the additive slack; 0 for a pure guarantee.
      unit: what is protected.
      composition: how the guarantees of many units add up.
      evidence: "proved", "measured" or "published" (claimed in a paper, not verified by us).
      citation: where the proof or the claim is.
      caveats: what the guarantee does not cover, one sentence each.
      euclidean_epsilon: the factor of the Euclidean distance between word vectors that the
        exponent never exceeds, whatever the metric; for a bag of words the factor of the same sum
        of distances; None where there is none to name.
      unprotected: words that may be released as they are, or show that they were there.
      longest: the guarantee holds for words at most so far apart, in Euclidean distance; None if
        it holds for all.
      cap: what the exponent never exceeds, however far apart words are; None where nothing caps
        it, or what does depends on the vocabulary.
      far_odds: with N words in the vocabulary the exponent of one word never exceeds
        2 ln(far_odds (N - 1)); None where there is no such cap.
      covers: between any two of what the guarantee holds, in the plural; "" for its units.
      covered_share: share of the vocabulary, from its end, whose words the guarantee covers.
      arithmetic: how near the computation, in floating point, comes to the proof, which is for
        exact numbers.
      bag_length: how many words are released for a document, where a document is the unit and its
        words come without their order; None otherwise.
    """

    notion: str
    metric: Metric
    epsilon: float
    delta: float
    unit: str
    composition: str
    evidence: str
    citation: str
    caveats: tuple[str, ...] = ()
    euclidean_epsilon: float | None = None
    unprotected: tuple[str, ...] = ()
    longest: float | None = None
    cap: float | None = None
    far_odds: float | None = None
    covers: str = ""
    covered_share: float = 1.0
    arithmetic: str = ""
    bag_length: int | None = None

    @property
    def sound(self) -> bool:
        """Whether anything is guaranteed at all."""
        return math.isfinite(self.epsilon)

    @property
    def covered(self) -> str:
        """Between any two of what the guarantee holds, in the plural."""
        return self.covers or f"{self.unit}s"

    @property
    def sentence(self) -> str:
        """The guarantee as one sentence."""
        if not self.sound:
            return f"Nothing is guaranteed for a {self.unit}."
        slack = f", up to a probability of {at_most(self.delta)}" if self.delta else ""
        unprotected = ", or for ".join(self.unprotected)
        exception = f"; nothing is promised for {unprotected}" if unprotected else ""
        return (
            f"Whoever sees one released {self.unit} can tell any two original {self.covered} x and "
            f"x' apart by a likelihood ratio of at most exp({at_most(self.epsilon)} * d(x, x'))"
            f"{slack}, where d is the {self.metric.sentence}{exception}."
        )

    @property
    def limits(self) -> tuple[str, ...]:
        """What else bounds the exponent, and where the promise ends: further caveats."""
        if not self.sound:
            return ()
        said = []
        if self.euclidean_epsilon is not None and not self.metric.euclidean:
            of_bags = "same sum of Euclidean distances"
            distance = "Euclidean distance" if self.bag_length is None else of_bags
            said.append(
                f"The exponent is at most {at_most(self.euclidean_epsilon)} times the {distance}."
            )
        if self.cap is not None:
            said.append(
                f"The exponent is at most {at_most(self.cap)} for any two {self.covered}, however "
                "far apart."
            )
        if self.longest is not None:
            longest = f"{self.longest:.12g}"
            said.append(
                f"Nothing is promised between words further apart than {longest}."
                if self.bag_length is None
                else "Nothing is promised between documents whose words cannot be matched at "
                f"distances of {longest} or less, nor, where two words of the vocabulary are "
                "further apart than that, between documents that leave a word without a partner."
            )
        if self.arithmetic:
            said.append(self.arithmetic)
        return tuple(said)

    @property
    def table(self) -> list[tuple[str, str]]:
        """What an engineer checks: names and values, without the caveats."""
        return [
            ("notion", self.notion),
            ("metric d", self.metric.sentence),
            ("epsilon", f"{at_most(self.epsilon)} per unit of d" if self.sound else "none"),
            ("delta", at_most(self.delta)),
            ("unit", self.unit),
            ("covers", self.covered if self.sound else "nothing"),
            ("composition", self.composition),
            ("evidence", f"{self.evidence}: {self.citation}"),
            ("no promise", "; ".join(self.unprotected) or "for no word: all are covered"),
        ]

    def with_caveats(self, *caveats: str) -> Guarantee:
        """The same guarantee with more that it does not cover."""
        return dataclasses.replace(self, caveats=self.caveats + caveats)

    def narrowed(self, covers: str, unprotected: str) -> Guarantee:
        """The same guarantee of a word for fewer words: what it covers, and what it does not."""
        narrowed = dataclasses.replace(self, unprotected=(*self.unprotected, unprotected))
        if not self.sound:
            return narrowed
        composition = _position_by_position(covers, self.delta)
        return dataclasses.replace(narrowed, covers=covers, composition=composition)

    def of_documents(self) -> Guarantee:
        """The same guarantee of a word where a released word depends on others of its document."""
        covers = f"{self.covered} in the same place"
        return dataclasses.replace(self, unit="document", covers=covers)

    def first_covered(self, words: int) -> int:
        """The id of the first word that it covers, in a vocabulary of this many."""
        return min(round(words * (1 - self.covered_share)), words - 1)

    def one_word(self, words: int) -> tuple[float, float]:
        """The largest exponent that one changed word can cost, or infinity, and the delta."""
        length = self.bag_length or 1
        caps = [math.inf]
        if self.cap is not None:
            caps.append(self.cap / length)
        if self.far_odds is not None and words > 1:
            caps.append(max(0.0, 2 * math.log(self.far_odds * (words - 1))))
        return min(caps), self.delta / length

    def as_dict(self) -> dict[str, Any]:
        """All fields, the sentence and the name of the metric, ready for JSON."""
        return {
            "sentence": self.sentence,
            **dataclasses.asdict(self),
            "metric": self.metric.sentence,
            "metric_name": self.metric.name,
            "epsilon": self.epsilon if self.sound else None,
            "covers": self.covered if self.sound else None,
            "caveats": list(self.caveats),
            "unprotected": list(self.unprotected),
        }

    @classmethod
    def from_dict(cls, written: Mapping[str, Any]) -> Guarantee:
        """The guarantee that ``as_dict`` wrote; KeyError, TypeError: it wrote no such thing."""
        fields = {each.name: written[each.name] for each in dataclasses.fields(cls)}
        fields["metric"] = Metric(written["metric_name"], written["metric"])
        fields["epsilon"] = math.inf if written["epsilon"] is None else written["epsilon"]
        fields["covers"] = written["covers"] or ""
        fields |= {name: tuple(written[name]) for name in ("caveats", "unprotected")}
        return cls(**fields)


def at_most(value: float, digits: int = 6) -> str:
    """A number in a few digits, rounded up, so that a bound with it stays true."""
    short = f"{value:.{digits}g}"
    if float(short) >= value * (1 - 1e-12):  # equal, but for what computing it in float64 added
        return short
    rounded = Context(prec=digits, rounding=ROUND_CEILING).create_decimal_from_float(value)
    return f"{float(rounded):.{digits}g}"


def _position_by_position(covers: str, delta: float) -> str:
    """How the guarantee of a word composes over documents that keep their order."""
    slacks = ", and so do the slacks: delta for every word that differs" if delta else ""
    return (
        f"For two documents that differ in {covers} alone, one for one, the exponents add up, the "
        f"sum over positions of epsilon * d(x_i, x_i'){slacks}. {SEVERAL}"
    )


def pure(
    epsilon: float,
    citation: str,
    metric: Metric = EUCLIDEAN,
    euclidean_epsilon: float | None = None,
    caveats: tuple[str, ...] = (),
    arithmetic: str = "",
) -> Guarantee:
    """A factor of exp(epsilon d) for a word; ``euclidean_epsilon`` is epsilon by default."""
    return Guarantee(
        notion="metric differential privacy",
        metric=metric,
        epsilon=epsilon,
        delta=0.0,
        unit="word",
        composition=_position_by_position("words", 0.0),
        evidence="proved",
        citation=citation,
        caveats=caveats,
        euclidean_epsilon=epsilon if euclidean_epsilon is None else euclidean_epsilon,
        arithmetic=arithmetic,
    )


def approximate(
    epsilon: float, delta: float, citation: str, metric: Metric, arithmetic: str
) -> Guarantee:
    """The same up to a probability of delta."""
    return dataclasses.replace(
        pure(epsilon, citation, metric, arithmetic=arithmetic),
        notion="approximate metric differential privacy",
        delta=delta,
        composition=_position_by_position("words", delta),
    )


def nothing(evidence: str, citation: str, caveats: tuple[str, ...]) -> Guarantee:
    """No guarantee, and why."""
    return Guarantee(
        notion="none",
        metric=NO_METRIC,
        epsilon=math.inf,
        delta=1.0,
        unit="word",
        composition="nothing to compose",
        evidence=evidence,
        citation=citation,
        caveats=caveats,
    )
