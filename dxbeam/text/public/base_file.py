"""The base measure of santext and tem by name or by file."""

from __future__ import annotations

import math

from dxbeam.errors import ConfigurationError
from dxbeam.mechanisms.public.base_measure import FILE, BaseMeasure, FrequencyBase, ListedBase
from dxbeam.mechanisms.public.listed_words import FREQUENCY
from dxbeam.text.public.weighted_words import listed

NAMED = (FREQUENCY,)

_BUILT = {"model": "--language_model", "optimal": "--optimal"}
"""Names of measures that dxbeam build-base makes of a vocabulary, which takes time."""


def read_base(source: str, exponent: float = 1.0) -> BaseMeasure:
    """The base measure that ``source`` names.

    Args:
      source: one of NAMED; or a public file, local or gs://, in UTF-8: a word, a tab and a number
        on each line, such as how often it occurs in a public text; or with the columns ``word`` and
        ``weight``, .csv with a first line that names them, or .parquet. Words that it does not
        name are never released.
      exponent: tau.

    Raises:
      ConfigurationError: the file cannot be read, or holds no numbers; messages name its lines,
        never its words.
    """
    if source == FREQUENCY:
        return FrequencyBase(exponent)
    if source in _BUILT:
        raise ConfigurationError(
            f"`base` {source}: this measure is made once, by dxbeam build-base {_BUILT[source]}; "
            "give the file that it wrote"
        )
    words = listed("base", source, NAMED, "number", _number)
    return ListedBase(words.numbers, exponent, FILE, words.file)


def _number(value: object, where: str) -> float:
    try:
        number = float(str(value))
    except ValueError:
        number = math.nan
    if not 0 <= number < math.inf:
        raise ConfigurationError(f"{where}: a finite number of 0 or more is needed")
    return number
