"""What context adds to an attacker on single words, and the most probable sequence of words.

The attacker itself is ``dxbeam.analysis.attackers.context``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

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


class Gain(NamedTuple):
    """What context adds, over texts; those of parts of the texts can be added.

    Attributes:
      texts: how many.
      words: how many words they hold.
      single: how many words the attacker on single words got.
      context: how many this one got, with the most probable word at each place.
      both: how many both got.
      sequence: how many words of the most probable sequence were right.
      won_squares: the sum over texts of (words that only this one got)^2.
      won_products: of the same words times all words.
      lost_squares: of (words that only the attacker on single words got)^2.
      lost_products: of the same words times all words.
      word_squares: of words^2.
    """

    texts: int
    words: int
    single: int
    context: int
    both: int
    sequence: int
    won_squares: int
    won_products: int
    lost_squares: int
    lost_products: int
    word_squares: int

    def plus(self, other: Gain) -> Gain:
        """The counts over the texts of both."""
        return Gain(*(a + b for a, b in zip(self, other, strict=True)))

    def gained(self) -> tuple[float, float, float]:
        """Further words that context gets, as a share of all, and their 95 % interval.

        Words of a text depend on one another, texts are taken as independent. See
        ``intervals.share_of_words_interval``, for words won and words lost.
        """
        if self.texts < 2:
            return (self.context - self.single) / self.words, -1.0, 1.0
        won, lost = self.context - self.both, self.single - self.both
        texts, words, squares = self.texts, self.words, self.word_squares
        return difference_interval(
            share_of_words_interval(
                TextSums(texts, won, words, self.won_squares, self.won_products, squares)
            ),
            share_of_words_interval(
                TextSums(texts, lost, words, self.lost_squares, self.lost_products, squares)
            ),
        )


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
    total = Gain(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    for text, own in _with_candidates(channel, originals, released, count):
        single, context = own.ids[:, 0] == text, read_each(own, pairs) == text
        sequence = read_on(own, pairs) == text
        won, lost = int((context & ~single).sum()), int((single & ~context).sum())
        words = len(text)
        total = total.plus(
            Gain(
                texts=1,
                words=words,
                single=int(single.sum()),
                context=int(context.sum()),
                both=int((single & context).sum()),
                sequence=int(sequence.sum()),
                won_squares=won**2,
                won_products=won * words,
                lost_squares=lost**2,
                lost_products=lost * words,
                word_squares=words**2,
            )
        )
    return total


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
