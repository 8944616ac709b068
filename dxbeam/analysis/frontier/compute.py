"""What a setting leaves of words against what attackers get of them, on the same draws.

A point of the frontier is a mechanism, its parameters, rank resampling's c and an epsilon. Utility
is the share of words released as themselves or as one of their 100 nearest neighbours; risk is the
share of words an attacker recovers at its first guess. Of each curve over epsilon, the point of the
largest utility is wanted whose risk stays below a limit. Two curves are told apart only where the
intervals of their utility do not meet.

Intervals hold one at a time. A choice among many epsilons favours those that were lucky, so a
setting is best chosen on one sample and stated from another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from dxbeam.analysis.attackers.channel import Channel
from dxbeam.analysis.attackers.draws import draw
from dxbeam.analysis.attackers.single_words import NOISY_VECTOR, RELEASED_WORD, attack_all
from dxbeam.analysis.attackers.success import Success
from dxbeam.analysis.measure.proportions import outcomes
from dxbeam.analysis.theory.intervals import count_interval
from dxbeam.errors import ConfigurationError
from dxbeam.mechanisms import Mechanism
from dxbeam.randomness import Random
from dxbeam.space.search.neighbors import Ids, NeighborSearch


def _of_all_and_rare(*names: str) -> tuple[str, ...]:
    """Of all words, and of those that public text holds rarer than 1 in 10,000."""
    return tuple(column for name in names for column in (name, f"{name}_rare"))


BLIND = _of_all_and_rare("blind", "blind_5", "blind_10")
"""What whoever sees no word gets by guessing the 1, 5 or 10 commonest words of public text."""

READING = _of_all_and_rare(
    "single", "context", "learned", "model", "masked_1", "masked_5", "masked_10", "endpoint"
)
"""What attackers get that read released documents: word by word, with the words around it, by
learnt inversion, with a language model that is brought, by only this model in 1, 5 or 10 guesses,
and by asking an endpoint."""

READING_NOISE = _of_all_and_rare("noisy_single", "noisy_context", "noisy_learned", "noisy_model")
"""The same from noisy vectors, or from what else a decoder reads; the same for every c."""

OF_DOCUMENTS = (
    "unchanged_rare", "believed", *BLIND, *READING, *READING_NOISE, "task_accuracy", "wmd",
)  # fmt: skip
"""All that is measured on documents. ``believed`` is the share of their words that stay;
``task_accuracy`` is of original documents, by what is learnt from released ones; ``wmd`` is the
mean Word Mover's Distance of a document to its release, in units of the embedding."""

ESTIMATES = (
    "useful", "unchanged", "unchanged_rare", "believed", RELEASED_WORD, NOISY_VECTOR,
    *OF_DOCUMENTS[2:],
)  # fmt: skip
"""Columns of the table that have an interval."""


class Estimate(NamedTuple):
    """A share, or a mean, and its 95 % interval."""

    value: float
    low: float
    high: float


class Counts(NamedTuple):
    """What is counted over words; counts over parts of the words can be added.

    Attributes:
      words: how many were released.
      unchanged: how many came out as themselves.
      useful: how many came out as themselves or as a close word.
      released_word: what Bayes on the released word got.
      noisy_vector: what Bayes on the noisy vector got; None where it is not defined.
    """

    words: int
    unchanged: int
    useful: int
    released_word: Success
    noisy_vector: Success | None

    def plus(self, other: Counts) -> Counts:
        """The counts over the words of both, which were released under one setting."""
        vector = None
        if self.noisy_vector is not None and other.noisy_vector is not None:
            vector = self.noisy_vector.plus(other.noisy_vector)
        return Counts(
            self.words + other.words,
            self.unchanged + other.unchanged,
            self.useful + other.useful,
            self.released_word.plus(other.released_word),
            vector,
        )


class Point(NamedTuple):
    """A point of the frontier: a row of frontier.parquet.

    Attributes:
      mechanism: its name.
      parameters: other than epsilon, as --parameters takes them.
      rank_c: of rank resampling; None for none.
      epsilon: of the mechanism.
      words: how many words it was measured on.
      useful: share of words released as themselves or as a close word.
      unchanged: share of words released as themselves.
      released_word: share recovered by Bayes on the released word.
      noisy_vector: by Bayes on the noisy vector; None where that is not defined.
      documents: what was measured on documents, by its column; without what was not asked for, and
        what is not defined: rare words where there are none, noise without a known density.
    """

    mechanism: str
    parameters: str
    rank_c: float | None
    epsilon: float
    words: int
    useful: Estimate
    unchanged: Estimate
    released_word: Estimate
    noisy_vector: Estimate | None
    documents: Mapping[str, Estimate | None] = {}

    @property
    def curve(self) -> tuple[str, str, float | None]:
        """Which curve over epsilon the point is on."""
        return self.mechanism, self.parameters, self.rank_c

    @property
    def of_texts(self) -> bool:
        """Whether its words were released in their places in documents, by a setting that reads."""
        return "language_model=" in self.parameters

    def estimate(self, column: str) -> Estimate | None:
        """A column of ``ESTIMATES``; None where it was not measured."""
        if column in OF_DOCUMENTS:
            return self.documents.get(column)
        estimate: Estimate | None = getattr(self, column)
        return estimate

    def with_documents(self, **estimates: Estimate | None) -> Point:
        """The same point with more that was measured on documents."""
        return self._replace(documents={**self.documents, **estimates})

    def as_row(self) -> dict[str, Any]:
        """With a column for each value and for the ends of its interval."""
        row = {name: getattr(self, name) for name in ("mechanism", "parameters", "rank_c")}
        row |= {"epsilon": self.epsilon, "words": self.words}
        for name in ESTIMATES:
            estimate = self.estimate(name) or (None, None, None)
            row[name], row[f"{name}_low"], row[f"{name}_high"] = estimate
        return row


