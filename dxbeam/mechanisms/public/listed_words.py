"""Public lists of words with a number each: what weights of importance and base measures share."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from dxbeam.errors import ConfigurationError, check_type
from dxbeam.space.search.neighbors import Floats, Ids
from dxbeam.space.vocabulary.words import UNKNOWN, Vocabulary

MOST_WORDS = 1 << 18
"""Lists travel with the job, some 100 bytes a word."""

FREQUENCY = "frequency"
"""The kind of numbers that follow from the vocabulary's order, so that no list is needed."""


def number_of(value: object) -> float:
    """A number that may come as text; NaN for anything else."""
    try:
        return math.nan if isinstance(value, bool) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return math.nan


class WordList(NamedTuple):
    """What errors say of a kind of list; {words} is how many.

    Attributes:
      meaning: what a list should be.
      none_above_0: that no word has a number above 0.
      too_many: that there are more than MOST_WORDS.
      none_known: that none of the words is in the vocabulary.
    """

    meaning: str
    none_above_0: str
    too_many: str
    none_known: str


def kept_words(
    listed: Mapping[str, float], checked: Callable[[float], float], says: WordList
) -> tuple[dict[str, float], str]:
    """The words with a number above 0, in their order, and the SHA-256 of both.

    ``checked`` makes a number a float, or refuses it.
    """
    check_type(listed, Mapping, says.meaning)
    numbers = {word: checked(number) for word, number in listed.items()}
    kept = {word: numbers[word] for word in sorted(numbers) if numbers[word]}
    if not kept:
        raise ConfigurationError(says.none_above_0)
    if len(kept) > MOST_WORDS:
        raise ConfigurationError(says.too_many.format(words=len(kept)))
    content = json.dumps(list(kept.items()), separators=(",", ":")).encode()
    return kept, hashlib.sha256(content).hexdigest()


def known_words(
    listed: Mapping[str, float], vocabulary: Vocabulary, says: WordList
) -> tuple[Ids, Floats]:
    """The ids of listed words that the vocabulary has, int64 [k], and their numbers, float64 [k].

    Refused where it has none of them.
    """
    ids = vocabulary.ids_of(listed)
    known = ids != UNKNOWN
    if not known.any():
        raise ConfigurationError(says.none_known.format(words=len(ids)))
    return ids[known], np.fromiter(listed.values(), float)[known]
