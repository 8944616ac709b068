"""Public text that attackers have released themselves, and what they read of it.

What attackers learn of their pairs, they learn from candidates of a channel that has not seen them:
where it is estimated from pairs, each half is read by what the other says, as the texts under
attack will be.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dxbeam.analysis.attackers.channel import Channel
from dxbeam.analysis.attackers.context import Candidates, candidates_for
from dxbeam.analysis.attackers.estimated_channel import estimated_channel
from dxbeam.analysis.attackers.prior import Prior
from dxbeam.space.search.neighbors import Floats, Ids, NeighborSearch


class Pairs(NamedTuple):
    """Public text that an attacker has released itself.

    Attributes:
      originals: texts, int64 arrays of ids, none empty.
      seen: int64 [T], what was released for their words, one text after the other, or
        float64 [T, n], their noisy vectors.
    """

    originals: Sequence[Ids]
    seen: Ids | Floats

    @property
    def released(self) -> Ids:
        """What is seen, where it is released words."""
        return np.asarray(self.seen, np.int64)

    def divided(self, words: int) -> tuple[Pairs, Pairs]:
        """The first texts that together hold this many words, and all others."""
        ends = np.cumsum([len(text) for text in self.originals])
        count = min(len(ends), int(np.searchsorted(ends, words)) + 1)
        return (
            Pairs(self.originals[:count], self.seen[: ends[count - 1]]),
            Pairs(self.originals[count:], self.seen[ends[count - 1] :]),
        )


def candidates_of_pairs(
    rehearsed: Pairs, channel: Channel | None, prior: Prior, search: NeighborSearch
) -> Candidates:
    """Candidates of the attackers' own pairs.

    Args:
      rehearsed: public text, and what was released of it.
      channel: that has not seen these pairs; None to read each half by what the other says.
      prior: how frequent words are.
      search: the vocabulary.
    """
    if channel is not None:
        return candidates_for(channel, rehearsed.released)
    halves = rehearsed.divided(len(rehearsed.released) // 2)
    if not halves[1].originals:
        return candidates_for(estimated_from(rehearsed, prior, search), rehearsed.released)
    parts = [
        candidates_for(estimated_from(other, prior, search), half.released)
        for half, other in zip(halves, reversed(halves), strict=True)
    ]
    ids, posterior, priors = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return Candidates(np.asarray(ids, np.int64), posterior, priors)


def estimated_from(rehearsed: Pairs, prior: Prior, search: NeighborSearch) -> Channel:
    """The channel as pairs tell it; arguments as ``candidates_of_pairs``."""
    originals = np.concatenate(rehearsed.originals)
    return estimated_channel(originals, rehearsed.released, prior, search)
