"""The channel P(z | x) of mechanisms for which it is no formula: estimated from pairs.

Anyone can run the mechanism on words drawn from a prior and look at the pairs (x, z) of original
and released word. A table of N^2 counts stays nearly empty, so counts are drawn towards a law that
all pairs share:

    m(x | z) = prior(x) g(d(x, z)) / (the sum of the same over all words),

g has a separate value for x = z, and one for each of some intervals of the distance, which hold
equally many pairs. These values are those of the largest likelihood of the pairs, found by
iterative scaling (Darroch, Ratcliff: Generalized iterative scaling for log-linear models, 1972;
every word is in one interval, so a step multiplies g by the pairs in an interval over those
expected there). Between the middles of intervals ln g is then taken to be linear, so that words of
one interval are told apart. With c(x, z) pairs counted,

    p(x | z) = (c(x, z) + k m(x | z)) / (c(z) + k),

where k is the one of a few under which each pair is the most probable given all others. How often a
word z is released at all, which counts where rank resampling follows, is estimated likewise: by
counts drawn towards s prior(z) + (1 - s) / N, s being the share of pairs with x = z.

So P(z | x) is taken to be Pr[z] p(x | z) / prior(x). Pairs are draws for public words, so no raw
word has any influence. What is read by such a channel is as public as the release; an attacker who
reads so gets a lower bound on the optimum. It may be far below where the channel depends on more
than distance and pairs are few.

Rows of distances are float32 products, whose last bits differ between processors: a pair at the
border between two of 4,096 distances may count for either. An estimate that is made once and handed
on is one on all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dxbeam.errors import ConfigurationError
from dxbeam.space.search.distance_rows import Singles, distance_rows
from dxbeam.space.search.exact_arithmetic import log
from dxbeam.space.search.neighbors import Floats, Ids, NeighborSearch
from dxbeam.space.vocabulary.words import UNKNOWN, distances_to_words

CELLS = 4_096
"""Steps of equal width in which distances are told apart."""

PAIRS_PER_INTERVAL = 25

LAW_PAIRS = 2_000
"""Pairs that the law of distance is fitted to; counts use all."""

_BITS = 1e-9  # more than the last bits of a logarithm, which differ between processors
_STEPS = 200
_CONVERGED = 1e-6
_STRENGTHS = (0.5, 2.0, 8.0, 32.0, 128.0, 1e9)
_OUTPUT_STRENGTHS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 1e6)
"""In multiples of the number of pairs."""


@dataclass(frozen=True, eq=False)
class EstimatedLaw:
    """What pairs of original and released words say of a channel; numbers only.

    Attributes:
      law: float64 [1 + CELLS], g of the word itself and at each distance.
      width: of a cell, in units of the embedding.
      strength: k.
      outputs: float64 [N], the estimated probability of each released word.
      pairs: int64 [M, 2], released and original word, in increasing order.
    """

    law: Floats
    width: float
    strength: float
    outputs: Floats
    pairs: Ids

    def rows(
        self, outputs: Ids, shares: Floats, search: NeighborSearch
    ) -> Iterator[tuple[slice, Floats]]:
        """Pr[z] p(x | z) for all words x, of words z, ``outputs`` int64 [U].

        Yields a slice of ``outputs`` and float64 [part, N], an array that is used again.
        ``shares``, float64 [N], is the prior that originals were drawn from. A row depends on its
        own z only.
        """
        first, last = self.counted(outputs)
        weighted = np.empty((0, len(shares)))
        for part, rows in distance_rows(outputs, search):
            if len(weighted) < len(rows):
                weighted = np.empty(rows.shape)
            for z, apart, row, a, b in zip(
                outputs[part], rows, weighted, first[part], last[part], strict=False
            ):
                # A row at a time stays in the processor's cache.
                numbers = cells(apart[None], np.array([z]), self.width)[0]
                np.take(self.law, numbers, out=row, mode="clip")
                row *= shares
                row *= self.strength / row.sum()
                np.add.at(row, self.pairs[a:b, 1], 1.0)
                row *= self.outputs[z] / (self.strength + b - a)
            yield part, weighted[: len(rows)]

    def counted(self, outputs: Ids) -> tuple[Ids, Ids]:
        """Where the pairs of each released word begin and end: int64 [U] each."""
        released = self.pairs[:, 0]
        first = np.searchsorted(released, outputs, side="left")
        return first, np.searchsorted(released, outputs, side="right")


def estimate(originals: Ids, released: Ids, shares: Floats, search: NeighborSearch) -> EstimatedLaw:
    """Estimates a channel from words drawn by a prior and what the mechanism released for them.

    ``originals`` and ``released`` are int64 [M], without rank resampling; ``shares``, float64 [N],
    is the prior, all above 0. Without pairs it raises ConfigurationError.
    """
    if not len(originals):
        raise ConfigurationError(
            "`originals`: a channel is estimated from pairs of original and released words, and "
            "there are none"
        )
    width = 2.0 * search.vocabulary.longest / CELLS * (1 + 1e-6)
    used = slice(0, min(LAW_PAIRS, len(originals)))
    cells_used, masses = _cells_of_pairs(originals[used], released[used], shares, width, search)
    law = _law(cells_used, masses)
    order = np.lexsort((originals, released))
    pairs = np.stack([released[order], originals[order]], axis=1)
    expected = shares[originals[used]] * law[cells_used] / (masses @ law)
    strength = _strength(originals[used], released[used], expected, pairs)
    outputs = _output_shares(originals, released, shares)
    return EstimatedLaw(law, width, strength, outputs, pairs)


class EstimatedWordChannel:
    """An estimated channel, as ``WordChannel``; the unknown word has the law and no counts.

    ``shares``, float64 [N], is the prior that originals were drawn from.
    """

    def __init__(self, estimate: EstimatedLaw, shares: Floats, search: NeighborSearch):
        self._estimate, self._shares, self._search = estimate, shares, search
        words = len(shares)
        self._keys = estimate.pairs[:, 0] * words + estimate.pairs[:, 1]
        self._sums = np.full(words, np.nan)  # of prior(x) g(d(x, z)) by z, once it was asked for

    def likely(self, drawn: Ids, offsets: Floats, count: int) -> Ids:
        """As ``WordChannel`` says: every word is compared."""
        count = min(count, len(offsets))
        sources = np.empty((len(drawn), count), np.int64)
        for part, rows in self._estimate.rows(drawn, self._shares, self._search):
            for row, value in zip(range(*part.indices(len(drawn))), rows, strict=True):
                roughly = offsets + np.log(value / self._shares)
                least = np.partition(roughly, -count)[-count]
                near = np.flatnonzero(roughly >= least - _BITS)
                best = offsets[near] + log(value[near] / self._shares[near])
                sources[row] = near[np.lexsort((near, -best))[:count]]
        return sources

    def logs(self, drawn: Ids, words: Ids) -> Floats:
        """As ``WordChannel`` says, by the estimate."""
        estimated, vocabulary = self._estimate, self._search.vocabulary
        queries = vocabulary.vectors_of(drawn)
        apart = distances_to_words(vocabulary.vectors, queries, np.maximum(words, 0))
        beyond = vocabulary.vectors_of(np.array([UNKNOWN]))[0]
        from_unknown = np.sqrt(np.square(queries - beyond).sum(axis=1))
        apart = np.where(words == UNKNOWN, from_unknown[:, None], apart)
        steps = np.minimum((apart / estimated.width).astype(np.int64), CELLS - 1) + 1
        steps[words == drawn[:, None]] = 0
        first, last = estimated.counted(drawn)
        chances = estimated.strength * estimated.law[steps] / self._sums_of(drawn)[:, None]
        chances += np.where(words == UNKNOWN, 0.0, self._counts(drawn, words) / self._shares[words])
        scale = estimated.outputs[drawn] / (estimated.strength + last - first)
        return np.asarray(log(chances * scale[:, None]))

    def _counts(self, drawn: Ids, words: Ids) -> Ids:
        keys = drawn[:, None] * len(self._shares) + words
        first = np.searchsorted(self._keys, keys, side="left")
        return np.asarray(np.searchsorted(self._keys, keys, side="right") - first)

    def _sums_of(self, drawn: Ids) -> Floats:
        missing = np.unique(drawn[np.isnan(self._sums[drawn])])
        for part, rows in distance_rows(missing, self._search):
            numbers = cells(rows, missing[part], self._estimate.width)
            self._sums[missing[part]] = (self._estimate.law[numbers] * self._shares).sum(axis=1)
        return np.asarray(self._sums[drawn])


def cells(rows: Singles, outputs: Ids, width: float) -> Ids:
    """Which cell each word is in, 0 for the word itself: int64 [B, N]."""
    scaled = rows * np.float32(1 / width)
    numbers = np.minimum(scaled, np.float32(CELLS - 1), out=scaled).astype(np.int64)
    numbers += 1
    numbers[np.arange(len(outputs)), outputs] = 0
    return np.asarray(numbers)


def _cells_of_pairs(
    originals: Ids, released: Ids, shares: Floats, width: float, search: NeighborSearch
) -> tuple[Ids, Floats]:
    """The cell of each pair, int64 [m]; the prior's mass by cell around z, float64 [m, cells]."""
    outputs, which = np.unique(released, return_inverse=True)
    masses = np.empty((len(outputs), 1 + CELLS))
    of_pairs = np.empty(len(originals), np.int64)
    by_output = np.split(np.argsort(which, kind="stable"), np.cumsum(np.bincount(which))[:-1])
    for part, rows in distance_rows(outputs, search):
        numbers = cells(rows, outputs[part], width)
        for output, row in zip(range(*part.indices(len(outputs))), numbers, strict=True):
            masses[output] = np.bincount(row, shares, 1 + CELLS)
            of_pairs[by_output[output]] = row[originals[by_output[output]]]
    return of_pairs, masses[which]


