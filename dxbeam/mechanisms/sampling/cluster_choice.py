"""What mechanisms that draw a word from its cluster have in common.

Words outside the vocabulary are treated as the word nearest to the public unknown word's vector: a
function of the string, fixed and public, before the mechanism. So what holds for that word holds
for every such string.

Probabilities are counts of 2^62 equally likely numbers, of which one is drawn; they add up to 2^62,
and none is 0. So what is drawn has exactly these probabilities, and their ratios are exact.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dxbeam.guarantees import Guarantee, Metric, pure
from dxbeam.mechanisms.parameters import checked_epsilon, checked_whole, settle
from dxbeam.randomness import Random
from dxbeam.space.search.neighbors import Ids, NeighborSearch
from dxbeam.space.vocabulary.clusters import Partition, partition

DEFAULT_SIZE, LARGEST_SIZE = 20, 256

NUMBERS = 1 << 62
"""Equally likely numbers, that a word's probabilities are counts of."""

_UNUSED_BITS = np.uint64(2)

EXACT_COUNTS = (
    "Probabilities are whole multiples of 2^-62 that keep this bound in exact arithmetic, and are "
    "drawn without rounding."
)
"""What a guarantee says of how they are computed."""


def checked_cluster_size(size: float) -> int:
    """The size of a cluster as an int; refused unless a whole number from 2 to LARGEST_SIZE."""
    meaning = "how many words a cluster of the public partition has"
    return checked_whole("cluster_size", size, 2, LARGEST_SIZE, meaning)


def partition_of(search: NeighborSearch, size: int) -> Partition:
    """The public partition of a vocabulary, which is made once."""
    return search.computed_once(("clusters", size), lambda vocabulary: partition(vocabulary, size))


@dataclass(frozen=True)
class ClusterChoice:
    """A mechanism that draws a word of the original's cluster.

    Attributes:
      epsilon: largest privacy loss between two words of one cluster.
      cluster_size: words in a cluster of the public partition; the last one has up to twice as
        many.
    """

    epsilon: float
    cluster_size: int = DEFAULT_SIZE
    citation: ClassVar[str]

    def __post_init__(self) -> None:
        settle(
            self,
            epsilon=checked_epsilon(self.epsilon),
            cluster_size=checked_cluster_size(self.cluster_size),
        )

    def draws(self, dimensions: int) -> int:  # noqa: ARG002
        """Random numbers per word."""
        return 1

    def guarantee(self) -> Guarantee:
        """Pure epsilon between words of one cluster, for every string; nothing between clusters."""
        return within_clusters(self.epsilon, self.cluster_size, self.citation)


def drawn_number(random: Random) -> Ids:
    """A number below NUMBERS of each uint64 number: uint64 [B] -> int64 [B]."""
    return np.asarray((random >> _UNUSED_BITS).astype(np.int64))


def within_clusters(epsilon: float, size: int, citation: str) -> Guarantee:
    """Epsilon between words of one cluster, nothing between clusters."""
    metric = Metric(
        "cluster",
        "distance by clusters of a public partition of the vocabulary: 0 between equal words, 1 "
        "between words of one cluster and infinite between words of different clusters, so that "
        "which cluster a word belongs to is published",
        shows="cluster",
    )
    promise = pure(
        epsilon,
        citation,
        metric,
        caveats=(
            "The mechanism draws a word of the original word's cluster at any epsilon: what words "
            "of one cluster have in common is not hidden.",
            f"Clusters have {size} to {2 * size - 1} words (all words of a smaller vocabulary are "
            "one) and follow from the vocabulary's order and vectors; words outside it are treated "
            "as the word nearest to the unknown word's vector.",
        ),
        arithmetic=EXACT_COUNTS,
    )
    return dataclasses.replace(promise, euclidean_epsilon=None)
