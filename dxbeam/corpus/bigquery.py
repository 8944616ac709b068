"""BigQuery: one row per document, read by the Storage Read API; nothing is written there.

A session of that API is a snapshot of the table, divided into streams, and a stream is what one
worker reads. All that a run reads, ids and texts, is of one session, so no row that changes
meanwhile can be there once and not the second time. Rows have no order, so none is numbered: each
needs an id.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from dxbeam.corpus import parquet
from dxbeam.corpus.files import CorpusFile
from dxbeam.corpus.parsing import arrow_rows
from dxbeam.corpus.settings import ReadSettings
from dxbeam.corpus.splits import Split
from dxbeam.documents import Document, Rejected, printable_id
from dxbeam.errors import CorpusError
from dxbeam.storage.bigquery import tables
from dxbeam.storage.bigquery.tables import Table

SUFFIXES: tuple[str, ...] = ()
HAS_FIELDS = True
TAKES: tuple[str, ...] = ()

encoding = parquet.encoding
"""What is released of a table is written as Parquet, which keeps types."""

_TYPES: dict[str, pa.DataType] = {
    "STRING": pa.string(),
    "INTEGER": pa.int64(),
    "INT64": pa.int64(),
    "FLOAT": pa.float64(),
    "FLOAT64": pa.float64(),
    "NUMERIC": pa.decimal128(38, 9),
    "BIGNUMERIC": pa.decimal256(76, 38),
    "BOOLEAN": pa.bool_(),
    "BOOL": pa.bool_(),
    "DATE": pa.date32(),
    "DATETIME": pa.timestamp("us"),
    "TIMESTAMP": pa.timestamp("us", "UTC"),
}
"""Types of columns that can be kept, by the names that BigQuery has for them."""

_NUMBERS = ("INTEGER", "INT64", "FLOAT", "FLOAT64")
_READABLE = ("TABLE", "SNAPSHOT")

_STREAM_BYTES, _MOST_STREAMS = 8 << 20, 1000
_SESSION_SECONDS = 60.0
_ENDED = "its session of reading has ended, as each does after six hours; use more workers"


def check_first_records(
    files: Sequence[CorpusFile], settings: ReadSettings, _allow_unreadable: bool
) -> None:
    """Refuses a table that cannot be read so."""
    for file in files:
        _checked(_table_of(file), settings)


def splits(file: CorpusFile, settings: ReadSettings) -> Iterator[Split]:
    """One split for each stream of a new session."""
    table = _table_of(file)
    _checked(table, settings)
    for number, stream in enumerate(_streams(table, settings, file.size)):
        yield Split(stream, file.name, number, number + 1)


def share_of_file(file: CorpusFile, _settings: ReadSettings, records: int) -> float:
    """Which share of a table its first records are, by rows."""
    rows = tables.described(_table_of(file)).num_rows or records
    return min(1.0, records / max(1, rows))


def count_records(_split: Split, _settings: ReadSettings) -> int:
    """0, as rows are not numbered."""
    return 0


def ids(split: Split, settings: ReadSettings) -> Iterator[str]:
    """The ids of all rows that have a usable one."""
    with_id = (pair for pair in _rows(split) if _has_id(pair[1], settings))
    return arrow_rows.ids(with_id, split.name, settings)


def records(split: Split, settings: ReadSettings) -> Iterator[tuple[str, Document | Rejected]]:
    """``TABLE:ID`` and document of each row."""
    for _, row in _rows(split):
        if row is None or not _has_id(row, settings):
            reason = arrow_rows.INVALID if row is None else "the row has no id"
            yield split.name, Rejected(split.name, reason)
        else:
            where = f"{split.name}:{printable_id(row[settings.id_field])}"
            yield where, arrow_rows.document(row, where, settings)


def _has_id(row: arrow_rows.Row, settings: ReadSettings) -> bool:
    return row is not None and row[settings.id_field] is not None


def kept_types(pattern: str, settings: ReadSettings) -> dict[str, pa.DataType]:
    """The types of the kept fields' columns."""
    described = tables.described(tables.table_of("input", pattern))
    return {
        column.name: _TYPES[column.field_type]
        for column in described.schema
        if column.name in settings.keep_fields and column.field_type in _TYPES
    }


