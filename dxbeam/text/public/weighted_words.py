"""Public files of words with a number each: of importance, of a base measure."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from dxbeam import storage
from dxbeam.errors import ConfigurationError

Row = tuple[str, str, object]
"""Where it is, for messages; a word; and its number as it is written."""


def read_bytes(flag: str, source: str, named: Sequence[str]) -> bytes:
    """A file, local or gs://; refused where it cannot be read, naming what else the flag takes."""
    try:
        return storage.read(source)
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            f"`{flag}` {source}: cannot be read ({type(error).__name__}); give a file, or one "
            f"of {', '.join(named)}"
        ) from None


class Listed(NamedTuple):
    """Words of a file, each with its number, and the file's name and SHA-256."""

    numbers: dict[str, float]
    file: tuple[str, str]


def listed(
    flag: str, source: str, names: Sequence[str], kind: str, read: Callable[[object, str], float]
) -> Listed:
    """Words and numbers of a file, no word twice, and not all numbers 0; see ``weighted_words``.

    ``names`` may be named in place of a file, ``kind`` is what numbers are called, and ``read``
    makes one of what is written, and where. Errors name lines, never words.
    """
    content = read_bytes(flag, source, names)
    numbers: dict[str, float] = {}
    for where, word, number in weighted_words(flag, source, content):
        if word in numbers:
            raise ConfigurationError(f"{where}: this word has a {kind} already; remove one")
        numbers[word] = read(number, where)
    if not any(numbers.values()):
        raise ConfigurationError(f"`{flag}` {source}: holds no word with a {kind} above 0")
    return Listed(numbers, (source.rpartition("/")[2], hashlib.sha256(content).hexdigest()))


def weighted_words(flag: str, source: str, content: bytes) -> Iterator[Row]:
    """Words and numbers of a file's content, one after the other; errors name lines, never words.

    In UTF-8 a word, a tab and a number on each line; or with the columns ``word`` and ``weight``,
    .csv with a first line that names them, or .parquet.
    """
    where = f"`{flag}` {source}"
    if source.endswith(".parquet"):
        return _parquet(where, content)
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise ConfigurationError(f"{where}: this is not a text in UTF-8; save it as one") from None
    if source.endswith(".csv"):
        return _csv(where, text)
    lines = (line.rstrip("\r").split("\t") for line in text.split("\n"))
    return _tabbed(where, lines)


def _tabbed(where: str, lines: Iterable[list[str]]) -> Iterator[Row]:
    for number, line in enumerate(lines, start=1):
        if line == [""]:
            continue
        if len(line) != 2:
            raise ConfigurationError(f"{where}, line {number}: write a word, a tab and its weight")
        yield f"{where}, line {number}", line[0], line[1]


def _csv(where: str, text: str) -> Iterator[Row]:
    rows = csv.DictReader(io.StringIO(text))
    try:
        _check_columns(where, rows.fieldnames or ())
        for row in rows:
            yield _row(f"{where}, line {rows.line_num}", row["word"], row["weight"])
    except csv.Error:
        raise ConfigurationError(
            f"{where}, after line {rows.line_num}: invalid CSV; put quotes around words "
            "with commas, and double those within them"
        ) from None


def _row(where: str, word: object, weight: object) -> Row:
    if word is None:
        raise ConfigurationError(f"{where}: there is no word; give one, or remove this row")
    return where, str(word), weight


def _parquet(where: str, content: bytes) -> Iterator[Row]:
    try:
        table = pq.read_table(pa.BufferReader(content))
    except (pa.ArrowException, OSError) as error:
        raise ConfigurationError(f"{where}: not a Parquet file ({type(error).__name__})") from None
    _check_columns(where, table.column_names)
    words, weights = (table.column(name).to_pylist() for name in ("word", "weight"))
    for number, (word, weight) in enumerate(zip(words, weights, strict=True), start=1):
        yield _row(f"{where}, row {number}", word, weight)


def _check_columns(where: str, names: Iterable[str]) -> None:
    if not {"word", "weight"} <= set(names):
        raise ConfigurationError(
            f"{where}: needs the columns word and weight, named on its first line"
        )
