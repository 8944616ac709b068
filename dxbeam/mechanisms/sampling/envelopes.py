"""The envelope of each word, which exponential_choice.py draws from, computed once per process.

A text repeats its words, and what is drawn around a word depends only on public vectors. So the
envelopes of the first distinct words are kept, some 1.6 KB each; those of further words are
computed whenever they are needed.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dxbeam.mechanisms.public.word_distribution import WordDistribution, public_factors
from dxbeam.space.search.neighbors import Floats, Ids, NeighborSearch

FAR = -1
"""Stands in an envelope for all words together."""

_NOT_KEPT = -1
_SHORT, _TEXTS = 512, 4


class Envelopes(NamedTuple):
    """What is nowhere below the distribution around each of K words.

    Attributes:
      near: int32 [K, k + 1], the first words around each, itself among them, and FAR, from the
        smallest weight to the largest.
      smallest: float64 [K], the distance of the nearest word that may be drawn, or that of the
        last of ``near``.
      bound: float64 [K], the weight by distance of the last of these words, which bounds those of
        all words beyond it; 0 if there are none.
      sums: float64 [K, k + 1], the weights of ``near`` added up, that of FAR being all words'
        together by their bound.
    """

    near: npt.NDArray[np.int32]
    smallest: Floats
    bound: Floats
    sums: Floats


def computed(
    words: Ids, count: int, distribution: WordDistribution, search: NeighborSearch
) -> Envelopes:
    """The envelopes of words, int64 [K], of k = ``count`` first words each; k is at most N.

    UNKNOWN stands for the unknown word's vector.
    """
    near, apart = _around(words, count, search)
    public = public_factors(distribution, search)
    excluded = near < distribution.first
    if public is not None:
        excluded |= public.staying[near] == 0
    smallest = np.where(excluded, apart[:, -1:], apart).min(axis=1)
    weights = distribution.weights(apart, smallest[:, None])
    weights[excluded] = 0.0
    bound = np.zeros(len(words))
    if count < len(search.vocabulary):
        bound = distribution.weights(apart[:, -1], smallest)
    near = np.column_stack([np.full(len(words), FAR), near[:, ::-1]])
    if public is None:
        together = (len(search.vocabulary) - distribution.first) * bound
        weights = np.column_stack([together, weights[:, ::-1]])
    else:
        weights = public.times_factors(weights[:, ::-1], words, near[:, 1:])
        together = public.sums[-1] * public.leaving[words] * bound
        weights = np.column_stack([together, weights])
        order = np.argsort(weights, axis=1, kind="stable")
        near = np.take_along_axis(near, order, axis=1)
        weights = np.take_along_axis(weights, order, axis=1)
    return Envelopes(near.astype(np.int32), smallest, bound, np.cumsum(weights, axis=1))


def _around(words: Ids, count: int, search: NeighborSearch) -> tuple[Ids, Floats]:
    """The words around each word and their distances, kept for the last few short texts.

    A page, a measurement or a search for a setting draws for the same words at many epsilons.
    """

    def around(numbers: bytes) -> tuple[Ids, Floats]:
        ids = np.frombuffer(numbers, np.int64)
        near = search.nearest_neighbors(ids, count)
        return near, search.distances(ids, near)

    if len(words) > _SHORT:
        return around(words.tobytes())
    kept = search.computed_once(("around", count), lambda _: lru_cache(_TEXTS)(around))
    return kept(words.tobytes())


class KeptEnvelopes:
    """Envelopes of k = ``count`` first words each, computed when a word first occurs.

    They are kept of ``most_words`` words at most. Threads may share them.
    """

    def __init__(
        self, count: int, distribution: WordDistribution, search: NeighborSearch, most_words: int
    ):
        self._count, self._distribution, self._search = count, distribution, search
        words = len(search.vocabulary)
        self._places = np.full(words + 1, _NOT_KEPT)  # the last one is that of UNKNOWN, -1
        room = min(words + 1, most_words)
        # Memory is taken as words occur: pages that nothing was written to take none.
        self._kept = Envelopes(
            np.empty((room, count + 1), np.int32),
            np.empty(room),
            np.empty(room),
            np.empty((room, count + 1)),
        )
        self._used = 0
        self._lock = threading.Lock()

    def parts(self, ids: Ids) -> Iterator[tuple[Ids, Envelopes, Ids]]:
        """The envelopes of words, int64 [B], in at most two parts: those that are kept, the others.

        Yields positions in ``ids``, int64 [P]; envelopes; and which of them is each word's, int64
        [P].
        """
        places = self._places[ids]
        if (places == _NOT_KEPT).any():
            with self._lock:
                self._keep(ids)
            places = self._places[ids]
        kept = np.flatnonzero(places != _NOT_KEPT)
        if len(kept):
            yield kept, self._kept, places[kept]
        others = np.flatnonzero(places == _NOT_KEPT)
        if len(others):
            words, rows = np.unique(ids[others], return_inverse=True)
            yield others, computed(words, self._count, self._distribution, self._search), rows

    def _keep(self, ids: Ids) -> None:
        missing = np.unique(ids[self._places[ids] == _NOT_KEPT])
        missing = missing[: len(self._kept.near) - self._used]
        new = computed(missing, self._count, self._distribution, self._search)
        start, self._used = self._used, self._used + len(missing)
        row = slice(start, self._used)
        self._kept.near[row], self._kept.smallest[row] = new.near, new.smallest
        self._kept.bound[row], self._kept.sums[row] = new.bound, new.sums
        self._places[missing] = np.arange(start, self._used)  # last: another thread may look