def _table_of(file: CorpusFile) -> Table:
    return tables.table_of("input", file.path)


def _checked(table: Table, settings: ReadSettings) -> None:
    described = tables.described(table)
    if described.table_type not in _READABLE:
        kind = str(described.table_type).replace("_", " ").lower()
        raise CorpusError(
            f"{table} is of kind {kind!r}, and only tables can be read as they are; write its rows "
            "to a table first: CREATE TABLE … AS SELECT"
        )
    if settings.text_field in (described.clustering_fields or ()):
        raise CorpusError(
            f"{table} is clustered by {settings.text_field!r}, the column that is sanitized, so "
            "the order of its rows tells of the texts; read one that is clustered otherwise"
        )
    if described.require_partition_filter:
        raise CorpusError(
            f"{table} can only be read with a filter on its partitions; write the rows that are "
            "meant to a table first: CREATE TABLE … AS SELECT"
        )
    if (reason := _wrong_schema(described.schema, settings)) is not None:
        raise CorpusError(f"{table}: {reason}")


def _wrong_schema(schema: Sequence[Any], settings: ReadSettings) -> str | None:
    """Why the columns of a table do not fit the settings, or None if they do."""
    columns = {column.name: column for column in schema}
    if settings.id_field not in columns:
        return (
            f"the table has no column {settings.id_field!r}: rows have no order that could number "
            "them, so name a column of ids with `id_field`"
        )
    for name in settings.needed_fields:
        if name not in columns:
            return f"the table has no column {name!r}"
    for name in (settings.id_field, *settings.needed_fields):
        column = columns[name]
        repeated = column.mode == "REPEATED"
        if name == settings.text_field:
            if settings.vector_dimensions:
                if not (repeated and column.field_type in _NUMBERS):
                    return f"the column {name!r} does not hold lists of numbers"
            elif repeated or column.field_type != "STRING":
                return f"the column {name!r} holds {_said(column)}, not strings"
        elif repeated or column.field_type not in _TYPES:
            holds = f"the column {name!r} holds {_said(column)}"
            return f"{holds}, which cannot be kept; {arrow_rows.KEPT} can"
    return None


def _said(column: Any) -> str:
    """The type of a column, in words."""
    return f"{'repeated ' * (column.mode == 'REPEATED')}{column.field_type}"


def _streams(table: Table, settings: ReadSettings, size: int) -> list[str]:
    """The names of the streams of a new session."""
    with tables.refusals(table, CorpusError):
        from google.api_core.exceptions import DeadlineExceeded, ServiceUnavailable
        from google.api_core.retry import Retry, if_exception_type
        from google.cloud.bigquery_storage import types

        columns = [settings.id_field, *settings.needed_fields]
        wanted = types.ReadSession(
            table=table.path,
            data_format=types.DataFormat.ARROW,
            read_options=types.ReadSession.TableReadOptions(
                selected_fields=list(dict.fromkeys(columns))
            ),
        )
        again = Retry(if_exception_type(ServiceUnavailable, DeadlineExceeded), timeout=60)
        session = tables.reader().create_read_session(
            parent=f"projects/{tables.paying_project(table)}",
            read_session=wanted,
            max_stream_count=max(1, min(_MOST_STREAMS, size // _STREAM_BYTES)),
            retry=again,
            timeout=_SESSION_SECONDS,
        )
        return [str(stream.name) for stream in session.streams]


def _rows(split: Split) -> Iterator[tuple[int, arrow_rows.Row]]:
    return arrow_rows.numbered_rows(_batches(split), split.first_record)


def _batches(split: Split) -> Iterator[pa.RecordBatch]:
    """The rows of a stream."""
    table = tables.table_of("input", tables.SCHEME + split.name)
    with tables.refusals(table, CorpusError, {400: _ENDED, 404: _ENDED}):
        schema = None
        for block in tables.reader().read_rows(split.path):  # which goes on where it breaks off
            if schema is None:  # the first block has it
                schema = pa.ipc.read_schema(pa.py_buffer(block.arrow_schema.serialized_schema))
            content = pa.py_buffer(block.arrow_record_batch.serialized_record_batch)
            yield pa.ipc.read_record_batch(content, schema)
