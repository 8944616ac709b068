"""Importance by name or by file: public weights of words for santext and tem."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.parquet as pq

from dxbeam import storage
from dxbeam.errors import ConfigurationError, described
from dxbeam.mechanisms.importance import (
    FREQUENCY,
    FrequencyWeights,
    Importance,
    WordWeights,
    checked_weight,
)
from dxbeam.text.function_words import CLASSES, ENGLISH, FUNCTION_WORDS

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
      source: one of NAMED, alone or with its largest weight, as in "stop_words=5"; or a public
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
    try:
        content = storage.read(source)
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            f"`importance` {source}: cannot be read ({type(error).__name__}); give a file, or one "
            f"of {', '.join(NAMED)}"
        ) from None
    weights: dict[str, float] = {}
    for place, word, given in _rows(source, content):
        where = f"`importance` {source}, {place}"
        if word in weights:
            raise ConfigurationError(f"{where}: this word has a weight already; remove one")
        weights[word] = _weight(given, where)
    if not any(weights.values()):
        raise ConfigurationError(f"`importance` {source}: holds no word with a weight above 0")
    read_from = source.rpartition("/")[2], hashlib.sha256(content).hexdigest()
    return WordWeights(weights, FILE, read_from)


def _weight(given: object, where: str) -> float:
    try:
        return checked_weight(float(str(given)))
    except (ValueError, ConfigurationError) as error:
        said = str(error) if isinstance(error, ConfigurationError) else "the weight is no number"
        raise ConfigurationError(f"{where}: {said}") from None


def _rows(source: str, content: bytes) -> Iterator[tuple[str, str, object]]:
    """Where it stands, word and weight, one after the other."""
    if source.endswith(".parquet"):
        return _parquet(source, content)
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise ConfigurationError(
            f"`importance` {source}: this is not a text in UTF-8; save it as one"
        ) from None
    if source.endswith(".csv"):
        return _csv(source, text)
    lines = (line.rstrip("\r").split("\t") for line in text.split("\n"))
    return _tabbed(source, lines)


def _tabbed(source: str, lines: Iterable[list[str]]) -> Iterator[tuple[str, str, object]]:
    for number, line in enumerate(lines, start=1):
        if line == [""]:
            continue
        if len(line) != 2:
            raise ConfigurationError(
                f"`importance` {source}, line {number}: write a word, a tab and its weight"
            )
        yield f"line {number}", line[0], line[1]


def _csv(source: str, text: str) -> Iterator[tuple[str, str, object]]:
    rows = csv.DictReader(io.StringIO(text))
    _check_columns(source, rows.fieldnames or ())
    for row in rows:
        yield f"line {rows.line_num}", row["word"], row["weight"]


def _parquet(source: str, content: bytes) -> Iterator[tuple[str, str, object]]:
    try:
        table = pq.read_table(pa.BufferReader(content))
    except (pa.ArrowException, OSError) as error:
        raise ConfigurationError(
            f"`importance` {source}: is no Parquet file ({type(error).__name__})"
        ) from None
    _check_columns(source, table.column_names)
    words, weights = (table.column(name).to_pylist() for name in ("word", "weight"))
    for number, (word, weight) in enumerate(zip(words, weights, strict=True), start=1):
        yield f"row {number}", str(word), weight


def _check_columns(source: str, names: Iterable[str]) -> None:
    if not {"word", "weight"} <= set(names):
        raise ConfigurationError(
            f"`importance` {source}: needs the columns word and weight, named on its first line"
        )
