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

from collections.abc import Iterable, Iterator, Sequence
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

BLIND = (
    "blind", "blind_rare", "blind_5", "blind_5_rare", "blind_10", "blind_10_rare",
)  # fmt: skip
"""Those of whoever sees no word."""

READING = (
    "single", "single_rare", "context", "context_rare", "learned", "learned_rare", "model",
    "model_rare", "masked_1", "masked_1_rare", "masked_5", "masked_5_rare", "masked_10",
    "masked_10_rare", "endpoint", "endpoint_rare",
)  # fmt: skip
"""Those of attackers that read released documents."""

READING_NOISE = (
    "noisy_single", "noisy_single_rare", "noisy_context", "noisy_context_rare", "noisy_learned",
    "noisy_learned_rare", "noisy_model", "noisy_model_rare",
)  # fmt: skip
"""Those of attackers that read noisy vectors, which are the same for every c."""

ESTIMATES = (
    "useful",
    "unchanged",
    "unchanged_rare",
    "believed",
    RELEASED_WORD,
    NOISY_VECTOR,
    *BLIND,
    *READING,
    *READING_NOISE,
    "task_accuracy",
    "wmd",
)
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
      single, single_rare: share of the words of documents that are recovered by Bayes on each
        released word by itself, and of rare ones; None where no documents were read, and of decoded
        text; noisy_single, noisy_single_rare: on each noisy vector, or of what else was drawn.
      context: share of the words of documents that are recovered with context; None where no
        documents were read.
      context_rare: the same of words that public text holds rarer than 1 in 10,000; None where no
        document has one.
      noisy_context, noisy_context_rare: by an attacker that reads the noisy vectors of documents
        with context, as a decoder does; None where the mechanism has no known noise density. With a
        decoder, of what was drawn, be it noisy vectors or words.
      believed: share of the words of documents released as themselves; None where no documents were
        read.
      blind: the share of the words of documents that are the commonest one of public text: what is
        got by whoever sees lengths and gaps only; blind_rare: the same of rare words, by guessing
        the commonest of them; blind_5, blind_10: the five or ten commonest words, of which one is
        right.
      learned, learned_rare, noisy_learned, noisy_learned_rare: by attackers that have learnt to
        invert the setting, from the text as it is released and from noisy vectors; None where they
        were not asked for.
      model, model_rare: by the attacker that brings a language model; masked_1, masked_5,
        masked_10, each with _rare: by this model from the words around, in that number of guesses.
        None where no model was named. noisy_model, noisy_model_rare: by the first of these, from
        noisy vectors.
      endpoint, endpoint_rare: by the attacker that asks an endpoint, of the documents that it
        answered.
      unchanged_rare: share of the words of documents released as themselves, of those that public
        text holds rarer than 1 in 10,000; None where no document has one.
      task_accuracy: of original documents, of what is learnt from released ones; None where no
        documents were measured.
      wmd: mean Word Mover's Distance of a document to its release, in units of the embedding;
        likewise.
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
    single: Estimate | None = None
    single_rare: Estimate | None = None
    noisy_single: Estimate | None = None
    noisy_single_rare: Estimate | None = None
    context: Estimate | None = None
    context_rare: Estimate | None = None
    noisy_context: Estimate | None = None
    noisy_context_rare: Estimate | None = None
    believed: Estimate | None = None
    blind: Estimate | None = None
    blind_rare: Estimate | None = None
    blind_5: Estimate | None = None
    blind_5_rare: Estimate | None = None
    blind_10: Estimate | None = None
    blind_10_rare: Estimate | None = None
    learned: Estimate | None = None
    learned_rare: Estimate | None = None
    model: Estimate | None = None
    model_rare: Estimate | None = None
    masked_1: Estimate | None = None
    masked_1_rare: Estimate | None = None
    masked_5: Estimate | None = None
    masked_5_rare: Estimate | None = None
    masked_10: Estimate | None = None
    masked_10_rare: Estimate | None = None
    endpoint: Estimate | None = None
    endpoint_rare: Estimate | None = None
    noisy_learned: Estimate | None = None
    noisy_learned_rare: Estimate | None = None
    noisy_model: Estimate | None = None
    noisy_model_rare: Estimate | None = None
    unchanged_rare: Estimate | None = None
    task_accuracy: Estimate | None = None
    wmd: Estimate | None = None

    @property
    def curve(self) -> tuple[str, str, float | None]:
        """Which curve over epsilon the point is on."""
        return self.mechanism, self.parameters, self.rank_c

    @property
    def of_texts(self) -> bool:
        """Whether its words were released in their places in documents, by a setting that reads."""
        return "language_model=" in self.parameters

    def risk(self, attacker: str) -> Estimate | None:
        """What an attacker gets, ``RELEASED_WORD`` or ``NOISY_VECTOR``."""
        return self.released_word if attacker == RELEASED_WORD else self.noisy_vector

    def as_row(self) -> dict[str, Any]:
        """With a column for each value and for the ends of its interval."""
        row = self._asdict()
        for name in ESTIMATES:
            estimate = row.pop(name) or (None, None, None)
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
        risk = candidate.risk(attacker)
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
            first, others = getattr(one, by), getattr(other, by)
            more = None
            if first.low > others.high:
                more = one
            elif others.low > first.high:
                more = other
            yield Verdict(one, other, more)
