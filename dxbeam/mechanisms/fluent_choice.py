"""Draws words that are near the original and probable after the words already released.

The probability of y is proportional to

    q(y) w(y),    w(y) = exp(-rate min(d(x, y), gamma)),

q(y) being what a public n-gram model says of y after the released words. Every word weighs
exp(-rate gamma) at least; near words weigh more, and near_words.py has by how much. So y is drawn
from q with a share proportional to far * Q, Q being the sum of q, and otherwise from the near
words in proportion to q times their excess. Both have exactly the distribution above, added up.

q of an interpolated model is a sum of levels: what the model adds for a triple, for a pair, and the
distribution of single words. It is drawn from by choosing a level by its sum and a word within it.
Where a model subtracts at a pair, as published back-off models may, 0 is taken in its place: q need
not add up to 1, it only has to be the same function of the released words for every original.

How near to the distribution floating point comes. Sums run from the smallest addend to the largest,
so what was added before a word is at most as many times its own weight as there are addends, and
with a uniform number of full relative precision (noise.py) a word's probability is off by a share of
at most 8 (N + M) 2^-53 of itself for N words and M near ones. Weights are off by rate * distance *
2^-49 as in exponential_choice.py. Together that is below 2^-28 for up to 2^20 words and rate *
distance up to 2^17.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import NamedTuple

import numpy as np

from dxbeam.language.model import LanguageModel
from dxbeam.mechanisms.near_words import Near, NearWords
from dxbeam.mechanisms.noise import TAIL_DRAWS, uniform
from dxbeam.randomness import Random
from dxbeam.space.neighbors import Floats, Ids
from dxbeam.space.vocabulary import UNKNOWN

DRAWS = 3 + 3 * TAIL_DRAWS
"""Random numbers per word: near or far, the level, the word in it, and the tail of each."""

_MOST_ENTRIES = 1 << 23
"""Successors of which sorted sums are kept, 16 bytes each."""


class Sums(NamedTuple):
    """Words from the smallest share to the largest, and the sums of their shares.

    Attributes:
      words: int64 [S].
      sums: float64 [S].
    """

    words: Ids
    sums: Floats

    @property
    def total(self) -> float:
        """All shares together."""
        return float(self.sums[-1]) if len(self.sums) else 0.0

    def draw(self, share: float) -> int:
        """The word at a share, in (0, 1], of the total."""
        place = int(np.searchsorted(self.sums, share * self.sums[-1]))
        return int(self.words[min(place, len(self.words) - 1)])


def _sums(words: Ids, shares: Floats) -> Sums:
    """Of words with a share above 0; the unknown word is never drawn."""
    drawn = (shares > 0) & (words != UNKNOWN)
    words, shares = words[drawn], shares[drawn]
    order = np.argsort(shares, kind="stable")
    return Sums(words[order], np.cumsum(shares[order]))


class AllWords(NamedTuple):
    """q after two released words: its levels, and the factor of each.

    Attributes:
      levels: of single words, pairs and, in a model of triples, triples.
      factors: one for each level.
    """

    levels: tuple[Sums, ...]
    factors: tuple[float, ...]

    @property
    def total(self) -> float:
        """Q, the sum of q."""
        return sum(sorted(self._shares))

    @property
    def _shares(self) -> list[float]:
        return [f * level.total for f, level in zip(self.factors, self.levels, strict=True)]

    def draw(self, level: float, place: float) -> int:
        """A word in proportion to q.

        Args:
          level: a uniform number in (0, 1] that says which level.
          place: another one that says where in it.
        """
        shares = self._shares
        target, added = level * self.total, 0.0
        for index in sorted(range(len(shares)), key=shares.__getitem__):
            added += shares[index]
            if added >= target:
                break
        return self.levels[index].draw(place)


_NOTHING = Sums(np.zeros(0, np.int64), np.zeros(0))


class Levels:
    """The levels of a language model, ready to draw from; threads may share them.

    Args:
      model: a public model of the vocabulary's words.
    """

    def __init__(self, model: LanguageModel):
        self.model = model
        self._single = _sums(np.arange(model.words), np.asarray(model.continuation)[: model.words])
        self._pairs: OrderedDict[int, Sums] = OrderedDict()
        self._entries = 0
        self._lock = threading.Lock()

    def of(self, first: int, second: int) -> AllWords:
        """q after two words: ids, UNKNOWN or the model's start."""
        backoff = float(self.model.backoff(np.array([second]))[0])
        pair = self._after(second)
        if self.model.order == 2:
            return AllWords((self._single, pair), (backoff, 1.0))
        words, shares = self.model.successors2(first, second)
        triple = _sums(words, shares) if len(words) else _NOTHING
        factor = float(self.model.backoff2(np.array([first]), np.array([second]))[0])
        return AllWords((self._single, pair, triple), (factor * backoff, factor, 1.0))

    def _after(self, second: int) -> Sums:
        """What the model adds for words after one word."""
        with self._lock:
            known = self._pairs.get(second)
            if known is None:
                known = _sums(*self.model.successors(second))
                self._pairs[second] = known
                self._entries += len(known.words) + 1
                while self._entries > _MOST_ENTRIES and len(self._pairs) > 1:
                    self._entries -= len(self._pairs.popitem(last=False)[1].words) + 1
            return known


