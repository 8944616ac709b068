"""What context adds to an attacker on single words, and the most probable sequence of words.

The attacker itself is ``dxbeam.analysis.attackers.context``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dxbeam.analysis.attackers.channel import Channel
from dxbeam.analysis.attackers.context import (
    CANDIDATES,
    Candidates,
    candidates_for,
    log_ties,
    read_each,
)
from dxbeam.analysis.attackers.word_pairs import WordPairs
from dxbeam.analysis.theory.intervals import TextSums, share_of_words_interval
from dxbeam.space.search.neighbors import Ids


@dataclass(frozen=True)
class Gain:
    """What context adds, text by text; those of parts of the texts can be concatenated.

    Attributes:
      counts: int64 [T, 5], of each text its words, how many of them the attacker on single words
        got, how many this one with the most probable word at each place, how many both got, and
        how many words of the most probable sequence were right.
    """

    counts: Ids

    def __str__(self) -> str:
        """The sums over texts."""
        names = ("words", "single", "context", "both", "sequence")
        sums = zip(names, self.counts.sum(axis=0), strict=True)
        return f"{len(self.counts)} texts, " + ", ".join(f"{name} {count}" for name, count in sums)

    def gained(self) -> tuple[float, float, float]:
        """Further words that context gets, as a share of all, and their 95 % interval.

        Words of a text depend on one another, texts are taken as independent. See
        ``intervals.share_of_words_interval``, for words won and words lost.
        """
        words, single, context, both, _ = self.counts.T
        if len(words) < 2:
            return float((context - single).sum() / words.sum()), -1.0, 1.0
        won, lost = (
            share_of_words_interval(TextSums.of(only, words))
            for only in (context - both, single - both)
        )
        return difference_interval(won, lost)


def difference_interval(
    one: tuple[float, float, float], other: tuple[float, float, float]
) -> tuple[float, float, float]:
    """The difference of two shares, from the interval of each.

    Zou, Donner: Construction of confidence limits about effect measures (2008), without a
    correlation. Of words that were won and words that were lost it is hardly positive.
    """
    (p, p_low, p_high), (q, q_low, q_high) = one, other
    below, above = math.hypot(p - p_low, q_high - q), math.hypot(p_high - p, q - q_low)
    return p - q, p - q - below, p - q + above


def read_on(candidates: Candidates, pairs: WordPairs) -> Ids:
    """The most probable sequence of candidates, int64 [T].

    Of equally probable sequences it is one, always the same.
    """
    ids = candidates.ids
    if not len(ids):
        return np.zeros(0, np.int64)
    with np.errstate(divide="ignore"):  # what cannot have been stays last
        seen = np.log(candidates.posterior)
    back = np.zeros(ids.shape, np.int64)
    score = seen[0]
    for place in range(1, len(ids)):
        steps = score[:, None] + log_ties(candidates, place, pairs)
        back[place] = steps.argmax(axis=0)
        score = steps.max(axis=0) + seen[place]
    best = int(score.argmax())
    sequence = np.empty(len(ids), np.int64)
    for place in range(len(ids) - 1, -1, -1):
        sequence[place] = ids[place, best]
        best = int(back[place, best])
    return sequence


def measure_gain(
    channel: Channel,
    pairs: WordPairs,
    originals: Sequence[Ids],
    released: Sequence[Ids],
    count: int = CANDIDATES,
) -> Gain:
    """Reads texts with and without context.

    Args:
      channel: what is known or estimated of single words.
      pairs: which words follow which.
      originals: texts, int64 arrays of ids; none empty.
      released: what was released for them, in the same order.
      count: candidates for each word.
    """
    counts = []
    for text, candidates in _with_candidates(channel, originals, released, count):
        single, context = candidates.ids[:, 0] == text, read_each(candidates, pairs) == text
        right = single, context, single & context, read_on(candidates, pairs) == text
        counts.append([len(text), *(each.sum() for each in right)])
    return Gain(np.array(counts))


def _with_candidates(
    channel: Channel, originals: Sequence[Ids], released: Sequence[Ids], count: int
) -> Iterator[tuple[Ids, Candidates]]:
    """Each text, with the candidates for its words."""
    every = candidates_for(channel, np.concatenate(released), count)
    start = 0
    for text in originals:
        part = slice(start, start + len(text))
        yield text, Candidates(every.ids[part], every.posterior[part], every.priors[part])
        start += len(text)
