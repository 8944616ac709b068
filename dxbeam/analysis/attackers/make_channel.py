"""The channel of a setting: computed where it is a formula, else estimated from simulated pairs."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dxbeam.analysis.attackers.channel import Channel, is_known, known_channel
from dxbeam.analysis.attackers.estimated_channel import estimated_channel
from dxbeam.analysis.attackers.prior import Prior
from dxbeam.analysis.attackers.resampled_channel import resampled_channel
from dxbeam.mechanisms import Mechanism
from dxbeam.randomness import Random
from dxbeam.space.search.neighbors import Ids, NeighborSearch


def pair_draws(mechanism: Mechanism, dimensions: int) -> int:
    """Random numbers per simulated pair: one draws the word, the others release it."""
    return 1 + mechanism.draws(dimensions)


def simulated_pairs(
    mechanism: Mechanism, prior: Prior, random: Random, search: NeighborSearch
) -> tuple[Ids, Ids]:
    """Words drawn from the prior, and what the mechanism releases for them: int64 [M] each.

    Args:
      mechanism: with its epsilon.
      prior: from which originals are drawn.
      random: uint64 [M, pair_draws or more].
      search: the vocabulary.
    """
    originals = prior.draw(random[:, 0])
    return originals, mechanism.release(originals, random[:, 1:], search)


def make_channel(
    mechanism: Mechanism,
    rank_c: float | None,
    prior: Prior,
    random: Iterable[Random],
    search: NeighborSearch,
) -> Channel:
    """The channel of a setting: exact for santext and tem, else estimated from simulated pairs.

    Args:
      mechanism: with its epsilon.
      rank_c: of rank resampling; None for none. Its law is known in either case.
      prior: what is believed beforehand; simulated words are drawn from it.
      random: parts of the random numbers for pairs, as for ``simulated_pairs``; looked at only
        where the channel is estimated.
      search: the vocabulary.

    Raises:
      ConfigurationError: there are no random numbers though pairs are needed, or ranks spread too
        far (resampled_channel.py).
    """
    channel: Channel
    if is_known(mechanism):
        channel = known_channel(mechanism, prior, search)
    else:
        parts = [simulated_pairs(mechanism, prior, part, search) for part in random]
        originals, released = (
            np.concatenate([np.zeros(0, np.int64), *(part[side] for part in parts)])
            for side in (0, 1)
        )
        channel = estimated_channel(originals, released, prior, search)
    if rank_c:
        channel = resampled_channel(channel, rank_c, mechanism.epsilon, search)
    return channel
