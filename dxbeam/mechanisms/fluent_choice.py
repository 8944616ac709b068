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

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from dxbeam.errors import ConfigurationError
from dxbeam.language.model import LanguageModel
from dxbeam.language.sparse_rows import SparseRows
from dxbeam.mechanisms.near_words import Near, NearWords, ragged
from dxbeam.mechanisms.noise import TAIL_DRAWS, uniform
from dxbeam.randomness import Random
from dxbeam.space.neighbors import Floats, Ids
from dxbeam.space.vocabulary import UNKNOWN

DRAWS = 3 + 3 * TAIL_DRAWS
"""Random numbers per word: the part, the level where it is all words, the word; a tail of each."""

_FAR, _SINGLE, _PAIR, _TRIPLE = range(4)
_SEARCH_IF_FEWER = 8
"""Successors are searched for among the near words where they are this many times fewer."""
_CONTEXTS = 4096
"""Last words whose successors are kept in order."""


class Stored(NamedTuple):
    """Near words that a level of the model adds something for.

    Attributes:
      places: int64 [H], their numbers among all near words, ascending.
      shares: float64 [H], what the model adds, times the excess.
      sums: float64 [B], of the shares of each original word.
    """

    places: Ids
    shares: Floats
    sums: Floats


def choose_fluently(
    ids: Ids, first: Ids, second: Ids, random: Random, near: NearWords, every: AllWords
) -> Ids:
    """Draws a word for each word.

    Args:
      ids: int64 [B], the originals; UNKNOWN stands for the unknown word's vector.
      first: int64 [B], the word released before the last one: an id, UNKNOWN or the model's start.
      second: int64 [B], the word released last.
      random: uint64 [B, DRAWS] or wider.
      near: the near words at this rate and radius, by the model's lowest level.
      every: all words, by the model.

    Returns:
      int64 [B]; row i depends on row i of the arguments only.
    """
    around, model = near.of(ids), every.model
    contexts = np.where(second == UNKNOWN, model.words, second)
    pairs = _stored(model.numbers.pairs, contexts, around, model.words)
    single = model.backoff(second)
    parts = np.zeros((len(ids), 4))
    unknown = single * model.continuation[UNKNOWN] + _of_unknown(model, contexts)
    factor, rows = np.ones(len(ids)), np.full(len(ids), -1)
    stored = {_PAIR: pairs}
    if model.numbers.triples is not None:
        before = np.where(first == UNKNOWN, model.words, first)
        rows = model.numbers.pairs.find(before, contexts)
        stored[_TRIPLE] = _stored(model.numbers.triples, rows, around, model.words)
        factor = model.backoff2(first, second)
        unknown = factor * unknown + model.corrections3(first, second, np.full(len(ids), UNKNOWN))
        parts[:, _TRIPLE] = stored[_TRIPLE].sums
    parts[:, _FAR] = around.far * (1 - unknown)
    parts[:, _SINGLE] = factor * single * around.sums
    parts[:, _PAIR] = factor * pairs.sums
    order = np.argsort(parts, axis=1, kind="stable")
    sums = np.cumsum(np.take_along_axis(parts, order, axis=1), axis=1)
    target = uniform(random[:, 0], _tail(random, 0)) * sums[:, -1]
    place = np.minimum((sums < target[:, None]).sum(axis=1), 3)
    numbers = np.column_stack([uniform(random[:, i], _tail(random, i)) for i in (1, 2)])
    factors = np.column_stack([factor * single, factor])
    chosen = np.empty(len(ids), np.int64)
    for row, part in enumerate(order[np.arange(len(ids)), place].tolist()):
        if part == _FAR:
            chosen[row] = every.draw(
                int(contexts[row]), int(rows[row]), factors[row].tolist(), numbers[row]
            )
        elif part == _SINGLE:
            chosen[row] = _among_near(around, row, numbers[row, 1], near.shares)
        else:
            chosen[row] = _among_stored(stored[part], around, row, numbers[row, 1])
    return chosen


def _tail(random: Random, number: int) -> Random:
    """The tail of one of the three numbers of each row."""
    start = 3 + number * TAIL_DRAWS
    return random[:, start : start + TAIL_DRAWS]


def _of_unknown(model: LanguageModel, contexts: Ids) -> Floats:
    """What the model adds for the unknown word after contexts: int64 [B] -> float64 [B]."""
    return model.numbers.pairs.values_at(contexts, np.full(len(contexts), model.words))


