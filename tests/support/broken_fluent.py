"""Copies of ``fluent`` with one mistake each: targets of the audit."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from dxbeam.language.model import language_model_of
from dxbeam.mechanisms.fluent import Fluent
from dxbeam.mechanisms.sampling.fluent_choice import AllWords
from dxbeam.mechanisms.sampling.near_words import NearWords
from dxbeam.mechanisms.sampling.released_before import STARTS, known_word
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.space.vocabulary.words import UNKNOWN

Ids = Any


def _released(made: Fluent, *arguments: Any) -> Ids:
    """What the mechanism without a mistake releases."""
    return Fluent(made.epsilon, made.gamma, made.model).release_in_order(*arguments)


@dataclass(frozen=True)
class RawPrefix(Fluent):
    """Reads the original words before a word."""

    def release_in_order(self, ids: Ids, random: Any, search: NeighborSearch, places: Ids) -> Ids:
        before = np.where(places >= 0, known_word(ids)[np.maximum(places, 0)], places)
        return _released(self, ids, random, search, before)


@dataclass(frozen=True)
class RawLookahead(Fluent):
    """Reads the original word after a word."""

    def release_in_order(self, ids: Ids, random: Any, search: NeighborSearch, places: Ids) -> Ids:
        after = places.copy()
        after[:-1, 1] = known_word(ids[1:])
        after[:, 0] = UNKNOWN
        return _released(self, ids, random, search, after)


@dataclass(frozen=True)
class ModelOfTheText(Fluent):
    """Reads a model that is made of the text."""

    def release_in_order(self, ids: Ids, random: Any, search: NeighborSearch, places: Ids) -> Ids:
        model = language_model_of([ids], search.vocabulary)
        made = Fluent(self.epsilon, self.gamma, model=model)  # type: ignore[arg-type]
        return made.release_in_order(ids, random, search, places)


@dataclass(frozen=True)
class PrefixOfAnother(Fluent):
    """Reads on from the sentence before, whosever it is."""

    def release_in_order(self, ids: Ids, random: Any, search: NeighborSearch, places: Ids) -> Ids:
        released = _released(self, ids, random, search, places)
        on, starts = places.copy(), np.flatnonzero(places[1:, 1] == STARTS) + 1
        on[starts, 1] = known_word(released[starts - 1])
        return _released(self, ids, random, search, on)


@dataclass(frozen=True)
class HalfForgotten(Fluent):
    """Weights fall by epsilon where they should fall by half of it."""

    def release_in_order(self, ids: Ids, *arguments: Any) -> Ids:
        doubled = Fluent(2 * self.epsilon, self.gamma, self.model)
        return doubled.release_in_order(ids, *arguments)


class _FarAsNear(NearWords):
    """Far words count as if they were at no distance."""

    def of(self, ids: Ids) -> Any:
        near = super().of(ids)
        return near._replace(far=np.ones_like(near.far))


@dataclass(frozen=True)
class GammaForgotten(Fluent):
    """Sums up far words as if they were at no distance."""

    def prepared(self, search: NeighborSearch) -> tuple[AllWords, NearWords]:
        every, _ = super().prepared(search)
        shares = np.asarray(every.model.continuation[: every.model.words])
        return every, _FarAsNear(self.epsilon / 2, self.gamma, shares, search)


@dataclass(frozen=True)
class ModelForgotten(Fluent):
    """Reads no model."""

    def release_in_order(self, ids: Ids, *arguments: Any) -> Ids:
        return dataclasses.replace(Fluent(self.epsilon, self.gamma)).release_in_order(
            ids, *arguments
        )


MECHANISMS: dict[str, type[Fluent]] = {
    "the raw words before": RawPrefix,
    "the raw word after": RawLookahead,
    "a model of the text": ModelOfTheText,
    "words of another sentence": PrefixOfAnother,
    "half forgotten": HalfForgotten,
    "gamma forgotten": GammaForgotten,
    "no model": ModelForgotten,
}
"""Mistakes, by name."""
