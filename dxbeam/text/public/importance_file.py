"""Importance by name or by file: public weights of words for santext and tem."""

from __future__ import annotations

from dxbeam.errors import ConfigurationError, check_type
from dxbeam.mechanisms.public.importance import (
    FrequencyWeights,
    Importance,
    WordWeights,
    checked_weight,
)
from dxbeam.mechanisms.public.listed_words import FREQUENCY
from dxbeam.text.public.function_words import CLASSES, ENGLISH, FUNCTION_WORDS
from dxbeam.text.public.weighted_words import listed

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
    check_type(source, str, "`importance` is the name of a file or a list")
    name, _, largest = source.partition("=")
    if name in NAMED:
        weight = _weight(largest, f"`importance` {source}") if largest else USUAL_WEIGHT
        if name == FREQUENCY:
            return FrequencyWeights(weight)
        return WordWeights(dict.fromkeys(LISTS[name], weight), name)
    words = listed("importance", source, NAMED, "weight", _weight)
    return WordWeights(words.numbers, FILE, words.file)


def _weight(value: object, where: str) -> float:
    try:
        return checked_weight(float(str(value)))
    except (ValueError, ConfigurationError) as error:
        said = str(error) if isinstance(error, ConfigurationError) else "the weight is no number"
        raise ConfigurationError(f"{where}: {said}") from None
