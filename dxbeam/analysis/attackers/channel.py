"""Bayes on the released word, for mechanisms whose channel is a formula.

The attacker sees the released word z, knows Pr[x -> z] for every word x and a prior, and guesses
the words of the largest prior(x) Pr[x -> z]. For santext and tem,

    Pr[x -> z] = exp(-epsilon min(d(x, z), gamma) / 2) / Z(x)

with gamma infinite for santext: one row of distances a released word, and once for all the sums
Z(x) over the whole vocabulary. No attacker that sees the released word alone is right more often in
expectation over words that are drawn from that prior.

Distances come of float32 products: with vectors of length 7 they are off by some 1e-5, and so the
exponents by epsilon / 2 times as much.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dxbeam.analysis.attackers.distance_rows import Singles, distance_rows
from dxbeam.analysis.attackers.prior import Prior
from dxbeam.analysis.exponential_shares import is_exact
from dxbeam.errors import ConfigurationError
from dxbeam.mechanisms import Mechanism
from dxbeam.mechanisms.tem import TEM
from dxbeam.space.neighbors import Floats, Ids, NeighborSearch


class Channel(Protocol):
    """What an attacker knows or has estimated of prior and mechanism together."""

    @property
    def prior(self) -> Prior:
        """What is believed beforehand."""
        ...

    def joint(self, outputs: Ids) -> Iterator[tuple[slice, Floats]]:
        """prior(x) Pr[x -> z] for all words x.

        Args:
          outputs: int64 [U], words z.

        Yields:
          A slice of ``outputs`` and float64 [part, N]. A row depends on its own z alone.
        """
        ...


@dataclass(frozen=True, eq=False)
class KnownChannel:
    """The channel of santext or tem, computed.

    Attributes:
      mechanism: with its epsilon.
      prior: what is believed beforehand.
      weights: float64 [N], prior(x) / Z(x).
      search: the vocabulary.
    """

    mechanism: Mechanism
    prior: Prior
    weights: Floats
    search: NeighborSearch

    def joint(self, outputs: Ids) -> Iterator[tuple[slice, Floats]]:
        """As ``Channel`` says."""
        for part, rows in distance_rows(outputs, self.search):
            yield part, _falling(self.mechanism, rows) * self.weights


def known_channel(mechanism: Mechanism, prior: Prior, search: NeighborSearch) -> KnownChannel:
    """The channel of santext or tem; N^2 distances are summed up once per mechanism.

    Raises:
      ConfigurationError: the channel of this mechanism is no formula here.
    """
    if not is_exact(mechanism):
        raise ConfigurationError(
            f"`mechanism` {mechanism.name}: its channel is no formula; estimate it from pairs"
        )
    sums: Floats = search.computed_once(
        ("channel sums", mechanism),
        lambda vocabulary: np.concatenate(
            [
                _falling(mechanism, rows).sum(axis=1, dtype=np.float64)
                for _, rows in distance_rows(np.arange(len(vocabulary)), search)
            ]
        ),
    )
    return KnownChannel(mechanism, prior, prior.shares / sums, search)


def guess_from_words(channel: Channel, released: Ids, count: int) -> Ids:
    """The most probable words given each released word.

    Args:
      channel: what is known or estimated.
      released: int64 [B].
      count: k, how many guesses; at most N.

    Returns:
      int64 [B, k], the most probable first, the lowest id first among equals.
    """
    outputs, which = np.unique(released, return_inverse=True)
    guesses = np.empty((len(outputs), count), np.int64)
    for part, joint in channel.joint(outputs):
        guesses[part] = [most_probable(row, count) for row in joint]
    return np.asarray(guesses[which])


def most_probable(row: Floats, count: int) -> Ids:
    """The largest of a row, float64 [N] -> int64 [k], the lowest id first among equals."""
    place = len(row) - count
    left = np.flatnonzero(row >= np.partition(row, place)[place])
    return np.asarray(left[np.lexsort((left, -row[left]))[:count]])


def _falling(mechanism: Mechanism, rows: Singles) -> Singles:
    """exp(-epsilon min(d, gamma) / 2), in place."""
    if isinstance(mechanism, TEM):
        np.minimum(rows, np.float32(mechanism.gamma(rows.shape[1])), out=rows)
    rows *= np.float32(-mechanism.epsilon / 2)
    return np.exp(rows, out=rows)
