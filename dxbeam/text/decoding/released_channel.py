"""The channel of a release of words: what a released word says of the word that was there.

exact        the mechanism draws words with known probabilities
approximate  for all others, such as the word nearest to a noisy vector: estimated from what the
             mechanism releases for words that are drawn from the public model
             (mechanisms/channels/estimated_channel.py)

Rank resampling multiplies either by its own law, which is known (resampled_channel.py).

What takes long is ``learnt`` once and can be handed on: sums over all words, or the estimate. The
words of the estimate are public, and so is the key of their random numbers: nothing here has seen
a raw word.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import numpy as np

from dxbeam.language.model import LanguageModel
from dxbeam.mechanisms import ChoosesWords, Mechanism
from dxbeam.mechanisms.channels.estimated_channel import (
    EstimatedLaw,
    EstimatedWordChannel,
    estimate,
)
from dxbeam.mechanisms.channels.resampled_channel import ResampledWordChannel
from dxbeam.mechanisms.channels.word_channel import FallingChannel, LogSums, WordChannel
from dxbeam.mechanisms.sampling.resampling import RankResampling
from dxbeam.randomness import draws_a_word, fill
from dxbeam.space.search.neighbors import Floats, Ids, NeighborSearch

EXACT, APPROXIMATE = "exact", "approximate"

PAIRS = 30_000
"""Words of the public model that an estimate is made of."""

_PAIRS_AT_ONCE = 2_048
_PUBLIC_KEY = b"dxbeam: words of a public model, for the estimate of a channel"


class Learnt(NamedTuple):
    """What is known of a mechanism before any release is read.

    Attributes:
      log_sums: of FallingChannel; None for other channels.
      estimated: None where the channel is known.
    """

    log_sums: LogSums | None = None
    estimated: EstimatedLaw | None = None


def kind_of(mechanism: Mechanism) -> str:
    """EXACT or APPROXIMATE."""
    return EXACT if isinstance(mechanism, ChoosesWords) else APPROXIMATE


def learn(mechanism: Mechanism, search: NeighborSearch, model: LanguageModel) -> Learnt:
    """What ``released_channel`` needs and what takes long; words are drawn by the model for it."""
    if isinstance(mechanism, ChoosesWords):
        channel = mechanism.channel(search)
        return Learnt(channel.log_sums if isinstance(channel, FallingChannel) else None)
    shares = word_shares(model)
    key = hashlib.sha256(_PUBLIC_KEY).digest()
    draws = draws_a_word(1 + mechanism.draws(search.vocabulary.dimensions))
    sums = np.cumsum(shares)
    originals, released = [], []
    for start in range(0, PAIRS, _PAIRS_AT_ONCE):
        random = np.empty((min(_PAIRS_AT_ONCE, PAIRS - start), draws), np.uint64)
        fill(key, start, random)
        units = (random[:, 0] >> np.uint64(11)) * 2.0**-53 * sums[-1]
        words = np.minimum(np.searchsorted(sums, units, side="right"), len(sums) - 1)
        originals.append(words.astype(np.int64))
        released.append(mechanism.release(originals[-1], random[:, 1:], search))
    pairs: tuple[Ids, Ids] = np.concatenate(originals), np.concatenate(released)
    return Learnt(None, estimate(*pairs, shares, search))


def word_shares(model: LanguageModel) -> Floats:
    """The model's frequencies of words, without the unknown one: float64 [N], sums to 1."""
    shares = np.asarray(model.prior[:-1], np.float64)
    return np.asarray(shares / np.cumsum(shares)[-1])


def released_channel(
    mechanism: Mechanism,
    resampling: RankResampling | None,
    learnt: Learnt,
    search: NeighborSearch,
    model: LanguageModel,
) -> WordChannel:
    """The channel from original to released words, of the mechanism and model that were learnt.

    Refused where words were resampled over too many ranks.
    """
    channel: WordChannel
    if isinstance(mechanism, ChoosesWords):
        if learnt.log_sums is not None:
            learnt.log_sums.keep(search)
        channel = mechanism.channel(search)
    else:
        assert learnt.estimated is not None
        channel = EstimatedWordChannel(learnt.estimated, word_shares(model), search)
    if resampling is None:
        return channel
    return ResampledWordChannel(channel, mechanism.epsilon * resampling.c, search)
