"""How often a word comes out as itself, as a near neighbour, or as a distant word.

The published remedy against the curse of dimensionality is judged by three shares: *original* (the
word itself), *close* (one of its 100 nearest neighbours) and *distant* (any other). Here they are
found for a mechanism, a grid of epsilon and any number of rank resampling's c at once:

- noise that epsilon only scales: one draw of noise per word answers every epsilon
  (every_epsilon.py);
- santext and tem: nothing is drawn, the probabilities are sums over one row of distances;
- any other mechanism: one released word per word and epsilon, by its own ``release``;
- rank resampling: the distribution given the mechanism's output x* is known, so its expectation is
  taken instead of a further draw. With q = exp(-epsilon c) and N words the neighbour of rank i
  around x* (0 is x* itself) is released with probability (1 - q) q^i / (1 - q^N).

Shares are over the words that were given: *uniform over the vocabulary* and *by corpus frequency*
are different questions with different answers, so whoever asks says which it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from dxbeam.analysis import every_epsilon, rank_histogram
from dxbeam.analysis.every_epsilon import Floats, Ids
from dxbeam.analysis.exponential_shares import exponential_shares, is_exact
from dxbeam.analysis.intervals import CONFIDENCE, count_interval, mean_interval
from dxbeam.mechanisms import Mechanism, ScalesNoise
from dxbeam.randomness import Random
from dxbeam.space.neighbors import CLOSE_RANK, NeighborSearch

LARGEST_ERROR = 1e-3
"""Shares with rank resampling are off by so much at most, apart from the sampling of words."""

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
      ranks: float64 [E, bins]: how many released words have a rank in each bin, without rank
        resampling (rank_histogram.py).
    """

    words: int
    totals: Floats
    squares: Floats
    ranks: Floats

    def plus(self, other: Sums) -> Sums:
        """The sums over the words of both."""
        return Sums(
            self.words + other.words,
            self.totals + other.totals,
            self.squares + other.squares,
            self.ranks + other.ranks,
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
        shares[0], ranks = exponential_shares(mechanism, epsilons, ids, search)
    if rank_cs or not exact:
        released = released_words(mechanism, epsilons, ids, random, search, threads)
        if not exact:
            kinds = outcomes(ids, released, search)
            shares[0] = np.eye(3)[kinds]
            ranks = rank_histogram.histogram(ids, released, kinds, search, threads)
        grid = np.asarray(epsilons, np.float64)
        shares[1:] = resampled_shares(ids, released, grid, rank_cs, search)
    return Sums(len(ids), shares.sum(axis=1), np.square(shares).sum(axis=1), ranks)


def shares_of(
    sums: Sums,
    mechanism: Mechanism,
    epsilons: Sequence[float],
    rank_cs: Sequence[float],
    confidence: float = CONFIDENCE,
) -> list[Shares]:
    """Shares, each with an interval that holds with the given confidence (intervals.py)."""
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
                        count_interval(round(total), sums.words, confidence)
                        if counted
                        else mean_interval(total, square, sums.words, confidence)
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


def resampled_shares(
    ids: Ids, released: Ids, epsilons: Floats, rank_cs: Sequence[float], search: NeighborSearch
) -> Floats:
    """What rank resampling makes of released words, in expectation: float64 [C, B, E, 3].

    The neighbour table answers where the ranks beyond it hold at most LARGEST_ERROR together;
    elsewhere all distances around the released word are sorted.

    Args:
      ids: int64 [B], the original words.
      released: int64 [B, E], what the mechanism released for them.
      epsilons: float64 [E].
      rank_cs: values of c, C of them.
      search: the vocabulary, with its neighbour table.
    """
    words = len(search.vocabulary)
    near = min(CLOSE_RANK, words - 1)
    table = search.vocabulary.neighbor_ids
    depth = 0 if table is None else table.shape[1]
    rates = np.asarray(rank_cs)[:, None] * epsilons  # [C, E]
    first = -np.expm1(-rates) / -np.expm1(-rates * words)  # the probability of rank 0
    stays = np.stack([first, first * _geometric(rates, near)], axis=-1)
    deep = (np.exp(-depth * rates) > LARGEST_ERROR).any(axis=0) & (depth < words - 1)
    groups = search.nearest_neighbors(ids, near + 1)
    shares = np.empty((len(rank_cs), *released.shape, 3))
    for start in range(0, len(ids), _WORDS_PER_BLOCK):
        block = slice(start, start + _WORDS_PER_BLOCK)
        ranks = _Ranks(search, depth, released[block][:, deep])
        for row in range(*block.indices(len(ids))):
            stayed = released[row] == ids[row]
            shares[:, row, stayed, :2] = stays[:, stayed]
            left = np.flatnonzero(~stayed)
            outputs, which = np.unique(released[row, left], return_inverse=True)
            found = ranks.of(groups[row], outputs)
            chances = np.exp(-rates[:, left, None] * found[which]) * first[:, left, None]
            shares[:, row, left, 0] = chances[..., 0]
            shares[:, row, left, 1] = chances[..., 1:].sum(axis=-1)
    shares[..., 2] = np.maximum(0, 1 - shares[..., 0] - shares[..., 1])
    return shares


def _geometric(rates: Floats, ranks: int) -> Floats:
    """The sum of exp(-rate i) over i = 1 … ranks."""
    return np.asarray(np.exp(-rates) * -np.expm1(-rates * ranks) / -np.expm1(-rates))


class _Ranks:
    """Ranks of the words of a group around released words.

    Args:
      search: the vocabulary.
      depth: how many neighbours its table has.
      deep: int64, released words around which ranks beyond the table count as well.
    """

    def __init__(self, search: NeighborSearch, depth: int, deep: Ids):
        self._search = search
        self._depth = depth
        self._place = np.full(len(search.vocabulary), -1, np.int32)  # in the group, or -1
        vectors = search.vocabulary.vectors
        self._deep = np.unique(deep)
        if len(self._deep):
            squares = search.computed_once(
                _Ranks, lambda _: np.einsum("ij,ij->i", vectors, vectors)
            )
            self._scores = squares - 2 * (vectors[self._deep] @ vectors.T)
            self._scores[np.arange(len(self._deep)), self._deep] = -np.inf

    def of(self, group: Ids, outputs: Ids) -> Floats:
        """float64 [U, 1 + k]: the rank of the group's first word, then those of k others.

        Which of the others stands where is of no interest. A rank is infinite where a word stands
        beyond the table, unless the output is one of those that are looked up in full.

        Args:
          group: int64 [G], distinct words.
          outputs: int64 [U], in increasing order.
        """
        self._place[group] = np.arange(len(group))
        places = self._place[self._search.nearest_neighbors(outputs, self._depth + 1)]
        self._place[group] = -1
        rows, columns = np.nonzero(places >= 0)
        ranks = np.full((len(outputs), len(group)), np.inf)
        ranks[rows, places[rows, columns]] = columns
        for row in np.flatnonzero(np.isin(outputs, self._deep)):
            scores = self._scores[np.searchsorted(self._deep, outputs[row])]
            # Equally far words share the lowest rank.
            ranks[row] = np.searchsorted(np.sort(scores), scores[group])
        widest = int(np.isfinite(ranks[:, 1:]).sum(axis=1).max(initial=0))
        return np.concatenate([ranks[:, :1], np.sort(ranks[:, 1:], axis=1)[:, :widest]], axis=1)
