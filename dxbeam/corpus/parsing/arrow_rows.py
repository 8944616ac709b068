"""Rows of Arrow, of a Parquet file or a table -> documents, or why they are rejected.

Dates, timestamps and decimals travel as text, dates as ISO 8601, and become again what they were.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from dxbeam.corpus.parsing.records import document_of, id_of
from dxbeam.corpus.settings import ReadSettings
from dxbeam.documents import Document, Rejected, position_id

KEPT = "strings, numbers, booleans, dates and timestamps"
"""What can be kept, for sentences."""

INVALID = "a string of the row is not valid UTF-8"

_UUID = "extension<arrow.uuid>"

Row = dict[str, Any] | None
"""The values of a row by the names of their columns; None where a string is not valid UTF-8."""


def documents(
    rows: Iterable[tuple[int, Row]], name: str, settings: ReadSettings
) -> Iterator[tuple[str, Document | Rejected]]:
    """``NAME:NUMBER`` and document of each row of a file or table."""
    for number, row in rows:
        where = position_id(name, number)
        yield where, document(row, where, settings)


def document(row: Row, where: str, settings: ReadSettings) -> Document | Rejected:
    """The document of a row, whose id is where it is if it has none."""
    if row is None:
        return Rejected(where, INVALID)
    text = row[settings.text_field]
    if isinstance(text, str) and len(text) > settings.largest_document:
        return Rejected(where, f"the text is longer than {settings.largest_document:,} bytes")
    return document_of(row, where, settings)


def ids(rows: Iterable[tuple[int, Row]], name: str, settings: ReadSettings) -> Iterator[str]:
    """The ids of all rows that have a usable one."""
    for number, row in rows:
        if row is not None:
            own_id = id_of(row, position_id(name, number), settings)
            if own_id is not None:
                yield own_id


def numbered_rows(batches: Iterable[pa.RecordBatch], first: int) -> Iterator[tuple[int, Row]]:
    """Number, from ``first``, and values of each row, with values as JSON knows them."""
    number = first
    for batch in batches:
        columns = dict(zip(batch.schema.names, map(_as_json, batch.columns), strict=True))
        for index in range(batch.num_rows):
            row: Row
            try:
                row = {name: column[index].as_py() for name, column in columns.items()}
            except UnicodeDecodeError:
                row = None
            yield number, row
            number += 1


def _as_json(column: pa.Array) -> pa.Array:
    """Dates and timestamps of a column as ISO 8601, decimals in digits; others as they are."""
    kind = column.type
    if pa.types.is_timestamp(kind):
        return pc.strftime(column, format="%Y-%m-%dT%H:%M:%S" + ("%z" if kind.tz else ""))
    if str(kind) == _UUID:
        return pa.array([None if value is None else str(value) for value in column.to_pylist()])
    as_text = pa.types.is_date(kind) or pa.types.is_decimal(kind)
    return column.cast(pa.string()) if as_text else column


def wrong_schema(
    schema: pa.Schema, settings: ReadSettings, kind: str = "Parquet", whole: str = "file"
) -> str | None:
    """Why columns of this schema do not fit the settings, or None if they do.

    For the message, ``kind`` names what has the schema, and ``whole`` says what that is.
    """
    for column in settings.needed_fields:
        if column not in schema.names:
            return f"the {kind} {whole} has no column {column!r}"
    for column in (settings.id_field, *settings.needed_fields):
        if schema.names.count(column) > 1:
            return f"the {kind} {whole} has several columns {column!r}"
    for column in settings.keep_fields:
        if not _can_be_kept(schema.field(column).type):
            return (
                f"the {kind} column {column!r} holds {schema.field(column).type}, which cannot be "
                f"kept; {KEPT} can"
            )
    holds = schema.field(settings.text_field).type
    if settings.vector_dimensions:
        if not _is_numbers(holds):
            return f"the {kind} column {settings.text_field!r} holds {holds}, not lists of numbers"
        return None
    if not _is_string(holds):
        return f"the {kind} column {settings.text_field!r} holds {holds}, not strings"
    return None


def _can_be_kept(kind: pa.DataType) -> bool:
    scalar = ("null", "boolean", "integer", "floating", "decimal", "date", "timestamp")
    return _is_string(kind) or any(getattr(pa.types, f"is_{name}")(kind) for name in scalar)


def _is_string(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _is_numbers(kind: pa.DataType) -> bool:
    lists = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    if not any(is_list(kind) for is_list in lists):
        return False
    return bool(pa.types.is_floating(kind.value_type) or pa.types.is_integer(kind.value_type))