class Verdict(NamedTuple):
    """What can be said of two points that were chosen under one limit of risk.

    Attributes:
      one, other: the points.
      more: the one whose utility is surely larger; None where intervals meet and nothing can be
        said.
    """

    one: Point
    other: Point
    more: Point | None


def measured(
    mechanism: Mechanism,
    rank_c: float | None,
    ids: Ids,
    random: Random,
    channel: Channel,
    search: NeighborSearch,
    before: Counts | None = None,
) -> Counts:
    """Releases each word once and counts what it is still good for and what attackers get.

    Args:
      mechanism: with its epsilon.
      rank_c: of rank resampling; None for none.
      ids: int64 [B], words of the vocabulary.
      random: uint64 [B, draws_needed or more].
      channel: of mechanism and rank resampling together, with the prior of both attackers.
      search: the vocabulary, with its neighbour table.
      before: of the same words and random numbers with another ``rank_c``, which leaves the noisy
        vectors as they are; they are not attacked again.
    """
    drawn = draw(mechanism, rank_c, ids, random, search)
    if before is not None:
        drawn = drawn._replace(noisy=None)
    kinds = outcomes(ids, drawn.released[:, None], search)[:, 0]
    successes = attack_all(mechanism, drawn, channel, search)
    return Counts(
        len(ids),
        int((kinds == 0).sum()),
        int((kinds <= 1).sum()),
        successes[RELEASED_WORD],
        before.noisy_vector if before else successes.get(NOISY_VECTOR),
    )


def point(mechanism: Mechanism, parameters: str, rank_c: float | None, counts: Counts) -> Point:
    """Shares with Clopper-Pearson intervals.

    Args:
      mechanism: with its epsilon.
      parameters: its other parameters, as --parameters takes them.
      rank_c: of rank resampling; None for none.
      counts: over all words.
    """
    vector = counts.noisy_vector
    return Point(
        mechanism.name,
        parameters,
        rank_c,
        mechanism.epsilon,
        counts.words,
        Estimate(*count_interval(counts.useful, counts.words)),
        Estimate(*count_interval(counts.unchanged, counts.words)),
        Estimate(*counts.released_word.first_share()),
        None if vector is None else Estimate(*vector.first_share()),
    )


def best_within(
    points: Iterable[Point], most_risk: float, attacker: str = RELEASED_WORD
) -> list[Point]:
    """Of each curve the point of the largest utility whose risk is surely within the limit.

    Surely: the upper end of the risk's interval is. A curve without such a point is left out, and
    so is one for which the attacker is not defined. Of equally useful points the first one with
    the least epsilon is taken.

    Args:
      points: of any number of curves.
      most_risk: the limit, a share above 0 and below 1.
      attacker: ``RELEASED_WORD`` or ``NOISY_VECTOR``.

    Returns:
      One point a curve, in decreasing order of utility.

    Raises:
      ConfigurationError: the limit is no such share, or there is no such attacker.
    """
    if not 0 < most_risk < 1:
        raise ConfigurationError(
            f"`most_risk` {most_risk:g}: the share of words that may be recovered must be above 0 "
            "and below 1, as 0.2"
        )
    if attacker not in (RELEASED_WORD, NOISY_VECTOR):
        raise ConfigurationError(
            f"`attacker` {attacker}: there is no such attacker; choose from {RELEASED_WORD}, "
            f"{NOISY_VECTOR}"
        )
    best: dict[Any, Point] = {}
    for candidate in sorted(points, key=lambda point: (-point.useful.value, point.epsilon)):
        risk = candidate.estimate(attacker)
        if risk is not None and risk.high <= most_risk:
            best.setdefault(candidate.curve, candidate)
    return list(best.values())


def compared(points: Sequence[Point], by: str = "useful") -> Iterator[Verdict]:
    """Each pair of points, with the more useful one where their intervals do not meet.

    Args:
      points: chosen under one limit of risk.
      by: the column of the table that says how useful they are; more is better.
    """
    for index, one in enumerate(points):
        for other in points[index + 1 :]:
            first, others = one.estimate(by), other.estimate(by)
            assert first is not None
            assert others is not None
            more = None
            if first.low > others.high:
                more = one
            elif others.low > first.high:
                more = other
            yield Verdict(one, other, more)
