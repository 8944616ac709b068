"""Bayes on the released word, for mechanisms whose channel is no formula: estimated from pairs.

dxbeam/mechanisms/channels/estimated_channel.py says how. What such an attacker gets on fresh draws
is what an attacker can get: a lower bound on the optimum.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dxbeam.analysis.attackers.prior import Prior
from dxbeam.mechanisms.channels.estimated_channel import EstimatedLaw, estimate
from dxbeam.space.search.neighbors import Floats, Ids, NeighborSearch


@dataclass(frozen=True, eq=False)
class EstimatedChannel:
    """A channel estimated from pairs of original and released words.

    Attributes:
      prior: from which the originals were drawn.
      estimated: what the pairs say.
      search: the vocabulary.
    """

    prior: Prior
    estimated: EstimatedLaw
    search: NeighborSearch

    def joint(self, outputs: Ids) -> Iterator[tuple[slice, Floats]]:
        """As ``Channel`` says: Pr[z] p(x | z)."""
        return self.estimated.rows(outputs, self.prior.shares, self.search)


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
    channel = estimate(originals, released, prior.shares, search)
    return EstimatedChannel(prior, channel, search)
