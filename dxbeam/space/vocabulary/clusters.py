"""A public partition of the vocabulary into clusters of words that are close together.

Seeds are taken in the order of the file, each with the nearest words that no cluster has yet, by
(float64 distance, id). That depends only on words and vectors, so it is as public as they are, and
the same on every machine. A word at the end of the file may find its neighbours gone: late clusters
are wide, and the last one holds what is left.
"""

from __future__ import annotations

import logging
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dxbeam.space.search.neighbors import Ids
from dxbeam.space.vocabulary.unused_words import UnusedWords
from dxbeam.space.vocabulary.words import Vocabulary

_DEPTH = 44  # more neighbours than a cluster needs, as some are taken
_AT_ONCE = 512

_LOG = logging.getLogger(__name__)


def clusters(vocabulary: Vocabulary, size: int) -> npt.NDArray[np.int32]:
    """The number of each word's cluster, int32 [N]: those of the vocabulary, else made now.

    Clusters have K = ``size`` words and the last one K to 2K - 1; fewer than 2K words are one
    cluster. Some 10 s of a core for 33,849 words of 300 dimensions without a neighbour table and
    clusters of 20; it grows with the square of the number of words.
    """
    stored = vocabulary.clusters
    if stored is not None and np.count_nonzero(stored == 0) == size:
        return stored
    if len(vocabulary) < 2 * size:
        _LOG.warning(
            "the vocabulary's %s words are one cluster, as there are not enough for two of %s, so "
            "any word may come out for any",
            f"{len(vocabulary):,}",
            f"{size:,}",
        )
    numbers = np.full(len(vocabulary), -1, np.int32)
    ahead = min(_AT_ONCE, len(vocabulary) // (2 * size))
    unused = UnusedWords(vocabulary, size + _DEPTH, ahead)
    number = 0
    while len(unused) >= 2 * size:
        seed = unused.first()
        numbers[[seed, *unused.take(seed, size - 1)]] = number
        number += 1
    numbers[numbers < 0] = number
    return numbers


class Partition(NamedTuple):
    """The words of each cluster.

    Attributes:
      number: int64 [N], each word's cluster.
      place: int64 [N], each word's place in its cluster.
      members: int64 [N], the words, cluster by cluster, in each by id.
      start: int64 [C], where each cluster starts there.
      size: int64 [C], how many words it has.
    """

    number: Ids
    place: Ids
    members: Ids
    start: Ids
    size: Ids


def partition(vocabulary: Vocabulary, size: int) -> Partition:
    """The clusters that ``clusters`` makes, ready to be looked up."""
    number = clusters(vocabulary, size).astype(np.int64)
    members = np.argsort(number, kind="stable")
    sizes = np.bincount(number)
    start = np.cumsum(sizes) - sizes
    place = np.empty(len(number), np.int64)
    place[members] = np.arange(len(number)) - start[number[members]]
    return Partition(number, place, members, start, sizes)
