"""Bayes on the released word, for mechanisms whose channel is a formula.

The attacker sees the released word z, knows Pr[x -> z] for every word x and a prior, and guesses
the words of the largest prior(x) Pr[x -> z]. For santext and tem,

    Pr[x -> z] = q(z) exp(-epsilon min(d(x, z), gamma) / 2) / Z(x)

with gamma infinite for santext, a public base measure q or 1
(dxbeam/mechanisms/public/base_measure.py), and where x is not z times exp(-(rho(x) + rho(z)) / 2)
where words have public weights rho (dxbeam/mechanisms/public/importance.py): one row of distances a
released word, and once for all the sums Z(x) over the whole vocabulary. No attacker that sees only
the released word is right more often in expectation over words that are drawn from that prior.

Distances come of float32 products: with vectors of length 7 they are off by some 1e-5, and so the
exponents by epsilon / 2 times as much.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dxbeam.analysis.attackers.prior import Prior
from dxbeam.errors import ConfigurationError
from dxbeam.mechanisms import Mechanism
from dxbeam.mechanisms.santext import SanText
from dxbeam.mechanisms.tem import TEM
from dxbeam.space.search.distance_rows import Singles, distance_rows
from dxbeam.space.search.neighbors import Floats, Ids, NeighborSearch
from dxbeam.space.vocabulary.words import Vocabulary


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
          A slice of ``outputs`` and numbers [part, N], float32 after rank resampling; the array
          may be used again. A row depends only on its own z.
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
            ids = outputs[part]
            weights = falling(self.mechanism, ids, rows, self.search)
            base = public_base(self.mechanism, self.search)
            yield part, weights * self.weights * (1.0 if base is None else base[ids][:, None])


def is_known(mechanism: Mechanism) -> bool:
    """Whether the channel is a formula here: of santext and tem."""
    return isinstance(mechanism, (SanText, TEM))


def known_channel(mechanism: Mechanism, prior: Prior, search: NeighborSearch) -> KnownChannel:
    """The channel of santext or tem; N^2 distances are summed up once per mechanism.

    Raises:
      ConfigurationError: the channel of this mechanism is no formula here.
    """
    if not is_known(mechanism):
        raise ConfigurationError(
            f"`mechanism` {mechanism.name}: its channel has no formula; estimate it from pairs"
        )

    def sums_of(vocabulary: Vocabulary) -> Floats:
        ids, base = np.arange(len(vocabulary)), public_base(mechanism, search)
        if base is not None:
            return np.concatenate(
                [
                    falling(mechanism, ids[part], rows, search).astype(np.float64) @ base
                    for part, rows in distance_rows(ids, search)
                ]
            )
        return np.concatenate(
            [
                falling(mechanism, ids[part], rows, search).sum(axis=1, dtype=np.float64)
                for part, rows in distance_rows(ids, search)
            ]
        )

    sums: Floats = search.computed_once(("channel sums", mechanism), sums_of)
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


def falling(mechanism: Mechanism, ids: Ids, rows: Singles, search: NeighborSearch) -> Singles:
    """exp(-epsilon min(d, gamma) / 2) and what weights make of it, without q, in place.

    Arguments as ``log_falling``.
    """
    return np.exp(log_falling(mechanism, ids, rows, search), out=rows)


def log_falling(mechanism: Mechanism, ids: Ids, rows: Singles, search: NeighborSearch) -> Singles:
    """Its logarithm, in place.

    Args:
      mechanism: santext or tem.
      ids: int64 [B], the words that the rows are of.
      rows: float32 [B, N], distances from them to all words.
      search: the vocabulary.
    """
    assert isinstance(mechanism, (SanText, TEM))
    distribution = mechanism.distribution(search.vocabulary)
    if np.isfinite(distribution.cap):
        np.minimum(rows, np.float32(distribution.cap), out=rows)
    rows *= np.float32(-distribution.rate)
    lowered = distribution.half_weights(search.vocabulary)
    if lowered is not None:
        rows -= lowered.astype(np.float32)
        rows -= lowered[ids].astype(np.float32)[:, None]
        rows[np.arange(len(ids)), ids] = 0
    return rows


def public_base(mechanism: Mechanism, search: NeighborSearch) -> Floats | None:
    """Q of each word, float64 [N], the largest 1; None for q = 1."""
    assert isinstance(mechanism, (SanText, TEM))
    return None if mechanism.base is None else np.exp(mechanism.base.logs(search.vocabulary))
