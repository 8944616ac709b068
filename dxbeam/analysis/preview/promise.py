"""What each epsilon promises for words of this vocabulary, in numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from dxbeam.analysis.preview.epsilons import at
from dxbeam.mechanisms import Mechanism
from dxbeam.release.context import FARTHEST, exponent_at, in_context
from dxbeam.space.search.neighbors import NeighborSearch

_PROPORTIONAL = 1e-9


class Promise(NamedTuple):
    """The likelihood ratio of two words, for a grid of epsilons.

    Attributes:
      pair: which two words, in words.
      distance: theirs.
      exponents: of e, at each epsilon of the grid; None where nothing is promised.
      per_epsilon: the exponent divided by epsilon, where that is the same at all of them.
      delta: the largest additive slack.
    """

    pair: str
    distance: float
    exponents: list[float | None]
    per_epsilon: float | None
    delta: float


def promises(mechanism: Mechanism, grid: Sequence[float], search: NeighborSearch) -> list[Promise]:
    """For a word and its nearest one, and for two typical words; [] if not Euclidean."""
    words, result = len(search.vocabulary), []
    guarantees = [at(mechanism, epsilon).guarantee() for epsilon in grid]
    if guarantees[0].euclidean_epsilon is None:
        return []
    # Distances are those of all words that a guarantee covers, so most mechanisms share them.
    key = "pairs in context", guarantees[0].first_covered(words)
    for pair in search.computed_once(key, lambda _: in_context(guarantees[0], search)):
        if pair.words == FARTHEST or (pair.rank or 1) != 1:
            continue
        exponents = [exponent_at(each, pair.distance, words) for each in guarantees]
        name = "any two typical words" if pair.rank is None else "a word and its nearest one"
        deltas = [each.one_word(words)[1] for each in guarantees]
        slope = _proportional(exponents, grid)
        result.append(Promise(name, pair.distance, exponents, slope, max(deltas)))
    return result


def _proportional(exponents: Sequence[float | None], grid: Sequence[float]) -> float | None:
    ratios: list[Any] = [
        None if exponent is None else exponent / epsilon
        for exponent, epsilon in zip(exponents, grid, strict=True)
    ]
    if None in ratios or max(ratios) - min(ratios) > _PROPORTIONAL * max(ratios):
        return None
    return float(max(ratios))
