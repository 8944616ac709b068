"""Mistakes that show among thousands of words, equal words or long vectors only.

A wrong choice is drawn by all N distances, with the distribution that the mistake leads to.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dxbeam.mechanisms.laplace import Laplace
from dxbeam.mechanisms.sampling.noise import uniform
from dxbeam.mechanisms.sampling.resampling import RankResampling
from dxbeam.mechanisms.santext import SanText
from dxbeam.space.search.backends.choose_backend import FLOAT32
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.space.vocabulary.words import UNKNOWN, Vocabulary, distances

Floats = Any
Ids = Any

AROUND, ROUNDS, TILE = 129, 64, 2048


@dataclass(frozen=True)
class Around:
    """A word that is released, and the vocabulary as it sees it.

    Attributes:
      word: its id.
      vectors: all words', float64 [N, n].
      vector: its own, float64 [n].
      apart: distances of all words, float64 [N].
      rate: at which weights fall with the distance.
    """

    word: int
    vectors: Floats
    vector: Floats
    apart: Floats
    rate: float

    @property
    def near(self) -> Ids:
        """The first words around it."""
        return np.argsort(self.apart, kind="stable")[:AROUND]

    @property
    def right(self) -> Floats:
        """The distribution wanted, up to a factor."""
        return np.exp(-self.rate * self.apart)

    @property
    def bound(self) -> float:
        """The weight of the farthest of the first words."""
        return float(np.exp(-self.rate * self.apart[self.near[-1]]))

    @property
    def outlasts(self) -> float:
        """The probability that all rounds end in rejection."""
        envelope = self.right[self.near].sum() + len(self.apart) * self.bound
        return float((1 - self.right.sum() / envelope) ** ROUNDS)


def _always_accepted(around: Around) -> Floats:
    return np.where(around.right < around.bound, around.bound, around.right)


def _nearest_alone(around: Around) -> Floats:
    weights = np.zeros(len(around.apart))
    weights[around.near] = around.right[around.near]
    return weights


def _original_in_the_end(around: Around) -> Floats:
    distribution = around.right / around.right.sum() * (1 - around.outlasts)
    if around.word != UNKNOWN:
        distribution[around.word] += around.outlasts
    return distribution


def _first_tile_alone(around: Around) -> Floats:
    weights = around.right.copy()
    beyond = np.setdiff1d(np.arange(TILE, len(weights)), around.near)
    weights[beyond] = 0.0
    return weights


def _equal_words_once(around: Around) -> Floats:
    weights = np.zeros(len(around.apart))
    first = np.unique(around.vectors, axis=0, return_index=True)[1]
    weights[first] = around.right[first]
    return weights


def _distances_by_squares(around: Around) -> Floats:
    squares = np.square(around.vectors).sum(axis=1) + np.square(around.vector).sum()
    squares -= 2 * around.vectors @ around.vector
    apart = np.sqrt(np.maximum(squares, 0.0))
    apart[around.near] = around.apart[around.near]
    last = np.exp(-around.rate * apart)
    right, outlasts = around.right, around.outlasts
    return right / right.sum() * (1 - outlasts) + last / last.sum() * outlasts


CHOICES: dict[str, Callable[[Around], Floats]] = {
    "no mistake": lambda around: around.right,
    "far words always accepted": _always_accepted,
    "nothing beyond the 129 nearest": _nearest_alone,
    "the original in the fallback": _original_in_the_end,
    "no far word beyond 2,048": _first_tile_alone,
    "equal words counted once": _equal_words_once,
    "distances of long vectors by squares": _distances_by_squares,
}
"""What becomes of the distribution of a word: its surroundings -> weights [N]."""


@dataclass(frozen=True)
class BrokenChoice(SanText):
    """SanText whose choice is changed by ``mistake``."""

    mistake: str = ""

    def release(self, ids: Ids, random: Any, search: NeighborSearch) -> Ids:
        vocabulary = search.vocabulary
        released = np.empty(len(ids), np.int64)
        for word in np.unique(ids):
            [vector] = vocabulary.vectors_of(np.array([word]))
            apart = distances(vocabulary.vectors, vector)
            doubles = vocabulary.vectors.astype(np.float64)
            around = Around(int(word), doubles, vector, apart, self.epsilon / 2)
            sums = np.cumsum(CHOICES[self.mistake](around))
            rows = np.flatnonzero(ids == word)
            place = np.searchsorted(sums, uniform(random[rows, 0]) * sums[-1])
            released[rows] = np.minimum(place, len(sums) - 1)
        return released


@dataclass(frozen=True)
class LaplaceForFewWords(Laplace):
    """Returns the original where the vocabulary has more than 1,000 words."""

    def release(self, ids: Ids, random: Any, search: NeighborSearch) -> Ids:
        released = super().release(ids, random, search)
        large = len(search.vocabulary) > 1000
        return np.where((ids != UNKNOWN) & large, ids, released)


MECHANISMS: dict[str, Any] = {
    **{
        f"santext: {name}": BrokenChoice(10.0, mistake=name)
        for name in CHOICES
        if name != "no mistake"
    },
    "laplace: the original among more than 1,000 words": LaplaceForFewWords(10.0),
}


# --- Searches. -----------------------------------------------------------------------------------


class SearchOfFewerWords(NeighborSearch):
    """Finds the nearest among the first words only, by one of its ways."""

    def concerns(self) -> bool:
        """Whether this way of searching is the broken one."""
        return True

    def words(self) -> int:
        """How many words it looks at."""
        return min(TILE, len(self.vocabulary))

    def _fewer(self) -> NeighborSearch:
        whole, words = self.vocabulary, self.words()
        return NeighborSearch(Vocabulary(whole.words[:words], whole.vectors[:words]))

    def nearest(self, queries: Floats) -> Ids:
        return self._fewer().nearest(queries) if self.concerns() else super().nearest(queries)

    def nearest_two(self, queries: Floats) -> tuple[Ids, Floats]:
        found = super().nearest_two(queries)
        return self._fewer().nearest_two(queries) if self.concerns() else found


class SearchWithoutTheLastTile(SearchOfFewerWords):
    """Looks at whole tiles only."""

    def words(self) -> int:
        words = len(self.vocabulary)
        return words if words < TILE else words // TILE * TILE


class Float32SearchWithoutTheLastTile(SearchWithoutTheLastTile):
    """The same where there are no integer products."""

    def concerns(self) -> bool:
        return self.exact_backend.name == FLOAT32 and self.vocabulary.index is None


class IndexOfFewerWords(SearchOfFewerWords):
    """An index that holds the first words only."""

    def concerns(self) -> bool:
        return self.vocabulary.index is not None


SEARCHES: dict[str, type[NeighborSearch]] = {
    "words beyond 2,048 ignored": SearchOfFewerWords,
    "the last tile ignored": SearchWithoutTheLastTile,
    "the last tile ignored in float32": Float32SearchWithoutTheLastTile,
    "words beyond 2,048 not in the index": IndexOfFewerWords,
}


@dataclass(frozen=True)
class ResamplingWithinTheTable(RankResampling):
    """Takes the last neighbour of the table for all that are further."""

    def resample(self, released: Ids, random: Any, epsilon: float, search: NeighborSearch) -> Ids:
        ranks = self.ranks(random, epsilon, len(search.vocabulary))
        table = search.vocabulary.neighbor_ids
        return search.neighbor(released, ranks if table is None else ranks.clip(0, table.shape[1]))


@dataclass(frozen=True)
class ResamplingAmongTheFirstTile(RankResampling):
    """Knows 2,048 words."""

    def resample(self, released: Ids, random: Any, epsilon: float, search: NeighborSearch) -> Ids:
        ranks = self.ranks(random, epsilon, min(TILE, len(search.vocabulary)))
        return search.neighbor(released, ranks)


RESAMPLINGS: dict[str, RankResampling] = {
    "ranks within the table alone": ResamplingWithinTheTable(0.002),
    "ranks below 2,048 alone": ResamplingAmongTheFirstTile(0.00002),
}
