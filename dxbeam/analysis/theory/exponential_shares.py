"""What santext and tem release, computed and not drawn.

Both release a word x for w with a probability proportional to exp(-epsilon min(d(w, x), gamma) / 2)
(gamma is infinite for santext), so everything that is asked of a word is a sum over one row of
distances.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dxbeam.analysis.measure.rank_histogram import first_ranks
from dxbeam.mechanisms import Mechanism
from dxbeam.mechanisms.santext import SanText
from dxbeam.mechanisms.tem import TEM
from dxbeam.space.search.distance_rows import half_squares
from dxbeam.space.search.neighbors import CLOSE_RANK, Ids, NeighborSearch

Floats = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]

_WORDS_PER_BLOCK = 64


def is_exact(mechanism: Mechanism) -> bool:
    """Whether what the mechanism releases is computed here: of santext and tem as published."""
    if not isinstance(mechanism, (SanText, TEM)):
        return False
    return mechanism.importance is None and mechanism.base is None and mechanism.constant is None


class Around(NamedTuple):
    """The words around one word, nearest first.

    Attributes:
      lengths: float32 [N], their distances; the word's own comes first.
      close: how many words are the word itself or close.
    """

    lengths: Singles
    close: int


def around(ids: Ids, search: NeighborSearch) -> Iterator[Around]:
    """The sorted distances from each word to all words; ids: int64 [B]."""
    vectors, half = search.vocabulary.vectors, half_squares(search)
    nearest = min(CLOSE_RANK + 1, len(vectors))
    for start in range(0, len(ids), _WORDS_PER_BLOCK):
        block = ids[start : start + _WORDS_PER_BLOCK]
        radii = search.close_radius(block) * (1 + 1e-6)
        squared = vectors[block] @ vectors.T
        squared -= half
        squared *= -2
        squared += 2 * half[block, None]
        lengths = np.sqrt(np.maximum(squared, 0, out=squared), out=squared)
        lengths.sort(axis=1)
        lengths[:, :nearest] = search.distances(block, search.nearest_neighbors(block, nearest))
        for row, sorted_lengths in enumerate(lengths):
            within = int(np.searchsorted(sorted_lengths, np.float32(radii[row]), side="right"))
            yield Around(sorted_lengths, max(within, 1))


def exponential_shares(
    mechanism: Mechanism, epsilons: Sequence[float], ids: Ids, search: NeighborSearch
) -> tuple[Floats, Floats]:
    """Exact shares of santext or tem for each word, and the ranks of what they release.

    On an evenly spaced grid the weights of the next epsilon are those of the last times
    exp(-step d / 2).

    Args:
      mechanism: its own epsilon is replaced by those of the grid.
      epsilons: the grid, E values in increasing order.
      ids: int64 [B], words of the vocabulary.
      search: the vocabulary.

    Returns:
      float64 [B, E, 3], the probabilities of original, close and distant; and float64 [E, bins],
      those of the bins of ranks, added up over the words.
    """
    first = first_ranks(len(search.vocabulary))
    close_bins = int(np.searchsorted(first, CLOSE_RANK, side="right"))
    shares = np.empty((len(ids), len(epsilons), 3))
    ranks = np.zeros((len(epsilons), len(first)))
    for row, words in enumerate(around(ids, search)):
        starts = np.append(first[:close_bins], np.maximum(first[close_bins:], words.close))
        empty = np.diff(np.append(starts, len(words.lengths))) == 0
        starts = np.minimum(starts, len(words.lengths) - 1)
        for column, weights in enumerate(_weights(mechanism, epsilons, words.lengths)):
            masses = np.add.reduceat(weights, starts, dtype=np.float64)
            masses[empty] = 0
            masses /= masses.sum()
            ranks[column] += masses
            close = float(masses[1:close_bins].sum())
            shares[row, column] = masses[0], close, max(0.0, 1 - masses[0] - close)
    return shares, ranks


def expected_releases(
    mechanism: Mechanism, epsilons: Sequence[float], ids: Ids, repeats: int, search: NeighborSearch
) -> Iterator[tuple[Floats, Floats, Floats]]:
    """What this many releases of each word have in expectation, float64 [E] each.

    How often the word itself comes out, how many different words do, and how often its nearest
    neighbour does.
    """
    for words in around(ids, search):
        kept, distinct, nearest = np.empty((3, len(epsilons)))
        for column, weights in enumerate(_weights(mechanism, epsilons, words.lengths)):
            chances = weights / weights.sum(dtype=np.float64)
            kept[column], nearest[column] = repeats * chances[0], repeats * chances[1]
            with np.errstate(divide="ignore"):  # a word that is certain comes up in any case
                distinct[column] = -np.expm1(repeats * np.log1p(-chances)).sum()
        yield kept, distinct, nearest


def _weights(
    mechanism: Mechanism, epsilons: Sequence[float], lengths: Singles
) -> Iterator[Singles]:
    """exp(-epsilon min(d, gamma) / 2) for each epsilon; the arrays are overwritten."""
    for epsilon, weights in zip(epsilons, _uncapped(epsilons, lengths), strict=True):
        if isinstance(mechanism, TEM):
            gamma = replace(mechanism, epsilon=epsilon).gamma(len(lengths))
            yield np.maximum(weights, np.float32(np.exp(-epsilon * gamma / 2)))
        else:
            yield weights


def _uncapped(epsilons: Sequence[float], lengths: Singles) -> Iterator[Singles]:
    """exp(-epsilon d / 2) for each epsilon, by one multiplication each on an even grid."""
    steps = np.diff(epsilons)
    even = len(steps) > 1 and np.allclose(steps, steps[0], rtol=1e-9)
    weights = np.exp(np.float32(-epsilons[0] / 2) * lengths)
    factor = np.exp(np.float32(-steps[0] / 2) * lengths) if even else None
    for index, epsilon in enumerate(epsilons):
        if index and factor is not None:
            weights *= factor
        elif index:
            weights = np.exp(np.float32(-epsilon / 2) * lengths)
        yield weights
