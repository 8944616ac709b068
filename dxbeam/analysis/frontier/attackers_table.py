"""What attackers get of documents, as one table: a row per setting, attacker and kind of words.

Chance is what whoever sees lengths and gaps only gets: it guesses the commonest word of public text
everywhere, or of rare words the commonest of these; of several guesses, the commonest few.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from dxbeam.analysis.attackers.context import share_right
from dxbeam.analysis.attackers.models.with_model import GUESSES
from dxbeam.analysis.attackers.prior import Prior
from dxbeam.analysis.evaluate.language_scores import RARE
from dxbeam.analysis.frontier.compute import Estimate, Point
from dxbeam.analysis.measure.tables import numbers, texts
from dxbeam.space.search.neighbors import Ids

ALL, RARE_WORDS = "all", "rare"
"""Which words are counted."""

NOTHING, MECHANISM = "nothing", "the setting, and which words follow which"
FREQUENT = "the setting, and how frequent words are"
TRAINED = "the same, and public text that it has released itself"
BROUGHT = "the same, and a language model"
MODEL_ONLY = "a language model"
AROUND = "released words around"
EXAMPLES = "a large language model, and a few pairs of public text"

ATTACKERS = {
    ("blind", "blind_rare"): (
        "guesses the commonest word", "lengths and gaps", "how frequent words are",
    ),
    ("believed", "unchanged_rare"): ("believes the release", "released words", NOTHING),
    ("single", "single_rare"): ("word by word", "released words", FREQUENT),
    ("context", "context_rare"): ("context", "released words", MECHANISM),
    ("learned", "learned_rare"): ("learned inversion", "released words", TRAINED),
    ("model", "model_rare"): ("with a language model", "released words", BROUGHT),
    ("masked_1", "masked_1_rare"): ("language model, 1 guess", AROUND, MODEL_ONLY),
    ("masked_5", "masked_5_rare"): ("language model, 5 guesses", AROUND, MODEL_ONLY),
    ("masked_10", "masked_10_rare"): ("language model, 10 guesses", AROUND, MODEL_ONLY),
    ("endpoint", "endpoint_rare"): ("asks an endpoint", "released words", EXAMPLES),
    ("noisy_single", "noisy_single_rare"): (
        "word by word", "what was drawn, not released", FREQUENT,
    ),
    ("noisy_context", "noisy_context_rare"): (
        "context", "what was drawn, not released", MECHANISM,
    ),
    ("noisy_learned", "noisy_learned_rare"): (
        "learned inversion", "noisy vectors, not released", TRAINED,
    ),
    ("noisy_model", "noisy_model_rare"): (
        "with a language model", "noisy vectors, not released", BROUGHT,
    ),
}  # fmt: skip
"""Columns of a point, of all words and of rare ones: the attacker, what it sees and knows."""

COLUMNS = pa.schema([
    *texts("mechanism", "parameters"), *numbers("rank_c", "epsilon"),
    *texts("attacker", "sees", "knows", "words"), *numbers("success", "low", "high", "chance"),
])  # fmt: skip
"""Of attackers.parquet."""


class Gained(NamedTuple):
    """A row.

    Attributes:
      point: of the frontier.
      attacker: what it does.
      sees: of the documents.
      knows: besides.
      words: which are counted.
      success: the share that it recovers.
      chance: the share that whoever sees no word gets.
    """

    point: Point
    attacker: str
    sees: str
    knows: str
    words: str
    success: Estimate
    chance: float

    def as_row(self) -> dict[str, Any]:
        """As a row of attackers.parquet."""
        point, estimate = self.point, self.success
        return {
            "mechanism": point.mechanism,
            "parameters": point.parameters,
            "rank_c": point.rank_c,
            "epsilon": point.epsilon,
            "attacker": self.attacker,
            "sees": self.sees,
            "knows": self.knows,
            "words": self.words,
            "success": estimate.value,
            "low": estimate.low,
            "high": estimate.high,
            "chance": self.chance,
        }


def gained(points: Sequence[Point]) -> Iterator[Gained]:
    """The rows of points whose documents were read with context."""
    for point in points:
        for words in (ALL, RARE_WORDS):
            for columns, attacker in ATTACKERS.items():
                column = columns[words == RARE_WORDS]
                estimate, chance = point.estimate(column), point.estimate(chance_of(column))
                if estimate is not None and chance is not None:
                    yield Gained(point, *attacker, words, estimate, chance.value)


def chance_of(column: str) -> str:
    """The column of what whoever sees no word gets with as many guesses."""
    guesses = next((f"_{count}" for count in (5, 10) if column.startswith(f"masked_{count}")), "")
    return f"blind{guesses}" + ("_rare" if column.endswith("_rare") else "")


def blind(texts: Sequence[Ids], prior: Prior) -> dict[str, Any]:
    """What whoever sees no word gets of texts, and of their rare words.

    Args:
      texts: int64 arrays of ids, none empty.
      prior: how frequent words are.
    """
    rare, estimates = prior.shares < RARE, {}
    any_rare = any(rare[text].any() for text in texts)
    for count in GUESSES:
        name = "blind" if count == 1 else f"blind_{count}"
        best = prior.best(count)
        estimates[name] = Estimate(*share_right(texts, _those_of(best, texts)))
        if any_rare:
            of_rare = np.argsort(-prior.shares * rare, kind="stable")[:count]
            share = share_right(texts, _those_of(of_rare, texts), rare)
            estimates[f"{name}_rare"] = Estimate(*share)
    return estimates


def _those_of(words: Ids, texts: Sequence[Ids]) -> list[Ids]:
    """Words of texts that are among some; -1 for all others."""
    return [np.where(np.isin(text, words), text, -1) for text in texts]