def _stored(table: SparseRows, rows: Ids, around: Near, words: int) -> Stored:
    """The near words that have an entry in a row of the table.

    Either the entries of the row are searched for among the near words, or the near words in the
    table, whichever are fewer.

    Args:
      table: rows of contexts, columns of words.
      rows: int64 [B]; -1 for a context that is not stored.
      around: the near words of B words.
      words: N.
    """
    starts = np.where(rows < 0, 0, table.starts[rows])
    entries = np.where(rows < 0, 0, table.starts[rows + 1] - starts)
    counts = around.counts
    few = entries * _SEARCH_IF_FEWER <= counts
    by_search = _search_among_near(table, starts, np.where(few, entries, 0), around, words)
    others = np.flatnonzero(~few)
    places = ragged(around.bounds[others], counts[others])
    values = table.values_at(
        np.repeat(rows[others], counts[others]), around.words[places].astype(np.int64)
    )
    hits = np.flatnonzero(values)
    found = np.concatenate([by_search[0], places[hits]])
    shares = np.concatenate([by_search[1], values[hits]]) * around.excess[found]
    order = np.argsort(found, kind="stable")
    found, shares = found[order], shares[order]
    owners = np.searchsorted(around.bounds, found, side="right") - 1
    sums = np.bincount(owners, shares, len(rows)).astype(np.float64)  # integers where there is none
    return Stored(found, shares, sums)


def _search_among_near(
    table: SparseRows, starts: Ids, entries: Ids, around: Near, words: int
) -> tuple[Ids, Floats]:
    """Entries of the table that are near words: their numbers among these, and their values."""
    numbers = ragged(starts, entries)
    if not len(numbers) or not len(around.words):
        return np.zeros(0, np.int64), np.zeros(0)
    rows = np.arange(len(entries))
    wanted = np.repeat(rows * (words + 1), entries) + table.columns[numbers].astype(np.int64)
    every = np.repeat(rows * (words + 1), around.counts) + around.words
    places = np.minimum(np.searchsorted(every, wanted), len(every) - 1)
    hits = np.flatnonzero(every[places] == wanted)
    return places[hits], table.values[numbers[hits]].astype(np.float64)


def _among_near(around: Near, row: int, place: float, shares: Floats) -> int:
    """A near word of a row in proportion to its public share times its excess."""
    part = slice(around.bounds[row], around.bounds[row + 1])
    order = around.order[part]
    words = around.words[part][order].astype(np.int64)
    return _drawn(words, np.cumsum(shares[words] * around.excess[part][order]), place)


def _among_stored(stored: Stored, around: Near, row: int, place: float) -> int:
    """A near word of a row that is stored, in proportion to its share."""
    start, stop = np.searchsorted(stored.places, around.bounds[row : row + 2])
    words = around.words[stored.places[start:stop]].astype(np.int64)
    return _drawn(*_sorted(words, stored.shares[start:stop]), place)


class AllWords:
    """Draws in proportion to q; threads may share it.

    Args:
      model: of the vocabulary.

    Raises:
      ConfigurationError: a correction of the model is below 0, so it has no levels to add up.
    """

    def __init__(self, model: LanguageModel):
        for table in (model.numbers.pairs, model.numbers.triples):
            if table is not None and table.values.min(initial=0.0) < 0:
                raise ConfigurationError(
                    "`mechanism` fluent reads no language model that makes words less probable "
                    "after others than by themselves, as some ARPA files do; build one from text"
                )
        self.model = model
        self._single = _sorted(np.arange(model.words), model.continuation[: model.words])
        self._pairs = lru_cache(_CONTEXTS)(lambda row: self._known(*model.numbers.pairs.row(row)))

    def draw(self, context: int, triple: int, factors: Sequence[float], numbers: Floats) -> int:
        """A word in proportion to q.

        Args:
          context: the last word, N for the unknown one.
          triple: the row of the last two words among the model's triples; -1 where there is none.
          factors: of the level of single words and of that of pairs.
          numbers: two uniform numbers in (0, 1], for the level and for the word.
        """
        levels = [self._single, self._pairs(context)]
        if triple >= 0 and self.model.numbers.triples is not None:
            levels.append(self._known(*self.model.numbers.triples.row(triple)))
        totals = [
            factor * (sums[-1] if len(sums) else 0.0)
            for factor, (_, sums) in zip((*factors, 1.0), levels, strict=False)
        ]
        chosen = _drawn(*_sorted(np.arange(len(totals)), np.array(totals)), numbers[0])
        return _drawn(*levels[chosen], numbers[1])

    def _known(self, words: Ids, shares: Floats) -> tuple[Ids, Floats]:
        """As ``_sorted``, without the unknown word, which comes last where it is stored."""
        stop = -1 if len(words) and words[-1] == self.model.words else None
        return _sorted(words[:stop], shares[:stop])


def _sorted(words: Ids, shares: Floats) -> tuple[Ids, Floats]:
    """Words from the smallest share to the largest, and the sums of their shares."""
    order = np.argsort(shares, kind="stable")
    return words[order], np.cumsum(shares[order])


def _drawn(words: Ids, sums: Floats, place: float) -> int:
    """One of some words, by the sums of their shares and a uniform number in (0, 1]."""
    return int(words[min(int(np.searchsorted(sums, place * sums[-1])), len(words) - 1)])
