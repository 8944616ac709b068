"""What becomes of single words that are released again and again.

N_w is how often a word comes out as itself in R releases, S_w how many different words it comes out
as (Feyisetan et al.: Privacy- and utility-preserving textual analysis via calibrated multivariate
perturbations, 2020, section 4). The epsilon of a word's transition is that from which it
comes out as itself in half of its releases.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dxbeam.analysis.measure.every_epsilon import Floats, Ids
from dxbeam.analysis.measure.proportions import read_words, released_words
from dxbeam.analysis.measure.public_parameters import Reading
from dxbeam.analysis.theory.exponential_shares import expected_releases, is_exact
from dxbeam.mechanisms import Mechanism
from dxbeam.randomness import Random
from dxbeam.space.search.neighbors import NeighborSearch


class Repeated(NamedTuple):
    """A word that was released R times at each of E epsilons; counts may be expected ones.

    Attributes:
      id: of the word.
      word: as the vocabulary spells it.
      repeats: R.
      unchanged: float64 [E], N_w.
      distinct: float64 [E], S_w.
      nearest: float64 [E], how often its nearest neighbour came out.
    """

    id: int
    word: str
    repeats: int
    unchanged: Floats
    distinct: Floats
    nearest: Floats


def repeat(
    mechanism: Mechanism,
    epsilons: Sequence[float],
    ids: Ids,
    repeats: int,
    random: Random,
    search: NeighborSearch,
    threads: int = 2,
    reading: Reading | None = None,
) -> list[Repeated]:
    """Releases words again and again.

    Args:
      mechanism: its own epsilon is replaced by those of the grid.
      epsilons: the grid, E values in increasing order.
      ids: int64 [B], words of the vocabulary.
      repeats: R.
      random: uint64 [B * R, draws or more]; every epsilon uses the same. Of no use to santext and
        tem, for which expected counts are computed.
      search: the vocabulary.
      threads: blocks of words that are computed side by side.
      reading: what words are read with, each by itself; or None.
    """
    if reading is None and is_exact(mechanism):
        expected = expected_releases(mechanism, epsilons, ids, repeats, search)
        return [
            Repeated(int(word), search.vocabulary.words[word], repeats, *counts)
            for word, counts in zip(ids, expected, strict=True)
        ]
    every = np.repeat(ids, repeats)
    if reading is None:
        released = released_words(mechanism, epsilons, every, random, search, threads)
    else:
        released = read_words(mechanism, reading, epsilons, every, random, search, threads, None)
    nearest = search.nearest_neighbors(ids, min(2, len(search.vocabulary)))[:, -1]
    results = []
    for word, other, outputs in zip(
        ids, nearest, released.reshape(len(ids), repeats, -1), strict=True
    ):
        ordered = np.sort(outputs, axis=0)
        results.append(
            Repeated(
                int(word),
                search.vocabulary.words[word],
                repeats,
                (outputs == word).sum(axis=0, dtype=np.float64),
                1.0 + (ordered[1:] != ordered[:-1]).sum(axis=0),
                (outputs == other).sum(axis=0, dtype=np.float64),
            )
        )
    return results


def transition(epsilons: Sequence[float], unchanged: Floats, repeats: int) -> float | None:
    """The epsilon from which a word comes out as itself in half of its releases.

    Args:
      epsilons: the grid, in increasing order.
      unchanged: float64 [E], N_w.
      repeats: R.

    Returns:
      interpolated between two points of the grid; None where it is outside.
    """
    shares = unchanged / repeats
    below = np.flatnonzero(shares < 0.5)
    last = int(below[-1]) if len(below) else -1
    if last in (-1, len(shares) - 1):
        return None
    low, high = shares[last], shares[last + 1]
    way = (0.5 - low) / (high - low)
    return float(epsilons[last] + way * (epsilons[last + 1] - epsilons[last]))
