"""Canaries: how exposed a secret is that occurs in k documents of a corpus.

A canary is a sentence that is known but for one word, the secret, which is drawn from R words of
equal probability (Carlini et al.: The secret sharer, 2019). It occurs in k documents, each of which
is released independently. The attacker knows the mechanism, the sentence and the R words, takes the
k words that were released in the secret's place, and orders the R words by the sum of ln P(z | x).
With the secret at place r, its exposure is log2 R - log2 r: 0 to log2 R bits, and of a guess at
random log2 R - log2(R!) / R, about 1.44.

Every repetition is another release of the secret, so losses add up: exposure grows with k, whatever
one release promises.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dxbeam.analysis.theory.intervals import independent_mean_interval, mean_interval
from dxbeam.errors import ConfigurationError
from dxbeam.mechanisms.channels.word_channel import WordChannel
from dxbeam.space.search.neighbors import Floats, Ids


class Exposure(NamedTuple):
    """Of canaries of one frequency.

    Attributes:
      copies: k, in how many documents each canary occurs.
      bits: the mean exposure; low and
      high: its 95 % interval over canaries.
      first: the share of canaries whose secret is the first of all R words.
      chance: the mean exposure of a guess at random.
      canaries: how many there are.
      first_low, first_high: the 95 % interval of ``first``.
    """

    copies: int
    bits: float
    low: float
    high: float
    first: float
    chance: float
    canaries: int
    first_low: float
    first_high: float


def exposure(
    channel: WordChannel, secrets: Ids, released: Ids, candidates: Ids, copies: Sequence[int]
) -> list[Exposure]:
    """The exposure of canaries that occur in the first k of their documents.

    Words of equal score share their places, so that an attacker who sees no difference gets what
    one place in the middle gives.

    Args:
      channel: P(z | x) of the mechanism, known or estimated.
      secrets: int64 [C], the secret of each canary, one of the candidates.
      released: int64 [C, K], what was released in its place in K documents.
      candidates: int64 [R], the words that a secret may be, none twice.
      copies: values of k, from 1 to K.

    Raises:
      ConfigurationError: a secret is no candidate, or k is more than K.
    """
    if not np.isin(secrets, candidates).all():
        raise ConfigurationError("`secrets`: each must be one of the candidates")
    if not all(1 <= k <= released.shape[1] for k in copies):
        raise ConfigurationError(f"`copies`: from 1 to {released.shape[1]}, the number of releases")
    rows = np.broadcast_to(candidates, (released.size, len(candidates)))
    logs = channel.logs(released.ravel(), rows).reshape(*released.shape, -1)
    inserted = (candidates == secrets[:, None]).argmax(axis=1)
    return [exposure_of_scores(logs[:, :k].sum(axis=1), inserted, k) for k in copies]


def exposure_of_scores(scores: Floats, inserted: Ids, copies: int) -> Exposure:
    """The exposure of canaries whose candidates an attacker has scored.

    Args:
      scores: float64 [C, R], the larger the likelier.
      inserted: int64 [C], which candidate is the secret.
      copies: k, in how many documents each canary occurs.
    """
    canaries, words = scores.shape
    right = scores[np.arange(canaries), inserted][:, None]
    ahead = (scores > right).sum(axis=1)
    level = (scores == right).sum(axis=1)
    bits = np.log2(words) - np.log2(ahead + (level + 1) / 2)
    first = np.where(ahead == 0, 1 / level, 0.0)
    mean = float(bits.mean())
    deviation = float(bits.std(ddof=1)) if canaries > 1 else np.inf
    low, high = independent_mean_interval(mean, deviation, canaries)
    most = float(np.log2(words))
    chance = most - float(np.log2(np.arange(1, words + 1)).mean())
    share = mean_interval(float(first.sum()), float(np.square(first).sum()), canaries)
    return Exposure(
        copies, mean, max(0.0, low), min(most, high), share[0], chance, canaries, *share[1:]
    )