def probabilities(model: LanguageModel, first: Ids, second: Ids, words: Ids) -> Floats:
    """q of words after two words: int64 [P], [P], [P, M] -> float64 [P, M]."""
    pair = np.maximum(model.corrections(second[:, None], words)[:, 0], 0.0)
    share = model.backoff(second)[:, None] * model.continuation[words] + pair
    if model.order == 3:
        triple = model.corrections3(first[:, None], second[:, None], words)
        share = model.backoff2(first, second)[:, None] * share + np.maximum(triple, 0.0)
    return np.asarray(share)


def choose_fluently(
    ids: Ids, first: Ids, second: Ids, random: Random, near: NearWords, levels: Levels
) -> Ids:
    """Draws a word for each word.

    Args:
      ids: int64 [B], the originals; UNKNOWN stands for the unknown word's vector.
      first: int64 [B], the word released before the last one: an id, UNKNOWN or the model's start.
      second: int64 [B], the word released last.
      random: uint64 [B, DRAWS] or wider.
      near: the near words at this rate and radius.
      levels: of the model.

    Returns:
      int64 [B]; row i depends on row i of the arguments only.
    """
    chosen = np.empty(len(ids), np.int64)
    contexts = list(zip(first.tolist(), second.tolist(), strict=True))
    known = {context: levels.of(*context) for context in set(contexts)}
    totals = np.array([known[context].total for context in contexts])
    which = uniform(random[:, 0], _tail(random, 0))
    for part in near.of(ids):
        rows = part.rows
        share = probabilities(levels.model, first[rows], second[rows], part.words)
        chosen[rows] = _near_or_far(part, share, totals[rows], which[rows])
    far = np.flatnonzero(chosen == _FAR)
    level = uniform(random[far, 1], _tail(random[far], 1))
    place = uniform(random[far, 2], _tail(random[far], 2))
    for row, one, other in zip(far.tolist(), level.tolist(), place.tolist(), strict=True):
        chosen[row] = known[contexts[row]].draw(one, other)
    return chosen


def _tail(random: Random, number: int) -> Random:
    """The tail of one of the three numbers of each row."""
    start = 3 + number * TAIL_DRAWS
    return random[:, start : start + TAIL_DRAWS]


_FAR = -1


def _near_or_far(part: Near, share: Floats, totals: Floats, which: Floats) -> Ids:
    """A near word, or _FAR where the word is drawn from all words: int64 [P]."""
    weights = np.column_stack([part.far * totals, share * part.excess])
    words = np.column_stack([np.full(len(totals), _FAR), part.words])
    order = np.argsort(weights, axis=1, kind="stable")
    sums = np.cumsum(np.take_along_axis(weights, order, axis=1), axis=1)
    target = which * sums[:, -1]
    place = np.minimum((sums < target[:, None]).sum(axis=1), weights.shape[1] - 1)
    drawn: Ids = words[np.arange(len(words)), order[np.arange(len(words)), place]]
    return drawn
