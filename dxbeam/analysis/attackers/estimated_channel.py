"""Bayes on the released word, for mechanisms whose channel is no formula: estimated from pairs.

Anyone can run the mechanism on words drawn from a prior and look at the pairs (x, z) of original
and released word. A table of N^2 counts stays nearly empty, so counts are drawn towards a law that
all pairs share:

    m(x | z) = prior(x) g(d(x, z)) / (the sum of the same over all words),

g being constant on intervals of the distance. Its values are those of the largest likelihood of the
pairs, found by iterative scaling (Darroch, Ratcliff: Generalized iterative scaling for log-linear
models, 1972; every word lies in one interval, so a step multiplies g by the share of pairs in an
interval over the share expected there). With c(x, z) pairs counted,

    p(x | z) = (c(x, z) + k m(x | z)) / (c(z) + k),

where k is the one of a few under which each pair is the most probable given all others.

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

INTERVALS = 64
"""Of equal width; one more holds the word itself."""

LAW_PAIRS = 2_000
"""Pairs that the law of distance is fitted to; counts use all."""

_STEPS = 200
_CONVERGED = 1e-6
_STRENGTHS = (0.5, 2.0, 8.0, 32.0, 128.0, 1e9)
_OUTPUT_STRENGTH = 0.1


@dataclass(frozen=True, eq=False)
class EstimatedChannel:
    """A channel estimated from pairs of original and released words.

    Attributes:
      prior: from which the originals were drawn.
      law: float64 [1 + INTERVALS], g of the word itself and of the intervals of distance.
      width: of an interval, in units of the embedding.
      strength: k.
      pairs: int64 [M, 2], released and original word, in increasing order.
      search: the vocabulary.
    """

    prior: Prior
    law: Floats
    width: float
    strength: float
    pairs: Ids
    search: NeighborSearch

    def joint(self, outputs: Ids) -> Iterator[tuple[slice, Floats]]:
        """As ``Channel`` says: Pr[z] p(x | z), Pr[z] being a smoothed share of the pairs."""
        total, shares = len(self.pairs), self.prior.shares
        smooth = _OUTPUT_STRENGTH * (0.5 * shares[outputs] + 0.5 / len(shares))
        first = np.searchsorted(self.pairs[:, 0], outputs, side="left")
        last = np.searchsorted(self.pairs[:, 0], outputs, side="right")
        share = ((last - first) / total + smooth) / (1 + _OUTPUT_STRENGTH)
        for part, rows in distance_rows(outputs, self.search):
            made = self.law[_interval(rows, outputs[part], self.width)] * shares
            made *= self.strength / made.sum(axis=1, keepdims=True)
            for row, (a, b) in enumerate(zip(first[part], last[part], strict=True)):
                np.add.at(made[row], self.pairs[a:b, 1], 1.0)
            made *= (share[part] / (self.strength + last[part] - first[part]))[:, None]
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
    width = 2.0 * search.vocabulary.longest / INTERVALS * (1 + 1e-6)
    used = slice(0, min(LAW_PAIRS, len(originals)))
    own, masses = _intervals_of_pairs(originals[used], released[used], prior, width, search)
    law = _fitted(own, masses)
    order = np.lexsort((originals, released))
    pairs = np.stack([released[order], originals[order]], axis=1)
    expected = prior.shares[originals[used]] * law[own] / (masses @ law)
    strength = _strength(originals[used], released[used], expected, pairs)
    return EstimatedChannel(prior, law, width, strength, pairs, search)


def _interval(rows: Singles, outputs: Ids, width: float) -> Ids:
    """Which interval each word lies in: int64 [B, N]."""
    found = np.minimum((rows * np.float32(1 / width)).astype(np.int64), INTERVALS - 1) + 1
    found[np.arange(len(outputs)), outputs] = 0
    return np.asarray(found)


def _intervals_of_pairs(
    originals: Ids, released: Ids, prior: Prior, width: float, search: NeighborSearch
) -> tuple[Ids, Floats]:
    """The interval of each pair, int64 [m]; and the prior's mass by interval, float64 [m, 65]."""
    outputs, which = np.unique(released, return_inverse=True)
    masses = np.empty((len(outputs), 1 + INTERVALS))
    own = np.empty(len(originals), np.int64)
    by_output = np.split(np.argsort(which, kind="stable"), np.cumsum(np.bincount(which))[:-1])
    for part, rows in distance_rows(outputs, search):
        found = _interval(rows, outputs[part], width)
        for output, row in zip(range(*part.indices(len(outputs))), found, strict=True):
            masses[output] = np.bincount(row, prior.shares, 1 + INTERVALS)
            own[by_output[output]] = row[originals[by_output[output]]]
    return own, masses[which]


def _fitted(own: Ids, masses: Floats) -> Floats:
    """g: float64 [1 + INTERVALS], up to a factor."""
    # Half a pair more in each interval, as an interval without pairs is not an impossible one.
    counts = np.bincount(own, minlength=masses.shape[1]) + 0.5
    counts *= len(own) / counts.sum()
    reached = masses.sum(axis=0) > 0
    law = reached.astype(np.float64)
    for _ in range(_STEPS):
        expected = law * (masses / (masses @ law)[:, None]).sum(axis=0)
        step = np.divide(counts, expected, out=np.ones(len(law)), where=reached)
        law *= step
        if np.abs(np.log(step[reached])).max() < _CONVERGED:
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
