"""Importance by name or by file: public weights of words for santext and tem."""

from __future__ import annotations

import hashlib

from dxbeam.errors import ConfigurationError, described
from dxbeam.mechanisms.public.importance import (
    FREQUENCY,
    FrequencyWeights,
    Importance,
    WordWeights,
    checked_weight,
)
from dxbeam.text.public.function_words import CLASSES, ENGLISH, FUNCTION_WORDS
from dxbeam.text.public.weighted_words import read_bytes, weighted_words

FILE = "file"
"""The kind of weights that were read from a file."""

LISTS = {"stop_words": ENGLISH, "function_words": FUNCTION_WORDS, **CLASSES}
"""Lists that come with dxbeam, by name."""

NAMED = (FREQUENCY, *LISTS)

USUAL_WEIGHT = 10.0
"""The largest weight of a named importance where none is given."""


def read_importance(source: str) -> Importance:
    """The weights that ``source`` names.

    Args:
      source: one of NAMED, by itself or with its largest weight, as in "stop_words=5"; or a public
        file, local or gs://, in UTF-8: a word, a tab and a weight on each line; or with the columns
        ``word`` and ``weight``, .csv with a first line that names them, or .parquet. Words that it
        does not name have no weight.

    Raises:
      ConfigurationError: the file cannot be read, or holds no weights; messages name its lines,
        never its words.
    """
    if not isinstance(source, str):
        raise ConfigurationError(
            f"`importance` is the name of a file or a list, and this is {described(source)}"
        )
    name, _, largest = source.partition("=")
    if name in NAMED:
        weight = _weight(largest, f"`importance` {source}") if largest else USUAL_WEIGHT
        if name == FREQUENCY:
            return FrequencyWeights(weight)
        return WordWeights(dict.fromkeys(LISTS[name], weight), name)
    content = read_bytes("importance", source, NAMED)
    weights: dict[str, float] = {}
    for where, word, number in weighted_words("importance", source, content):
        if word in weights:
            raise ConfigurationError(f"{where}: this word has a weight already; remove one")
        weights[word] = _weight(number, where)
    if not any(weights.values()):
        raise ConfigurationError(f"`importance` {source}: holds no word with a weight above 0")
    read_from = source.rpartition("/")[2], hashlib.sha256(content).hexdigest()
    return WordWeights(weights, FILE, read_from)


def _weight(value: object, where: str) -> float:
    try:
        return checked_weight(float(str(value)))
    except (ValueError, ConfigurationError) as error:
        said = str(error) if isinstance(error, ConfigurationError) else "the weight is no number"
        raise ConfigurationError(f"{where}: {said}") from None
