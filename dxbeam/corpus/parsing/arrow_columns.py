"""Columns of Arrow, as Parquet and BigQuery have them: which can be kept, and their values as JSON.

JSON knows neither dates nor exact decimals, so they travel as text and become dates and decimals
again where a column has that type.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

KEPT = "strings, numbers, booleans, dates and timestamps"
"""What can be kept, for sentences."""

_SCALARS = ("null", "boolean", "integer", "floating", "decimal", "date", "timestamp")


def can_be_kept(kind: pa.DataType) -> bool:
    """Whether values of a type can be released as they are."""
    return is_string(kind) or any(getattr(pa.types, f"is_{name}")(kind) for name in _SCALARS)


def is_string(kind: pa.DataType) -> bool:
    """Whether a column holds text."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def travels_as_text(kind: pa.DataType) -> bool:
    """Whether values of a type are text in JSON that Arrow casts back."""
    return bool(pa.types.is_temporal(kind) or pa.types.is_decimal(kind))


def rows_of(batch: pa.RecordBatch) -> Iterator[dict[str, Any] | None]:
    """The values of each row as JSON knows them; None where a string is not valid UTF-8."""
    columns = {
        name: _as_json(column)
        for name, column in zip(batch.schema.names, batch.columns, strict=True)
    }
    for index in range(batch.num_rows):
        try:
            yield {name: column[index].as_py() for name, column in columns.items()}
        except UnicodeDecodeError:
            yield None


def _as_json(column: pa.Array) -> pa.Array:
    """Dates and timestamps as ISO 8601 and decimals as text, to the last digit; others as is."""
    kind = column.type
    if pa.types.is_timestamp(kind):
        return pc.strftime(column, format="%Y-%m-%dT%H:%M:%S" + ("%z" if kind.tz else ""))
    if pa.types.is_date(kind) or pa.types.is_decimal(kind):
        return column.cast(pa.string())
    return column
