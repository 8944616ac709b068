"""The base measure of santext and tem by name or by file."""

from __future__ import annotations

import hashlib
import math

from dxbeam.errors import ConfigurationError
from dxbeam.mechanisms.public.base_measure import (
    FILE,
    FREQUENCY,
    BaseMeasure,
    FrequencyBase,
    ListedBase,
)
from dxbeam.text.public.weighted_words import read_bytes, weighted_words

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
    content = read_bytes("base", source, NAMED)
    shares: dict[str, float] = {}
    for where, word, weight in weighted_words("base", source, content):
        if word in shares:
            raise ConfigurationError(f"{where}: this word is listed already; remove one")
        shares[word] = _number(weight, where)
    if not any(shares.values()):
        raise ConfigurationError(f"`base` {source}: holds no word with a number above 0")
    read_from = source.rpartition("/")[2], hashlib.sha256(content).hexdigest()
    return ListedBase(shares, exponent, FILE, read_from)


def _number(value: object, where: str) -> float:
    try:
        number = float(str(value))
    except ValueError:
        number = math.nan
    if not 0 <= number < math.inf:
        raise ConfigurationError(f"{where}: a finite number of 0 or more is needed")
    return number
