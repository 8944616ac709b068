"""What the neighbour table needs of an exact search backend: bounds on scores, a block at a time.

The score of a word x for a query q is q.x - |x|^2 / 2, both relative to a point that the backend
chooses: the nearer the word, the larger its score. A backend computes scores in an arithmetic that
is fast, and knows by how much they may be wrong.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from dxbeam.space.search.backends.backend import Floats, Ids, SearchBackend

WORDS_PER_BLOCK = 2048  # measured: a tile's scores of a block stay in the cache

_FLOAT64_SLACK = 1e-12
ADDED = 1 + 2.0**-20
"""Times as wide are bounds that are added to scores in float32, for the roundings of that."""

Scores = npt.NDArray[np.float32]


class QueryTile(Protocol):
    """Some queries, prepared together."""

    def scores(
        self, block: int, out: Scores, errors: float = 1.0, plus: Floats | float = 0.0
    ) -> None:
        """The scores of a block of words, and ``errors`` times the bound on their error.

        The block has WORDS_PER_BLOCK words from ``block * WORDS_PER_BLOCK``, or what is left.
        ``out``, float32 [B, words], has upper bounds with ``errors`` = 1, lower bounds with -1.
        ``plus``, float64 [words], is added for each word; the bound leaves out how float32 rounds
        that.
        """
        ...

    def errors(self, block: int) -> Scores:
        """The bounds on the errors of a block of words, float32 [words of the block].

        They are a little wider, so that scores without errors and these, added in float32, are
        bounds; there is room for one more rounding of the scores in between.
        """
        ...

    def limits(self, distances: Floats) -> Scores:
        """The score of a word at such a distance, a little less: float64 [B] -> float32 [B]."""
        ...


class ScoreBounds(Protocol):
    """The words of a vocabulary, prepared for bounds on their scores."""

    def tile(self, queries: Floats) -> QueryTile | None:
        """Some queries, float64 [B, n]; None where they are too long for the arithmetic."""
        ...

    def among(self, ids: Ids) -> ScoreBounds:
        """The same of some words, int64 [m], which are then numbered by their place."""
        ...


class BoundingBackend(SearchBackend, Protocol):
    """A search backend that is exact, and tells the bounds that it rules words out by."""

    @property
    def bounds(self) -> ScoreBounds: ...  # noqa: D102


def score_limits(squares: Floats, distances: Floats) -> Scores:
    """As ``QueryTile.limits`` says, for queries of these squared lengths, float64 [B]."""
    apart = np.square(distances)
    limits = (squares - apart) / 2 - _FLOAT64_SLACK * (squares + apart)
    below: Scores = np.nextafter(limits.astype(np.float32), np.float32(-np.inf))
    return below
