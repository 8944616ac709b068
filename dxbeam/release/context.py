"""What epsilon means in a vocabulary: likelihood ratios of words as far apart as words are there.

exp(epsilon * d) says little before one knows how far apart words are. For a word and its nearest
neighbour, its 100th, or any other word, it bounds the likelihood ratio by which a released word can
tell the two apart. Near e^0 it can hardly tell them apart; e^30 is no protection by itself, and
what protection is left is in what the noise makes likely. Neighbours are the best case: most
pairs of words are as far apart as the typical one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dxbeam.guarantees import Guarantee, at_most
from dxbeam.space.search.neighbors import CLOSE_RANK, NeighborSearch
from dxbeam.space.vocabulary.words import Vocabulary, distances

NEIGHBORS, TYPICAL, FARTHEST = "neighbours", "typical pair", "farthest pair seen"

_SAMPLED_WORDS = 1000


class Pair(NamedTuple):
    """Two words at some distance, and what a guarantee says about telling them apart.

    Attributes:
      words: NEIGHBORS, TYPICAL or FARTHEST.
      rank: of neighbours, 1 for the nearest; None for other pairs.
      distance: Euclidean; the median over words spread evenly through those that the guarantee
        covers, the largest one for FARTHEST.
      exponent: epsilon * distance, or what caps it; the likelihood ratio is at most e to this
        power. None where the guarantee does not reach so far.
      delta: the additive slack besides the likelihood ratio.
    """

    words: str
    rank: int | None
    distance: float
    exponent: float | None
    delta: float = 0.0

    @property
    def sentence(self) -> str:
        """For a person to read."""
        if self.rank is None:
            which = "a typical word" if self.words == TYPICAL else "the farthest word seen"
        else:
            which = "its nearest word" if self.rank == 1 else f"its {self.rank}th nearest word"
        median = "" if self.words == FARTHEST else "median "
        pair = f"a word and {which} ({median}distance {self.distance:.2g})"
        if self.exponent is None:
            return f"nothing is promised between {pair}, as the guarantee does not reach so far"
        factor = f"e^{at_most(self.exponent, 3)}"
        if self.exponent < 9:
            factor += f" = {at_most(math.exp(self.exponent), 3)}"
        slack = f", up to a probability of {at_most(self.delta)}" if self.delta else ""
        return f"{pair} can be told apart by a likelihood ratio of at most {factor}{slack}"


def in_context(guarantee: Guarantee, search: NeighborSearch) -> list[Pair]:
    """What the guarantee says of one word against others that it covers.

    Returns:
      the nearest and the 100th neighbour, a typical word and the farthest two among a thousand;
      [] where the guarantee has no reading in Euclidean distance.
    """
    search = _covered(guarantee, search)
    words = len(search.vocabulary)
    if guarantee.euclidean_epsilon is None or words < 2:
        return []
    ids = np.unique(np.linspace(0, words - 1, min(words, _SAMPLED_WORDS)).astype(np.int64))
    nearest = search.neighbor(ids, np.ones(len(ids), np.int64))
    vectors = search.vocabulary.vectors
    pairwise = _all_distances(vectors[ids])
    pairs = [
        (NEIGHBORS, 1, np.median(distances(vectors[ids], vectors[nearest]))),
        (NEIGHBORS, min(CLOSE_RANK, words - 1), np.median(search.close_radius(ids))),
        (TYPICAL, None, np.median(pairwise)),
        (FARTHEST, None, pairwise.max()),
    ]
    _, delta = guarantee.one_word(words)
    return [
        Pair(which, rank, float(distance), exponent_at(guarantee, float(distance), words), delta)
        for which, rank, distance in pairs
    ]


def _covered(guarantee: Guarantee, search: NeighborSearch) -> NeighborSearch:
    """A search among the words that the guarantee covers."""
    first = guarantee.first_covered(len(search.vocabulary))
    if first == 0:
        return search
    whole = search.vocabulary
    return NeighborSearch(Vocabulary(whole.words[first:], whole.vectors[first:]))


def _all_distances(vectors: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    """Distances of all pairs: float32 [k, n] -> float64 [k (k - 1) / 2]."""
    return np.concatenate(
        [distances(vectors[i + 1 :], vectors[i]) for i in range(len(vectors) - 1)]
    )


def exponent_at(guarantee: Guarantee, distance: float, words: int) -> float | None:
    """The exponent of ``Pair`` at a distance, in a vocabulary of this many words."""
    if guarantee.euclidean_epsilon is None:
        return None
    if guarantee.longest is not None and distance > guarantee.longest:
        return None
    return min(guarantee.euclidean_epsilon * distance, guarantee.one_word(words)[0])


def as_dicts(pairs: Iterable[Pair]) -> list[dict[str, Any]]:
    """Ready for JSON."""
    return [
        {
            "words": pair.words,
            "neighbor_rank": pair.rank,
            ("largest_distance" if pair.words == FARTHEST else "median_distance"): pair.distance,
            "exponent": pair.exponent,
            "delta": pair.delta,
        }
        for pair in pairs
    ]
