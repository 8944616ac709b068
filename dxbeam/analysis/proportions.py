"""How often a word comes out as itself, as a near neighbour, or as a distant word.

The published remedy against the curse of dimensionality is judged by three shares: *original* (the
word itself), *close* (one of its 100 nearest neighbours) and *distant* (any other). Here they are
found for a mechanism, a grid of epsilon and any number of rank resampling's c at once:

- noise that epsilon only scales: one draw of noise per word answers every epsilon
  (every_epsilon.py);
- santext and tem: nothing is drawn, the probabilities are sums over one row of distances;
- any other mechanism: one released word per word and epsilon, by its own ``release``;
- rank resampling: the distribution given the mechanism's output is known, so its expectation is
  taken instead of a further draw (resampled_shares.py).

Shares are over the words that were given: *uniform over the vocabulary* and *by corpus frequency*
are different questions with different answers, so whoever asks says which it was.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import beta

from dxbeam.analysis import every_epsilon
from dxbeam.analysis.every_epsilon import Floats, Ids
from dxbeam.analysis.resampled_shares import resampled_shares
from dxbeam.mechanisms import Mechanism, ScalesNoise
from dxbeam.mechanisms.santext import SanText
from dxbeam.mechanisms.tem import TEM
from dxbeam.randomness import Random
from dxbeam.space.neighbors import CLOSE_RANK, NeighborSearch

CONFIDENCE = 0.95

_ORIGINAL, _CLOSE = 0, 1
_WORDS_PER_BLOCK = 64


class Shares(NamedTuple):
    """The three shares of one setting, each with its interval.

    Attributes:
      epsilon: of the mechanism.
      rank_c: of rank resampling; None for none.
      words: how many words they were measured on.
      original, close, distant: (share, low, high), float.
    """

    epsilon: float
    rank_c: float | None
    words: int
    original: tuple[float, float, float]
    close: tuple[float, float, float]
    distant: tuple[float, float, float]


class Sums(NamedTuple):
    """What is added up over words; sums over parts of the words can be added to one another.

    Attributes:
      words: how many.
      totals: float64 [1 + C, E, 3]: original, close and distant words, or the sums of their
        probabilities, without rank resampling and then with each c.
      squares: float64 [1 + C, E, 3]: the sums of the squared probabilities.
    """

    words: int
    totals: Floats
    squares: Floats

    def plus(self, other: Sums) -> Sums:
        """The sums over the words of both."""
        return Sums(
            self.words + other.words, self.totals + other.totals, self.squares + other.squares
        )


def measure(
    mechanism: Mechanism,
    epsilons: Sequence[float],
    rank_cs: Sequence[float],
    ids: Ids,
    random: Random,
    search: NeighborSearch,
    threads: int = 2,
) -> Sums:
    """Adds up what becomes of words at each epsilon, without rank resampling and with each c.

    Args:
      mechanism: its own epsilon is replaced by those of the grid.
      epsilons: the grid, E values in increasing order.
      rank_cs: C values of c above 0; empty for none.
      ids: int64 [B], words of the vocabulary.
      random: uint64 [B, draws or more], as for ``Mechanism.release``; every epsilon uses the same.
      search: the vocabulary, with its neighbour table.
      threads: blocks of words that are computed side by side.
    """
    shares = np.empty((1 + len(rank_cs), len(ids), len(epsilons), 3))
    exact = is_exact(mechanism)
    if exact:
        shares[0] = exponential_shares(mechanism, epsilons, ids, search)
    if rank_cs or not exact:
        released = released_words(mechanism, epsilons, ids, random, search, threads)
        if not exact:
            shares[0] = np.eye(3)[outcomes(ids, released, search)]
        grid = np.asarray(epsilons, np.float64)
        shares[1:] = resampled_shares(ids, released, grid, rank_cs, search)
    return Sums(len(ids), shares.sum(axis=1), np.square(shares).sum(axis=1))


def is_exact(mechanism: Mechanism) -> bool:
    """Whether the mechanism's own shares are computed, and not counted among draws."""
    return isinstance(mechanism, (SanText, TEM))


def shares_of(
    sums: Sums, mechanism: Mechanism, epsilons: Sequence[float], rank_cs: Sequence[float]
) -> list[Shares]:
    """Shares with intervals: Clopper-Pearson for counts, 1.96 standard errors for expectations."""
    made = []
    for row, c in enumerate((None, *rank_cs)):
        for column, epsilon in enumerate(epsilons):
            cells = zip(sums.totals[row, column], sums.squares[row, column], strict=True)
            counted = c is None and not is_exact(mechanism)
            made.append(
                Shares(
                    epsilon,
                    c,
                    sums.words,
                    *(
                        count_interval(round(total), sums.words)
                        if counted
                        else mean_interval(total, square, sums.words)
                        for total, square in cells
                    ),
                )
            )
    return made


def _at(mechanism: Any, epsilon: float) -> Any:
    """The same mechanism at another epsilon."""
    return replace(mechanism, epsilon=epsilon)


