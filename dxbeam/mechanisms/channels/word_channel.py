"""The channel of mechanisms that draw words: P(z | x) for drawn words z and originals x."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from dxbeam.mechanisms.public.word_distribution import WordDistribution, public_factors
from dxbeam.space.search.exact_arithmetic import log
from dxbeam.space.search.neighbors import Floats, Ids, NeighborSearch
from dxbeam.space.search.offset_scan import best_by_scan
from dxbeam.space.vocabulary.words import UNKNOWN, Vocabulary, distances

_WORDS_PER_BLOCK = 1024


class WordChannel(Protocol):
    """P(z | x), z drawn in place of x."""

    def likely(self, drawn: Ids, offsets: Floats, count: int) -> Ids:
        """The words of the largest offset(x) + ln P(z | x), and perhaps more: int64 [B, k].

        ``drawn`` is z, int64 [B]; ``offsets`` are by word, float64 [N]. Of those that may have
        become z there are at least ``count``, no word twice in a row; NOTHING where there are no
        more.
        """
        ...

    def logs(self, drawn: Ids, words: Ids) -> Floats:
        """Ln P(z | x): int64 [B], [B, k] (UNKNOWN for the unknown word) -> float64 [B, k].

        It is -inf where x never becomes z.
        """
        ...


class LogSums(NamedTuple):
    """What FallingChannel sums up of a distribution, for others to have without summing up.

    Attributes:
      distribution: of which.
      values: float64 [N + 1], ln Z of all words and last of the unknown one.
    """

    distribution: WordDistribution
    values: Floats

    def keep(self, search: NeighborSearch) -> None:
        """Spares channels in this search the sums."""
        search.computed_once(_key(self.distribution), lambda _: self.values)


def _key(distribution: WordDistribution) -> tuple[str, WordDistribution]:
    return ("log sums", distribution)


class FallingChannel:
    """The channel of WordDistribution over all words: of santext and tem.

        P(z | x) = exp(-rate min(d(x, z), cap)) / Z(x),

    times q(z) with a public base measure q, and where x is not z, times exp(-(rho(x) + rho(z)) / 2)
    with public weights rho.

    Z(x) sums over the whole vocabulary: N^2 / 2 distances by matrix products in float64, once per
    distribution, vocabulary and process (G33: about half a minute of a core).

    Args:
      distribution: what is drawn, with ``first`` 0.
      search: the vocabulary.
    """

    def __init__(self, distribution: WordDistribution, search: NeighborSearch):
        self._distribution, self._search = distribution, search
        self._log_sums: Floats = search.computed_once(
            _key(distribution), lambda _: log(self._sums())
        )
        public, none = public_factors(distribution, search), np.zeros(len(self._log_sums))
        self._log_factors = none if public is None else _log(public.factors)
        self._log_leaving = none if public is None else _log(public.leaving)
        self._log_staying = none[:-1] if public is None else _log(public.staying)

    @property
    def log_sums(self) -> LogSums:
        """The sums, to be handed on."""
        return LogSums(self._distribution, self._log_sums)

    def likely(self, drawn: Ids, offsets: Floats, count: int) -> Ids:
        """As ``WordChannel`` says: the best of all others, and z itself."""
        shifted = offsets - self._log_sums[:-1] + self._log_leaving[:-1]
        rate, cap = self._distribution.rate, self._distribution.cap
        best = best_by_scan(drawn, shifted, rate, cap, min(count, len(offsets)), self._search)
        return np.concatenate([best, drawn[:, None]], axis=1)

    def logs(self, drawn: Ids, words: Ids) -> Floats:
        """As ``WordChannel`` says."""
        apart = self._search.distances(drawn, np.maximum(words, 0))
        if (words == UNKNOWN).any():
            unknown = self._search.vocabulary.vectors_of(np.array([UNKNOWN]))[0]
            from_unknown = distances(self._search.vocabulary.vectors[drawn], unknown)
            apart = np.where(words == UNKNOWN, from_unknown[:, None], apart)
        result = -self._distribution.rate * np.minimum(apart, self._distribution.cap)
        weights = self._log_leaving[words] + self._log_factors[drawn][:, None]
        result += np.where(words == drawn[:, None], self._log_staying[drawn][:, None], weights)
        return np.asarray(result - self._log_sums[words])

    def _sums(self) -> Floats:
        """Z of all words and last of the unknown one, float64 [N + 1]."""
        search, distribution = self._search, self._distribution
        vocabulary = search.vocabulary
        public, ones = public_factors(distribution, search), np.ones(len(vocabulary) + 1)
        factors, leaving, staying = (
            (ones, ones, ones[:-1])
            if public is None
            else (public.factors, public.leaving, public.staying)
        )
        sums = np.zeros(len(vocabulary) + 1)
        unknown = vocabulary.vectors_of(np.array([UNKNOWN]))[0]
        starts = range(0, len(vocabulary), _WORDS_PER_BLOCK)
        blocks = [slice(start, start + _WORDS_PER_BLOCK) for start in starts]
        for place, rows in enumerate(blocks):
            near = distances(vocabulary.vectors[rows], unknown)
            sums[-1] += (self._weights(near) * factors[:-1][rows]).sum()
            for columns in blocks[place:]:
                weights = self._weights(_distances_between(vocabulary, rows, columns))
                if rows == columns:
                    np.fill_diagonal(weights, 0.0)
                else:
                    sums[:-1][columns] += factors[:-1][rows] @ weights
                sums[:-1][rows] += weights @ factors[:-1][columns]
        sums[:-1] = staying + leaving[:-1] * sums[:-1]  # a word itself is not lowered by weights
        return sums

    def _weights(self, apart: Floats) -> Floats:
        return self._distribution.weights(apart, 0.0)


def _log(factors: Floats) -> Floats:
    """Logarithms of factors, -inf for words that are never released."""
    some = factors > 0
    return np.where(some, log(np.where(some, factors, 1.0)), -np.inf)


def _distances_between(vocabulary: Vocabulary, rows: slice, columns: slice) -> Floats:
    """Distances between two blocks of words, float64 [a, b]."""
    first = vocabulary.vectors[rows].astype(np.float64)
    second = vocabulary.vectors[columns].astype(np.float64)
    if len(vocabulary) <= _WORDS_PER_BLOCK:  # so few are compared one by one
        return np.array([distances(vocabulary.vectors[columns], row) for row in first])
    # Taken relative to one of them, so that near words lose little to rounding.
    second -= first[0]
    first = first - first[0]
    squares = np.square(first).sum(axis=1)[:, None] + np.square(second).sum(axis=1)
    squares -= 2 * (first @ second.T)
    return np.asarray(np.sqrt(np.maximum(squares, 0.0, out=squares), out=squares))