def _law(of_pairs: Ids, masses: Floats) -> Floats:
    """g: float64 [1 + CELLS], up to a factor."""
    apart = np.sort(of_pairs[of_pairs > 0])
    intervals = max(1, len(apart) // PAIRS_PER_INTERVAL)
    parts = [part for part in np.array_split(apart, intervals) if len(part)]
    starts = np.unique([0, 1, *(int(part[0]) for part in parts if part[0] > apart[0])])
    counts = np.add.reduceat(np.bincount(of_pairs, minlength=1 + CELLS), starts)
    fitted = _fitted(counts, np.add.reduceat(masses, starts, axis=1))
    if len(apart):
        inside = np.split(apart, np.searchsorted(apart, starts[2:]))
        middles = [float(np.median(part)) for part in inside]
    else:
        middles = [float(starts[1])]
    between = np.interp(np.arange(1, 1 + CELLS), middles, np.log(fitted[1:]))
    return np.append(fitted[0], np.exp(between))


def _fitted(counts: Ids, masses: Floats) -> Floats:
    """The values of g by interval, from pairs [k] and masses [m, k]: float64 [k]."""
    # Half a pair more in each interval, as an interval without pairs is not an impossible one.
    wanted = (counts + 0.5) * (counts.sum() / (counts + 0.5).sum())
    reached = masses.sum(axis=0) > 0
    law = np.ones(len(counts))
    for _ in range(_STEPS):
        expected = law * (masses / (masses @ law)[:, None]).sum(axis=0)
        step = np.divide(wanted, expected, out=np.ones(len(law)), where=reached)
        law *= step
        if np.abs(np.log(step)).max() < _CONVERGED:
            break
    return np.asarray(law)


def _strength(originals: Ids, released: Ids, expected: Floats, pairs: Ids) -> float:
    """The k under which each pair is the most probable, given all others."""
    words = int(pairs.max()) + 1
    keys, counts = np.unique(pairs[:, 0] * words + pairs[:, 1], return_counts=True)
    both = counts[np.searchsorted(keys, released * words + originals)] - 1
    output = np.searchsorted(pairs[:, 0], released, side="right")
    output -= np.searchsorted(pairs[:, 0], released, side="left") + 1
    likely = [np.log((both + k * expected) / (output + k)).sum() for k in _STRENGTHS]
    return _STRENGTHS[int(np.argmax(likely))]


def _output_shares(originals: Ids, released: Ids, shares: Floats) -> Floats:
    """The probability of each released word: float64 [N]."""
    words, total = len(shares), len(released)
    kept = float((originals == released).mean())
    towards = kept * shares + (1 - kept) / words
    counts = np.bincount(released, minlength=words)
    strengths = [total * multiple for multiple in _OUTPUT_STRENGTHS]
    others = counts[released] - 1
    likely = [np.log((others + k * towards[released]) / (total - 1 + k)).sum() for k in strengths]
    strength = strengths[int(np.argmax(likely))]
    return np.asarray((counts + strength * towards) / (total + strength))
