"""Bayes on the released word, for mechanisms whose channel is no formula: estimated from pairs.

Anyone can run the mechanism on words drawn from a prior and look at the pairs (x, z) of original
and released word. A table of N^2 counts stays nearly empty, so counts are drawn towards a law that
all pairs share:

    m(x | z) = prior(x) g(d(x, z)) / (the sum of the same over all words),

g has a value of its own for x = z, and one for each of some intervals of the distance, which hold
equally many pairs. These values are those of the largest likelihood of the pairs, found by
iterative scaling (Darroch, Ratcliff: Generalized iterative scaling for log-linear models, 1972;
every word lies in one interval, so a step multiplies g by the pairs in an interval over those
expected there). Between the middles of intervals ln g is then taken to be linear, so that words of
one interval are told apart. With c(x, z) pairs counted,

    p(x | z) = (c(x, z) + k m(x | z)) / (c(z) + k),

where k is the one of a few under which each pair is the most probable given all others. How often a
word z is released at all, which counts where rank resampling follows, is estimated likewise: by
counts drawn towards s prior(z) + (1 - s) / N, s being the share of pairs with x = z.

What such an attacker gets on fresh draws is what an attacker can get: a lower bound on the optimum.
It may be far below where the channel depends on more than distance and pairs are few.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dxbeam.analysis.attackers.distance_rows import Singles, distance_rows
from dxbeam.analysis.attackers.prior import Prior
from dxbeam.errors import ConfigurationError
from dxbeam.space.neighbors import Floats, Ids, NeighborSearch

CELLS = 4_096
"""Steps of equal width in which distances are told apart."""

PAIRS_PER_INTERVAL = 25

LAW_PAIRS = 2_000
"""Pairs that the law of distance is fitted to; counts use all."""

_STEPS = 200
_CONVERGED = 1e-6
_STRENGTHS = (0.5, 2.0, 8.0, 32.0, 128.0, 1e9)
_OUTPUT_STRENGTHS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 1e6)
"""In multiples of the number of pairs."""


@dataclass(frozen=True, eq=False)
class EstimatedChannel:
    """A channel estimated from pairs of original and released words.

    Attributes:
      prior: from which the originals were drawn.
      law: float64 [1 + CELLS], g of the word itself and at each distance.
      width: of a cell, in units of the embedding.
      strength: k.
      outputs: float64 [N], the estimated probability of each released word.
      pairs: int64 [M, 2], released and original word, in increasing order.
      search: the vocabulary.
    """

    prior: Prior
    law: Floats
    width: float
    strength: float
    outputs: Floats
    pairs: Ids
    search: NeighborSearch

    def joint(self, outputs: Ids) -> Iterator[tuple[slice, Floats]]:
        """As ``Channel`` says: Pr[z] p(x | z)."""
        first = np.searchsorted(self.pairs[:, 0], outputs, side="left")
        last = np.searchsorted(self.pairs[:, 0], outputs, side="right")
        for part, rows in distance_rows(outputs, self.search):
            made = self.law[_cell(rows, outputs[part], self.width)] * self.prior.shares
            made *= self.strength / made.sum(axis=1, keepdims=True)
            for row, (a, b) in enumerate(zip(first[part], last[part], strict=True)):
                np.add.at(made[row], self.pairs[a:b, 1], 1.0)
            counted = self.strength + last[part] - first[part]
            made *= (self.outputs[outputs[part]] / counted)[:, None]
            yield part, made


def estimated_channel(
    originals: Ids, released: Ids, prior: Prior, search: NeighborSearch
) -> EstimatedChannel:
    """Estimates a channel.

    Args:
      originals: int64 [M], words drawn independently from the prior.
      released: int64 [M], what the mechanism released for them, without rank resampling.
      prior: see above.
      search: the vocabulary.

    Raises:
      ConfigurationError: there are no pairs.
    """
    if not len(originals):
        raise ConfigurationError(
            "`originals`: a channel is estimated from pairs of original and released words, and "
            "there are none"
        )
    width = 2.0 * search.vocabulary.longest / CELLS * (1 + 1e-6)
    used = slice(0, min(LAW_PAIRS, len(originals)))
    own, masses = _cells_of_pairs(originals[used], released[used], prior, width, search)
    law = _law(own, masses)
    order = np.lexsort((originals, released))
    pairs = np.stack([released[order], originals[order]], axis=1)
    expected = prior.shares[originals[used]] * law[own] / (masses @ law)
    strength = _strength(originals[used], released[used], expected, pairs)
    outputs = _output_shares(originals, released, prior)
    return EstimatedChannel(prior, law, width, strength, outputs, pairs, search)


def _cell(rows: Singles, outputs: Ids, width: float) -> Ids:
    """Which cell each word lies in, 0 for the word itself: int64 [B, N]."""
    found = np.minimum((rows * np.float32(1 / width)).astype(np.int64), CELLS - 1) + 1
    found[np.arange(len(outputs)), outputs] = 0
    return np.asarray(found)


def _cells_of_pairs(
    originals: Ids, released: Ids, prior: Prior, width: float, search: NeighborSearch
) -> tuple[Ids, Floats]:
    """The cell of each pair, int64 [m]; the prior's mass by cell around z, float64 [m, cells]."""
    outputs, which = np.unique(released, return_inverse=True)
    masses = np.empty((len(outputs), 1 + CELLS))
    own = np.empty(len(originals), np.int64)
    by_output = np.split(np.argsort(which, kind="stable"), np.cumsum(np.bincount(which))[:-1])
    for part, rows in distance_rows(outputs, search):
        found = _cell(rows, outputs[part], width)
        for output, row in zip(range(*part.indices(len(outputs))), found, strict=True):
            masses[output] = np.bincount(row, prior.shares, 1 + CELLS)
            own[by_output[output]] = row[originals[by_output[output]]]
    return own, masses[which]


def _law(own: Ids, masses: Floats) -> Floats:
    """g: float64 [1 + CELLS], up to a factor."""
    apart = np.sort(own[own > 0])
    intervals = max(1, len(apart) // PAIRS_PER_INTERVAL)
    parts = [part for part in np.array_split(apart, intervals) if len(part)]
    starts = np.unique([0, 1, *(int(part[0]) for part in parts if part[0] > apart[0])])
    counts = np.add.reduceat(np.bincount(own, minlength=1 + CELLS), starts)
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


def _output_shares(originals: Ids, released: Ids, prior: Prior) -> Floats:
    """The probability of each released word: float64 [N]."""
    words, total = len(prior.shares), len(released)
    kept = float((originals == released).mean())
    towards = kept * prior.shares + (1 - kept) / words
    counts = np.bincount(released, minlength=words)
    strengths = [total * multiple for multiple in _OUTPUT_STRENGTHS]
    others = counts[released] - 1
    likely = [np.log((others + k * towards[released]) / (total - 1 + k)).sum() for k in strengths]
    strength = strengths[int(np.argmax(likely))]
    return np.asarray((counts + strength * towards) / (total + strength))
