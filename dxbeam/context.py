"""What an epsilon means in a vocabulary: the factor at the distance of neighbours.

exp(epsilon * d) says little before one knows how far apart words are. At the median distance of a
word's nearest neighbour, and of its 100th, it is the factor by which a released word may speak for
the original against that neighbour: near e^0 says nothing, e^30 is no protection by itself, and
what is left then is what the law of the noise makes likely.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from dxbeam.guarantees import Guarantee
from dxbeam.neighbors import CLOSE_RANK, NeighborSearch
from dxbeam.vocabulary import distances

_SAMPLED_WORDS = 1000


class Neighbor(NamedTuple):
    """A typical neighbour, and what a guarantee says about telling it from a word.

    Attributes:
      rank: 1 for the nearest neighbour.
      distance: median Euclidean distance, over words spread evenly through the vocabulary.
      exponent: epsilon * distance, or the guarantee's cap; the factor is e to this power. None
        where the guarantee does not reach so far.
      delta: the additive slack beside the factor.
    """

    rank: int
    distance: float
    exponent: float | None
    delta: float = 0.0

    @property
    def sentence(self) -> str:
        """For a person to read."""
        which = "nearest" if self.rank == 1 else f"{self.rank}th nearest"
        against = f"against its {which} word (median distance {self.distance:.2g})"
        if self.exponent is None:
            return f"{against} nothing is promised, as the guarantee does not reach so far"
        factor = f"e^{self.exponent:.3g}"
        if self.exponent < 9:
            factor += f" = {math.exp(self.exponent):.3g}"
        slack = f", up to a probability of {self.delta:g}" if self.delta else ""
        return f"{against} a released word may speak for the original by a factor of up to " + (
            factor + slack
        )


def in_context(guarantee: Guarantee, search: NeighborSearch) -> list[Neighbor]:
    """The guarantee at the nearest and at the 100th neighbour; [] where it has no such reading."""
    words = len(search.vocabulary)
    if guarantee.euclidean_epsilon is None or words < 2:
        return []
    ids = np.unique(np.linspace(0, words - 1, min(words, _SAMPLED_WORDS)).astype(np.int64))
    nearest = search.neighbor(ids, np.ones(len(ids), np.int64))
    vectors = search.vocabulary.vectors
    typical = {
        1: np.median(distances(vectors[ids], vectors[nearest])),
        min(CLOSE_RANK, words - 1): np.median(search.close_radius(ids)),
    }
    return [
        Neighbor(rank, float(distance), _exponent(guarantee, float(distance)), guarantee.delta)
        for rank, distance in typical.items()
    ]


def _exponent(guarantee: Guarantee, distance: float) -> float | None:
    if guarantee.euclidean_epsilon is None:
        return None
    if guarantee.longest is not None and distance > guarantee.longest:
        return None
    exponent = guarantee.euclidean_epsilon * distance
    return exponent if guarantee.cap is None else min(exponent, guarantee.cap)


def as_dicts(neighbors: list[Neighbor]) -> list[dict[str, Any]]:
    """Ready for JSON."""
    return [
        {
            "neighbor_rank": neighbor.rank,
            "median_distance": neighbor.distance,
            "exponent": neighbor.exponent,
        }
        for neighbor in neighbors
    ]
