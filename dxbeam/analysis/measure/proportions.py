"""How often a word comes out as itself, as a near neighbour, or as a distant word.

The published remedy against the curse of dimensionality is judged by three shares: *original* (the
word itself), *close* (one of its 100 nearest neighbours) and *distant* (any other). Here they are
found for a mechanism, a grid of epsilon and any number of rank resampling's c at once:

- noise that epsilon only scales: one draw of noise per word answers every epsilon
  (every_epsilon.py);
- santext and tem: nothing is drawn, the probabilities are sums over one row of distances;
- any other mechanism: one released word per word and epsilon, by its own ``release``;
- settings that read with a language model: their own releases at each epsilon (read_words.py), from
  the same random numbers;
- rank resampling: the distribution given the mechanism's output is known, so its expectation is
  taken instead of a further draw (resampled_shares.py).

Shares are over the words that were given: *uniform over the vocabulary* and *by corpus frequency*
are different questions with different answers, so whoever asks says which it was.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from dxbeam.analysis.measure import every_epsilon, rank_histogram
from dxbeam.analysis.measure.every_epsilon import Floats, Ids
from dxbeam.analysis.measure.public_parameters import Reading
from dxbeam.analysis.measure.read_words import Texts, released_by_reading, words_by_themselves
from dxbeam.analysis.measure.resampled_shares import resampled_shares
from dxbeam.analysis.theory.exponential_shares import exponential_shares, is_exact
from dxbeam.analysis.theory.intervals import (
    CONFIDENCE,
    TextSums,
    count_interval,
    mean_interval,
    share_of_words_interval,
)
from dxbeam.mechanisms import Mechanism, ScalesNoise
from dxbeam.randomness import Random
from dxbeam.space.search.neighbors import NeighborSearch, is_known

_ORIGINAL, _CLOSE = 0, 1


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


class OfTexts(NamedTuple):
    """What is added up besides where words are those of whole texts.

    Attributes:
      texts: how many.
      products: float64 [1 + C, E, 3], sums over texts of what ``Sums.totals`` adds up, times words.
      word_squares: the sum of their words squared.
    """

    texts: int
    products: Floats
    word_squares: float

    def plus(self, other: OfTexts) -> OfTexts:
        """The sums over the texts of both."""
        return OfTexts(*map(operator.add, self, other))


class Sums(NamedTuple):
    """What is added up over words; sums over parts of the words can be added to one another.

    Attributes:
      words: how many, all in the vocabulary.
      totals: float64 [1 + C, E, 3]: original, close and distant words, or the sums of their
        probabilities, without rank resampling and then with each c.
      squares: float64 [1 + C, E, 3]: the sums of the squared probabilities; of texts, of their sums
        over a text squared.
      ranks: float64 [E, bins]: how many released words have a rank in each bin, without rank
        resampling (rank_histogram.py).
      counted: whether words are counted without rank resampling; otherwise probabilities are added.
      of_texts: of the texts that the words are in; None where words were drawn one by one.
    """

    words: int
    totals: Floats
    squares: Floats
    ranks: Floats
    counted: bool
    of_texts: OfTexts | None = None

    def plus(self, other: Sums) -> Sums:
        """The sums over the words of both."""
        of_texts = self.of_texts and other.of_texts and self.of_texts.plus(other.of_texts)
        words, totals, squares, ranks = map(operator.add, self[:4], other[:4])
        return Sums(words, totals, squares, ranks, self.counted, of_texts)


def measure(
    mechanism: Mechanism,
    epsilons: Sequence[float],
    rank_cs: Sequence[float],
    ids: Ids,
    random: Random,
    search: NeighborSearch,
    threads: int = 2,
    reading: Reading | None = None,
    texts: Texts | None = None,
) -> Sums:
    """Adds up what becomes of words at each epsilon, without rank resampling and with each c.

    Args:
      mechanism: its own epsilon is replaced by those of the grid.
      epsilons: the grid, E values in increasing order.
      rank_cs: C values of c above 0; empty for none.
      ids: int64 [B], words of the vocabulary; in texts UNKNOWN may be among them, which is read
        where words are read together, and counted nowhere.
      random: uint64 [B, draws or more], as for ``Mechanism.release``; every epsilon uses the same.
      search: the vocabulary.
      threads: blocks of words that are computed side by side.
      reading: what texts are read with, or None.
      texts: which words are read together, of texts that each have a word of the vocabulary; None
        for words that were drawn one by one.
    """
    known = is_known(ids)
    every, ids = ids, ids[known]
    shares = np.empty((1 + len(rank_cs), len(ids), len(epsilons), 3))
    exact = is_exact(mechanism) and reading is None
    if exact:
        shares[0], ranks = exponential_shares(mechanism, epsilons, ids, search)
    if rank_cs or not exact:
        if reading is None:
            released = released_words(mechanism, epsilons, ids, random[known], search, threads)
        else:
            released = read_words(
                mechanism, reading, epsilons, every, random, search, threads, texts
            )[known]
        if not exact:
            kinds = outcomes(ids, released, search)
            shares[0] = np.eye(3)[kinds]
            ranks = rank_histogram.histogram(ids, released, kinds, search, threads)
        grid = np.asarray(epsilons, np.float64)
        shares[1:] = resampled_shares(ids, released, grid, rank_cs, search)
    totals = shares.sum(axis=1)
    if texts is None or not len(texts.sizes):
        return Sums(len(ids), totals, np.square(shares).sum(axis=1), ranks, not exact)
    text_of = np.repeat(np.arange(len(texts.sizes)), texts.sizes)[known]
    sizes = np.bincount(text_of)
    sums = np.add.reduceat(shares, np.searchsorted(text_of, np.arange(len(sizes))), axis=1)
    products = (sums * sizes[:, None, None]).sum(axis=1)
    of_texts = OfTexts(len(sizes), products, float(np.square(sizes).sum()))
    return Sums(len(ids), totals, np.square(sums).sum(axis=1), ranks, not exact, of_texts)


def shares_of(
    sums: Sums,
    epsilons: Sequence[float],
    rank_cs: Sequence[float],
    confidence: float = CONFIDENCE,
) -> list[Shares]:
    """Shares, each with an interval that holds with the given confidence (intervals.py)."""
    shares = []
    for row, c in enumerate((None, *rank_cs)):
        for column, epsilon in enumerate(epsilons):
            cells = (_share(sums, (row, column, kind), confidence) for kind in range(3))
            shares.append(Shares(epsilon, c, sums.words, *cells))
    return shares


def _share(sums: Sums, cell: tuple[int, int, int], confidence: float) -> tuple[float, float, float]:
    """One share, and its interval."""
    total, square = float(sums.totals[cell]), float(sums.squares[cell])
    if sums.of_texts:
        texts, products, word_squares = sums.of_texts
        of_them = TextSums(texts, total, sums.words, square, float(products[cell]), word_squares)
        return share_of_words_interval(of_them, confidence)
    if sums.counted and cell[0] == 0:
        return count_interval(round(total), sums.words, confidence)
    return mean_interval(total, square, sums.words, confidence)


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
    sizes: every_epsilon.Sizes = every_epsilon.SIZES,
) -> Ids:
    """A released word per word and epsilon, all epsilons from one draw: int64 [B, E]."""
    settings: list[Any] = [_at(mechanism, epsilon) for epsilon in epsilons]
    if isinstance(mechanism, ScalesNoise):
        scales = np.array([setting.noise_scale for setting in settings])
        order = np.argsort(scales)
        noise = mechanism.noise(random, search) / mechanism.noise_scale
        released = every_epsilon.released(
            mechanism.noise_starts(ids, search),
            noise,
            scales[order],
            search.computed_once("lines", lambda words: every_epsilon.lines(words.vectors)),
            threads,
            sizes,
        )
        return released[:, np.argsort(order)]
    return np.stack([setting.release(ids, random, search) for setting in settings], axis=1)


def read_words(
    mechanism: Mechanism,
    reading: Reading,
    epsilons: Sequence[float],
    ids: Ids,
    random: Random,
    search: NeighborSearch,
    threads: int,
    texts: Texts | None,
) -> Ids:
    """As ``released_words``, read with a language model; without texts each word by itself."""
    numbers = random[:, : mechanism.draws(search.vocabulary.dimensions)]
    breaks = (texts or words_by_themselves(len(ids))).breaks
    return np.stack(
        [
            released_by_reading(
                _at(mechanism, epsilon), reading, ids, numbers, breaks, search, threads
            )
            for epsilon in epsilons
        ],
        axis=1,
    )


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
