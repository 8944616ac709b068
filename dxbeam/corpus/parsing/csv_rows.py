"""Rows of CSV and TSV as bytes and as fields, by RFC 4180.

A field is in double quotes where it holds a delimiter, a quote, which is doubled, or a line break.
Whether a line break ends a row depends on all quotes before it, so where rows start is found by
reading a file from its start, once. Elsewhere than at the start of a field a quote is a character
like any other, as for Python's csv module.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, NamedTuple

from dxbeam.errors import ConfigurationError, CorpusError

_START, _PLAIN, _QUOTED, _CLOSED = range(4)  # where in a field a character is


@dataclass(frozen=True)
class Dialect:
    """How rows are divided into fields.

    Attributes:
      delimiter: one ASCII character.
      quotes: whether double quotes enclose fields; otherwise they are characters like any other,
        and every line is a row.

    Raises:
      ConfigurationError: the delimiter is something else.
    """

    delimiter: str
    quotes: bool = True

    def __post_init__(self) -> None:
        character = self.delimiter
        if len(character) != 1 or not character.isascii() or character in '"\r\n\0':
            raise ConfigurationError(
                "`delimiter` is one ASCII character such as ';', or the word tab, and neither a "
                "quote nor a line break"
            )


class Row(NamedTuple):
    """A row as bytes.

    Attributes:
      line: the number in its file, from 1, of the line that it starts in.
      content: without its line end; None where it is too long.
      size: bytes, with its line end.
      lines: how many lines it has.
    """

    line: int
    content: bytes | None
    size: int
    lines: int


def rows(
    file: BinaryIO, dialect: Dialect, limit: int, line: int = 1, *, block: int = 1 << 20
) -> Iterator[Row]:
    """The rows of a file in UTF-8 from where it is, which is the start of a row.

    Rows longer than ``limit`` bytes are passed over without being held. ``line`` is the number of
    the line at which the file is, and ``block`` how many bytes are read at once at most.
    CorpusError: the file ends within quotes.
    """
    while (row := _next_row(file, dialect, limit, line, block)) is not None:
        yield row
        line += row.lines


def _next_row(file: BinaryIO, dialect: Dialect, limit: int, line: int, block: int) -> Row | None:
    delimiter, state = dialect.delimiter.encode(), _START
    parts, size, lines = [], 0, 0
    while part := file.readline(block):
        size += len(part)
        if size <= limit + 2:  # with its line end
            parts.append(part)
        if dialect.quotes:
            state = _state_after(part, state, delimiter)
        if part.endswith(b"\n"):
            lines += 1
            if state != _QUOTED:
                break
    if state == _QUOTED:
        raise CorpusError(
            f"the row that starts in line {line:,} opens a quote that is never closed; close it, "
            "or use `quotes` none if quotes enclose nothing in this file"
        )
    if not size:
        return None
    content = b"".join(parts).removesuffix(b"\n").removesuffix(b"\r")
    whole = size <= limit + 2 and len(content) <= limit
    return Row(line, content if whole else None, size, lines)


def _state_after(part: bytes, state: int, delimiter: bytes) -> int:
    """Where in a field a part of a row ends that starts in a field at ``state``."""
    if state != _QUOTED and b'"' not in part:
        return _START if part.endswith(delimiter) else _PLAIN
    at = 0
    while at < len(part):
        if state == _QUOTED:
            at = part.find(b'"', at) + 1
            if not at:
                return _QUOTED
            state = _CLOSED
        elif state != _PLAIN and part.startswith(b'"', at):
            state, at = _QUOTED, at + 1
        else:
            at = part.find(delimiter, at) + 1
            if not at:
                return _PLAIN
            state = _START
    return state


def fields(row: str, dialect: Dialect) -> list[str | None]:
    """The fields of a row; None for an empty one without quotes. ValueError quotes nothing."""
    if not dialect.quotes or '"' not in row:
        _refuse_carriage_return(row)
        return [field or None for field in row.split(dialect.delimiter)]
    divided: list[str | None] = []
    at = 0
    while True:
        if row.startswith('"', at):
            close = _closing_quote(row, at + 1)
            divided.append(row[at + 1 : close].replace('""', '"'))
            at = close + 1
            if at < len(row) and row[at] != dialect.delimiter:
                raise ValueError(
                    "there is text between a closing quote and the next delimiter; double every "
                    "quote within a quoted field"
                )
        else:
            end = row.find(dialect.delimiter, at)
            field = row[at:] if end < 0 else row[at:end]
            _refuse_carriage_return(field)
            divided.append(field or None)
            at = len(row) if end < 0 else end
        if at == len(row):
            return divided
        at += 1


def _closing_quote(row: str, at: int) -> int:
    while True:
        at = row.find('"', at)
        if at < 0:
            raise ValueError("a quote is not closed")
        if not row.startswith('"', at + 1):
            return at
        at += 2


def _refuse_carriage_return(text: str) -> None:
    if "\r" in text:
        raise ValueError("a carriage return is outside of quotes; put the field into quotes")


def as_row(values: list[str | None], delimiter: str) -> bytes:
    """A row without its line end, in UTF-8; the inverse of ``fields``."""
    return delimiter.join([_as_field(value, delimiter) for value in values]).encode()


def _as_field(value: str | None, delimiter: str) -> str:
    if value is None:
        return ""
    if value and not any(character in value for character in (delimiter, '"', "\r", "\n")):
        return value
    return '"' + value.replace('"', '""') + '"'
