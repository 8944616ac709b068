"""What a configuration promises, in numbers and in a sentence."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

EUCLIDEAN = "Euclidean distance between the words' vectors in the vocabulary"


@dataclass(frozen=True)
class Guarantee:
    """A privacy guarantee as a value; an entry never changes its meaning.

    Attributes:
      notion: the definition that is met, e.g. "metric differential privacy".
      metric: the distance d in which it is stated.
      epsilon: the factor of d in the exponent; infinite where nothing is guaranteed.
      delta: the additive slack; 0 for a pure guarantee.
      unit: what is protected.
      composition: how the guarantees of many units add up.
      evidence: "proved", "measured" or "published" (claimed in a paper, not verified by us).
      citation: where the proof or the claim stands.
      caveats: what the guarantee does not cover, one sentence each.
      euclidean_epsilon: the factor of the Euclidean distance between word vectors that the
        exponent never exceeds, whatever the metric; None where there is none to name.
      unprotected: words that the mechanism itself may release as they are.
      longest: it holds for words at most so far apart, in Euclidean distance; None if for all.
      cap: what the exponent never exceeds, however far apart words are; None where nothing caps
        it, or what does depends on the vocabulary.
    """

    notion: str
    metric: str
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

    @property
    def sound(self) -> bool:
        """Whether anything is guaranteed at all."""
        return math.isfinite(self.epsilon)

    @property
    def sentence(self) -> str:
        """The guarantee as one sentence."""
        if not self.sound:
            return f"Nothing is guaranteed for a {self.unit}."
        slack = f", up to a probability of {self.delta:g}" if self.delta else ""
        return (
            f"Whoever sees one released {self.unit} can tell any two original {self.unit}s x and "
            f"x' apart by a likelihood ratio of at most exp({self.epsilon:g} * d(x, x')){slack}, "
            f"where d is the {self.metric}."
        )

    @property
    def table(self) -> list[tuple[str, str]]:
        """What an engineer checks: names and values, without the caveats."""
        return [
            ("notion", self.notion),
            ("metric d", self.metric),
            ("epsilon", f"{self.epsilon:g} per unit of d" if self.sound else "none"),
            ("delta", f"{self.delta:g}"),
            ("unit", self.unit),
            ("composition", self.composition),
            ("evidence", f"{self.evidence}: {self.citation}"),
            ("unprotected", "; ".join(self.unprotected) or "no word"),
        ]

    def with_caveats(self, *caveats: str) -> Guarantee:
        """The same guarantee with more that it does not cover."""
        return dataclasses.replace(self, caveats=self.caveats + caveats)

    def as_dict(self) -> dict[str, Any]:
        """All fields and the sentence, ready for JSON."""
        return {
            "sentence": self.sentence,
            **dataclasses.asdict(self),
            "epsilon": self.epsilon if self.sound else None,
            "caveats": list(self.caveats),
            "unprotected": list(self.unprotected),
        }


def pure(
    epsilon: float,
    citation: str,
    metric: str = EUCLIDEAN,
    euclidean_epsilon: float | None = None,
    caveats: tuple[str, ...] = (),
) -> Guarantee:
    """A factor of exp(epsilon d) for a word; ``euclidean_epsilon`` is epsilon by default."""
    return Guarantee(
        notion="metric differential privacy",
        metric=metric,
        epsilon=epsilon,
        delta=0.0,
        unit="word",
        composition=(
            "For two documents with the same number of words the factors multiply: the sum over "
            "positions of epsilon * d(x_i, x_i')."
        ),
        evidence="proved",
        citation=citation,
        caveats=caveats,
        euclidean_epsilon=epsilon if euclidean_epsilon is None else euclidean_epsilon,
    )


def approximate(
    epsilon: float, delta: float, citation: str, metric: str, caveats: tuple[str, ...] = ()
) -> Guarantee:
    """The same up to a probability of delta."""
    return dataclasses.replace(
        pure(epsilon, citation, metric, caveats=caveats),
        notion="approximate metric differential privacy",
        delta=delta,
        composition=(
            "For two documents with the same number of words the exponents add up, and so do the "
            "slacks: delta for every word that differs."
        ),
    )


def nothing(evidence: str, citation: str, caveats: tuple[str, ...]) -> Guarantee:
    """No guarantee, and why."""
    return Guarantee(
        notion="none",
        metric="none",
        epsilon=math.inf,
        delta=1.0,
        unit="word",
        composition="nothing to compose",
        evidence=evidence,
        citation=citation,
        caveats=caveats,
    )