def released_words(
    mechanism: Mechanism,
    epsilons: Sequence[float],
    ids: Ids,
    random: Random,
    search: NeighborSearch,
    threads: int = 2,
) -> Ids:
    """A released word per word and epsilon, all epsilons from one draw: int64 [B, E]."""
    settings: list[Any] = [_at(mechanism, epsilon) for epsilon in epsilons]
    if isinstance(mechanism, ScalesNoise):
        scales = np.array([setting.noise_scale for setting in settings])
        order = np.argsort(scales)
        noise = mechanism.noise(random, search) / mechanism.noise_scale
        found = every_epsilon.released(
            mechanism.noise_starts(ids, search),
            noise,
            scales[order],
            every_epsilon.lines(search.vocabulary.vectors),
            threads,
        )
        return found[:, np.argsort(order)]
    return np.stack([setting.release(ids, random, search) for setting in settings], axis=1)


def outcomes(ids: Ids, released: Ids, search: NeighborSearch) -> Ids:
    """0 for original, 1 for close, 2 for distant: int64 [B, E] from [B] and [B, E]."""
    kinds = np.full(released.shape, 2)
    kinds[released == ids[:, None]] = _ORIGINAL
    rows, columns = np.nonzero(kinds)
    # A word comes out as the same few words at many epsilons: each pair is looked at once.
    pairs, inverse = np.unique(
        np.stack([ids[rows], released[rows, columns]]), axis=1, return_inverse=True
    )
    close = np.concatenate(
        [np.zeros(0, bool)]
        + [
            search.is_close(pairs[0, start : start + 4096], pairs[1, start : start + 4096])
            for start in range(0, pairs.shape[1], 4096)
        ]
    )
    kinds[rows, columns] = np.where(close[inverse.ravel()], _CLOSE, 2)
    return kinds


def exponential_shares(
    mechanism: Mechanism, epsilons: Sequence[float], ids: Ids, search: NeighborSearch
) -> Floats:
    """Exact shares of santext or tem for each word: float64 [B, E, 3].

    The weight of a word at distance d is exp(-epsilon min(d, gamma) / 2). On an evenly spaced grid
    the weights of the next epsilon are those of the last times exp(-step d / 2).
    """
    vectors = search.vocabulary.vectors
    squares = np.einsum("ij,ij->i", vectors, vectors)
    radii = search.close_radius(ids)
    shares = np.empty((len(ids), len(epsilons), 3))
    for start in range(0, len(ids), _WORDS_PER_BLOCK):
        rows = slice(start, start + _WORDS_PER_BLOCK)
        block = vectors[ids[rows]]
        squared = squares - 2 * (block @ vectors.T) + squares[ids[rows], None]
        distances = np.sqrt(np.maximum(squared, 0))
        for row, lengths in enumerate(distances):
            near = search.nearest_neighbors(
                ids[rows][row : row + 1], min(CLOSE_RANK + 1, len(vectors))
            )
            exact = search.distances(ids[rows][row : row + 1], near)[0]
            lengths[near[0]] = exact
            close = lengths <= np.float32(radii[start + row] * (1 + 1e-6))
            close[ids[start + row]] = False
            shares[start + row] = _of_weights(mechanism, epsilons, lengths, close, exact[0])
    return shares


def _of_weights(
    mechanism: Mechanism,
    epsilons: Sequence[float],
    lengths: every_epsilon.Singles,
    close: Any,
    own: float,
) -> Floats:
    made = np.empty((len(epsilons), 3))
    near = lengths[close].astype(np.float64)
    for index, (epsilon, weights) in enumerate(_weights(epsilons, lengths)):
        gamma = np.inf
        total = float(weights.sum(dtype=np.float64))
        if isinstance(mechanism, TEM):
            gamma = _at(mechanism, epsilon).gamma(len(lengths))
            far = lengths > gamma
            total += np.count_nonzero(far) * np.exp(-epsilon * gamma / 2)
            total -= float(weights[far].sum(dtype=np.float64))
        original = np.exp(-epsilon * min(own, gamma) / 2) / total
        beside = float(np.exp(-epsilon * np.minimum(near, gamma) / 2).sum()) / total
        made[index] = original, beside, max(0.0, 1 - original - beside)
    return made


def _weights(
    epsilons: Sequence[float], lengths: every_epsilon.Singles
) -> Iterator[tuple[float, every_epsilon.Singles]]:
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
        yield epsilon, weights


def count_interval(count: int, words: int) -> tuple[float, float, float]:
    """A share and its Clopper-Pearson interval at CONFIDENCE."""
    tail = (1 - CONFIDENCE) / 2
    low = beta.ppf(tail, count, words - count + 1) if count > 0 else 0.0
    high = beta.ppf(1 - tail, count + 1, words - count) if count < words else 1.0
    return count / words, float(low), float(high)


def mean_interval(total: float, squares: float, words: int) -> tuple[float, float, float]:
    """The mean of independent values between 0 and 1, and 1.96 standard errors on either side.

    Args:
      total: the sum of the values.
      squares: the sum of their squares.
      words: how many there are.
    """
    mean = float(total / words)
    variance = max(0.0, float(squares / words) - mean * mean) * words / max(1, words - 1)
    spread = 1.96 * math.sqrt(variance / words) if words > 1 else 1.0
    return mean, max(0.0, mean - spread), min(1.0, mean + spread)
