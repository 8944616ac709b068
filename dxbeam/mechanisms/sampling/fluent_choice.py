"""Draws words that are near the original and probable after the words already released.

The probability of y is proportional to

    q(y) w(y),    w(y) = exp(-rate min(d(x, y), gamma)),

q(y) being what a public n-gram model says of y after the released words. w(y) is ``far`` for every
word and an excess more for near words (near_words.py). q(y) is a sum of levels (dxbeam/language):
a multiple of the public distribution of single words, what the model adds for pairs, and what it
adds for triples. So the distribution is a sum of four parts:

    far * q(y)                          for all words,
    level 1 of q(y) * excess(y)         for the near words: a public sum for each original word,
    level 2 of q(y) * excess(y)         for the near words that are stored after the last word,
    level 3 of q(y) * excess(y)         for those that are stored after the last two words.

A part is chosen by its sum and a word in it by its addend. The sum of q over the vocabulary is 1
less q of the unknown word, which is never released.

How near to the distribution floating point comes. Where a word is chosen, sums run from the
smallest addend to the largest, so what was added before a word is at most as many times its own
addend as there are addends, and uniform numbers have their full relative precision down to 2^-960
(noise.py). With N words, a word's probability is off by a share of at most 16 N 2^-53 of itself, of
the model's sum (1 up to 1e-12, model.py), and of its weights: rate * distance * 2^-49 as in
exponential_choice.py. Together that is below 2^-28 for up to 2^20 words and rate * distance up to
2^17.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from dxbeam.errors import ConfigurationError
from dxbeam.language.model import LanguageModel
from dxbeam.mechanisms.sampling.near_words import NearWords, ascending, drawn
from dxbeam.mechanisms.sampling.noise import TAIL_DRAWS, uniform
from dxbeam.mechanisms.sampling.stored_near import Level
from dxbeam.randomness import Random
from dxbeam.space.search.neighbors import Floats, Ids
from dxbeam.space.vocabulary.words import UNKNOWN

DRAWS = 3 + 3 * TAIL_DRAWS
"""Random numbers per word: the part, the level where it is all words, the word; a tail of each."""

_FAR, _SINGLE, _PAIR, _TRIPLE = range(4)


class Prefixes(NamedTuple):
    """What the model says after the released words of B places.

    Attributes:
      contexts: int64 [B], rows of the level of pairs.
      rows: int64 [B], rows of the level of triples; -1 where there is none.
      single: float64 [B], the factor of the public shares of single words.
      pair: float64 [B], the factor of what pairs add.
      unknown: float64 [B], the probability of the unknown word.
    """

    contexts: Ids
    rows: Ids
    single: Floats
    pair: Floats
    unknown: Floats


def numbers_of(random: Random) -> Floats:
    """Three uniform numbers in (0, 1] for each word: uint64 [B, DRAWS] -> float64 [B, 3]."""
    columns = []
    for number in range(3):
        start = 3 + number * TAIL_DRAWS
        columns.append(uniform(random[:, number], random[:, start : start + TAIL_DRAWS]))
    return np.column_stack(columns)


def choose_fluently(
    ids: Ids, first: Ids, second: Ids, numbers: Floats, near: NearWords, every: AllWords
) -> Ids:
    """Draws a word for each word, int64 [B]; row i depends on row i of the arguments only.

    ``first`` and ``second``, int64 [B], are the words released before: an id, UNKNOWN or the
    model's start; ``numbers`` is from ``numbers_of``, ``near`` by the lowest level of the model of
    ``every``.
    """
    around, prefixes = near.of(ids), every.after(first, second)
    pairs = every.pairs.near(prefixes.contexts, ids, around)
    stored, parts = {_PAIR: pairs}, np.zeros((len(ids), 4))
    if every.triples is not None:
        stored[_TRIPLE] = every.triples.near(prefixes.rows, ids, around)
        parts[:, _TRIPLE] = stored[_TRIPLE].sums
    parts[:, _FAR] = around.far * (1 - prefixes.unknown)
    parts[:, _SINGLE] = prefixes.single * around.sums
    parts[:, _PAIR] = prefixes.pair * pairs.sums
    order = np.argsort(parts, axis=1, kind="stable")
    sums = np.cumsum(np.take_along_axis(parts, order, axis=1), axis=1)
    target = numbers[:, 0] * sums[:, -1]
    place = np.minimum((sums < target[:, None]).sum(axis=1), 3)
    chosen = order[np.arange(len(ids)), place]
    words = np.empty(len(ids), np.int64)
    for row in np.flatnonzero(chosen == _FAR).tolist():
        words[row] = every.draw(prefixes, row, *numbers[row, 1:].tolist())
    for row in np.flatnonzero(chosen == _SINGLE).tolist():
        words[row] = around.draw(row, float(numbers[row, 2]))
    for part, near_and_stored in stored.items():
        if (rows := np.flatnonzero(chosen == part)).size:
            words[rows] = near_and_stored.draw(rows, numbers[rows, 2])
    return words


class AllWords:
    """All words by the model; threads may share it. A model with corrections below 0 is refused."""

    def __init__(self, model: LanguageModel):
        lower, higher = model.numbers.pairs, model.numbers.triples
        for table in (lower, higher):
            if table is not None and table.values.min(initial=0.0) < 0:
                raise ConfigurationError(
                    "`mechanism` fluent reads no language model that makes words less probable "
                    "after others than by themselves, as some ARPA files do; build one from text"
                )
        self.model = model
        self.pairs = Level(lower, model.words, again=True)
        self.triples = None if higher is None else Level(higher, model.words, again=False)
        self._backoff, self._backoff2 = (
            np.asarray(weights) for weights in (model.numbers.backoff, model.numbers.backoff2)
        )
        self._single = ascending(np.arange(model.words), model.continuation[: model.words])

    def after(self, first: Ids, second: Ids) -> Prefixes:
        """What the model says after two words: int64 [B] each; ids, UNKNOWN or the start."""
        model = self.model
        contexts = np.where(second == UNKNOWN, model.words, second)
        single = self._backoff[contexts]
        unknown = single * model.continuation[UNKNOWN] + self.pairs.of_unknown(contexts)
        if self.triples is None:
            none = np.full(len(contexts), -1)
            return Prefixes(contexts, none, single, np.ones(len(contexts)), unknown)
        before = np.where(first == UNKNOWN, model.words, first)
        rows = self.pairs.table.find(before, contexts)
        factor = np.ones(len(contexts))
        if len(self._backoff2):
            factor = np.where(rows < 0, 1.0, self._backoff2[np.maximum(rows, 0)])
        unknown = factor * unknown + self.triples.of_unknown(rows)
        return Prefixes(contexts, rows, factor * single, factor, unknown)

    def draw(self, prefixes: Prefixes, row: int, level: float, place: float) -> int:
        """A word in proportion to q after a row's words, by two uniform numbers in (0, 1]."""
        levels = [self._single, self.pairs.ascending(int(prefixes.contexts[row]))]
        if self.triples is not None and (triple := int(prefixes.rows[row])) >= 0:
            levels.append(self.triples.ascending(triple))
        factors = (float(prefixes.single[row]), float(prefixes.pair[row]), 1.0)
        totals = []
        for number, (_, sums) in enumerate(levels):
            totals.append((factors[number] * float(sums[-1]) if len(sums) else 0.0, number))
        totals.sort()
        ends = list(accumulate([total for total, _ in totals]))
        _, chosen = totals[min(bisect_left(ends, level * ends[-1]), len(ends) - 1)]
        return drawn(*levels[chosen], place)
