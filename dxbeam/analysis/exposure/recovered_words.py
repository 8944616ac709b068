"""The words that attackers recover of documents, as rows of a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dxbeam.analysis.attackers.context import share_right
from dxbeam.analysis.attackers.models.released_texts import Column
from dxbeam.analysis.attackers.models.with_model import GUESSES
from dxbeam.analysis.attackers.prior import Prior
from dxbeam.analysis.exposure.attack import Attack
from dxbeam.analysis.frontier.attackers_table import ATTACKERS, chance_of

READERS = {columns[0]: attacker for columns, attacker in ATTACKERS.items()}
"""By the name of a column: the attacker, what it sees and knows."""


def recovered(column: Column, rare: Any, chances: dict[str, Any]) -> Iterator[Attack]:
    """Of all words and of rare ones.

    Args:
      column: what an attacker read.
      rare: bool [N], which words of the vocabulary are rare.
      chances: what whoever sees no word gets, by the names of columns.
    """
    name, (_, originals, guesses) = column.name, column.read()
    for measure, which, suffix in (
        ("words recovered", np.ones(len(rare), bool), ""),
        ("rare words recovered", rare, "_rare"),
    ):
        words = sum(int(which[text].sum()) for text in originals)
        if words:
            share = share_right(originals, guesses, which)
            chance = chances[chance_of(name + suffix)].value
            yield Attack(*READERS[name], measure, *share, chance, words)


def recovered_of_classes(
    column: Column, classes: Sequence[dict[str, list[int]]], prior: Prior
) -> Iterator[Attack]:
    """Of the words of each class; chance guesses the commonest words of public text.

    Args:
      column: what an attacker read.
      classes: of each text, the places of the words of each class.
      prior: how frequent words are.
    """
    which, originals, guesses = column.read()
    count = next((k for k in GUESSES if column.name == f"masked_{k}"), 1)
    commonest = prior.best(count)
    for name in sorted({name for each in classes for name in each}):
        both = [
            (text[classes[number].get(name, [])], guess[classes[number].get(name, [])])
            for number, text, guess in zip(which, originals, guesses, strict=True)
        ]
        words = np.concatenate([text for text, _ in both]) if both else np.zeros(0, np.int64)
        if len(words):
            share = share_right([text for text, _ in both], [guess for _, guess in both])
            chance = float(np.isin(words, commonest).mean())
            yield Attack(*READERS[column.name], f"{name} recovered", *share, chance, len(words))
