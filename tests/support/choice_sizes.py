"""Mechanisms of the exponential family that draw in few rounds, or around few words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dxbeam.mechanisms.sampling.exponential_choice import ChoiceSizes, choose
from dxbeam.randomness import Random
from dxbeam.space.search.neighbors import Ids, NeighborSearch


@dataclass(frozen=True)
class WithSizes:
    """What a mechanism draws, with other sizes; of SanText+ for words that are replaced."""

    mechanism: Any
    sizes: ChoiceSizes

    def release(self, ids: Ids, random: Random, search: NeighborSearch) -> Ids:
        """As the mechanism's."""
        distribution = self.mechanism.distribution(search.vocabulary)
        return choose(ids, random, distribution, search, self.sizes)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.mechanism, name)
