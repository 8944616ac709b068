"""What batteries share that compare what is released for words, or for whole documents."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from dxbeam.audit import evidence
from dxbeam.audit.evidence import Counts, Floats
from dxbeam.audit.references.distributions import Reference
from dxbeam.audit.subject import Finding, Subject
from dxbeam.documents import Document
from dxbeam.space.search.neighbors import Ids
from dxbeam.space.vocabulary.words import UNKNOWN, Vocabulary
from dxbeam.text.sanitizer import Sanitizer

BOUND_ERROR = 1e-7
"""Probability, at most, that the bounds of one setting are wrong; six settings make 6e-7."""


def every_word(vocabulary: Vocabulary) -> Ids:
    """All words, the unknown one last."""
    return np.append(np.arange(len(vocabulary)), UNKNOWN)


def name_of(word: int) -> str:
    """A word as findings call it."""
    return "the unknown word" if word == UNKNOWN else f"word {word}"


def word_losses(vocabulary: Vocabulary, reference: Reference) -> Floats:
    """The claimed loss between words, the unknown one last, float64 [N + 1, N + 1]."""
    places = vocabulary.vectors_of(every_word(vocabulary))
    losses = [[reference.loss(x, y) if (x != y).any() else 0.0 for y in places] for x in places]
    return np.array(losses)


class ComparedPair(NamedTuple):
    """Two originals whose released outputs are compared.

    Attributes:
      first, second: rows of the counts.
      claimed: loss in nats, infinite where nothing is claimed.
      says: names them.
      apart: distance of which the loss is said to be so much a unit; NaN to leave that out.
    """

    first: int
    second: int
    claimed: float
    says: str
    apart: float = math.nan


def ordered_pairs(names: Sequence[str], claimed: Callable[[int, int], float]) -> list[ComparedPair]:
    """All ordered pairs of originals with these names."""
    return [
        ComparedPair(i, j, claimed(i, j), f"{names[i]} and {names[j]}")
        for i, j in itertools.permutations(range(len(names)), 2)
    ]


def in_halves(outcomes: Sequence[Ids], size: int) -> tuple[Counts, Counts]:
    """How often each outcome is seen in either half of the samples of k originals: int64 [k, size].

    One half chooses sets of outcomes, the other judges them.
    """
    first, second = (
        np.array([np.bincount(each[half::2], minlength=size) for each in outcomes])
        for half in range(2)
    )
    return first, second


def audit_loss(
    subject: Subject,
    test: str,
    setting: str,
    pairs: Sequence[ComparedPair],
    first: Counts,
    second: Counts,
    delta: float,
) -> Finding:
    """The claimed loss of ordered pairs of originals against bounds from below.

    By ``first``, int64 [k, c], how often each output was seen, sets of outputs are chosen; by
    ``second``, the same of other samples, they are judged.
    """
    worst, p_value, largest, where = -np.inf, 1.0, -np.inf, ""
    for i, j, claimed, says, apart in pairs:
        chosen = evidence.likely_set(first[i], first[j], delta)
        hits, trials = int(second[i][chosen].sum()), int(second[i].sum())
        others, other_trials = int(second[j][chosen].sum()), int(second[j].sum())
        error = BOUND_ERROR / len(pairs)
        bound = float(evidence.loss_lower_bound(hits, trials, others, other_trials, delta, error))
        if np.isfinite(claimed) or not subject.sound:
            largest = max(largest, bound / apart)
        if bound - claimed > worst or not where:
            worst = bound - claimed
            where = f"{says}: at least {bound:.3f}, claimed {claimed:.3f}"
        if np.isfinite(claimed):
            p_value = min(
                p_value,
                evidence.loss_p_value(hits, trials, others, other_trials, delta, claimed),
            )
    return Finding(
        test,
        setting,
        worst,
        min(1.0, p_value * len(pairs)),
        part_of_claim=subject.sound,
        epsilon_bound=largest if np.isfinite(largest) else math.nan,
        says=where,
    )


def texts_of(sanitizer: Sanitizer, documents: Iterable[Document]) -> list[str]:
    """The released text of each document; "" where there is none."""
    return [one.document.text if one.document else "" for one in sanitizer.sanitize(documents)]


def audit_company(
    sanitizer: Sanitizer, documents: Sequence[Document], kind: str, setting: str
) -> Iterator[Finding]:
    """A document comes out the same whatever other documents it is sanitized with."""
    together = texts_of(sanitizer, documents)
    single = [text for one in documents for text in texts_of(sanitizer, [one])]
    backwards = texts_of(sanitizer, documents[::-1])[::-1]
    for company, other in (("by themselves", single), ("in another order", backwards)):
        outcome = evidence.never(sum(map(str.__ne__, together, other)))
        test = f"{kind}: documents that differ when sanitized {company}"
        yield Finding.of(test, setting, outcome)
