"""Parquet: one row per document; a row group is what one worker reads.

Kept fields keep the types of their columns: dates, timestamps and decimals travel as text and
become again what they were.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence, Sized
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from dxbeam import storage
from dxbeam.corpus.encoding import Encoding
from dxbeam.corpus.files import (
    CorpusFile,
    check_first_readable,
    damage_as_corpus_error,
    matching_files,
)
from dxbeam.corpus.parsing import arrow_rows
from dxbeam.corpus.settings import ReadSettings
from dxbeam.corpus.splits import Split
from dxbeam.documents import Document, Rejected
from dxbeam.errors import ConfigurationError, CorpusError

SUFFIXES = (".parquet",)
HAS_FIELDS = True
TAKES: tuple[str, ...] = ()

_MAGIC = b"PAR1"
_BUFFER = 1 << 18


def check_first_records(
    files: Sequence[CorpusFile], settings: ReadSettings, allow_unreadable: bool
) -> None:
    """Refuses a corpus whose first file, unless it may be unreadable, has other columns."""
    check_first_readable(
        files, lambda file: next(splits(file, settings), None), allow_unreadable=allow_unreadable
    )


def splits(file: CorpusFile, settings: ReadSettings) -> Iterator[Split]:
    """One split for each row group."""
    with damage_as_corpus_error(), storage.open_read(file.path) as raw:
        if raw.read(len(_MAGIC)) != _MAGIC:
            raise CorpusError(
                "it is not a Parquet file; use another `input_format`, such as jsonl, csv or text"
            )
    with (
        damage_as_corpus_error(),
        storage.open_read(file.path) as raw,
        pq.ParquetFile(raw) as parquet_file,
    ):
        reason = arrow_rows.wrong_schema(parquet_file.schema_arrow, settings)
        if reason is not None:
            raise CorpusError(f"{reason} ({parquet_file.metadata.num_rows:,} rows)")
        groups = int(parquet_file.num_row_groups)
    for group in range(groups):
        yield Split(file.path, file.name, group, group + 1)


def share_of_file(file: CorpusFile, _settings: ReadSettings, records: int) -> float:
    """Which share of a file its first records are, by rows."""
    with damage_as_corpus_error(), storage.open_read(file.path) as raw:
        return float(min(1.0, records / max(1, pq.ParquetFile(raw).metadata.num_rows)))


def count_records(split: Split, settings: ReadSettings) -> int:
    """Reads the needed columns of a row group, and counts its rows."""
    return sum(batch.num_rows for batch in _batches(split, set(settings.needed_fields), settings))


def ids(split: Split, settings: ReadSettings) -> Iterator[str]:
    """The ids of all rows, read without their texts."""
    return arrow_rows.ids(_rows(split, {settings.id_field}, settings), split.name, settings)


def records(split: Split, settings: ReadSettings) -> Iterator[tuple[str, Document | Rejected]]:
    """``FILE:NUMBER`` and document of each row."""
    rows = _rows(split, {settings.id_field, *settings.needed_fields}, settings)
    return arrow_rows.documents(rows, split.name, settings)


def _rows(
    split: Split, columns: set[str], settings: ReadSettings
) -> Iterator[tuple[int, arrow_rows.Row]]:
    return arrow_rows.numbered_rows(_batches(split, columns, settings), split.first_record)


def _batches(split: Split, columns: set[str], settings: ReadSettings) -> Iterator[pa.RecordBatch]:
    """These columns of a row group, as far as the file has them, a few rows at a time."""
    with storage.open_read(split.path) as raw, pq.ParquetFile(raw, buffer_size=_BUFFER) as file:
        wanted = [name for name in file.schema_arrow.names if name in columns]
        # Without columns, a batch still knows how many rows there are.
        rows = settings.division.rows_per_batch
        yield from file.iter_batches(rows, row_groups=[split.start], columns=wanted)


def kept_types(pattern: str, settings: ReadSettings) -> dict[str, pa.DataType]:
    """The types of the kept fields' columns: of each, the first file's in which it is not null.

    Files that cannot be read are skipped, as reading the corpus reports them.
    """
    types: dict[str, pa.DataType] = {}
    for file in matching_files(pattern):
        unknown = [name for name in settings.keep_fields if name not in types]
        if not unknown:
            break
        try:
            with storage.open_read(file.path) as raw:
                schema = pq.read_schema(raw)
        except (OSError, pa.ArrowException):
            continue
        types |= {
            name: schema.field(name).type
            for name in unknown
            if schema.names.count(name) == 1 and not pa.types.is_null(schema.field(name).type)
        }
    return types


def encoding(kept: pa.Schema, compression: str) -> Encoding:
    """Columns id and text, both strings, and the kept fields."""
    if compression != "none":
        raise ConfigurationError(
            f"`compression` {compression} is for files of lines; Parquet is always compressed with "
            "zstd, so leave it out"
        )
    return encoding_of("text", pa.string(), kept)


def encoding_of(
    value: str, kind: pa.DataType, kept: pa.Schema, decode: Callable[[Any], Any] | None = None
) -> Encoding:
    """A column id of strings, a column of what is released, and the kept fields.

    Args:
      value: the name of what is released: the rows' attribute and its column.
      kind: the type of this column.
      kept: the kept fields and their types. In columns of strings, values that are no strings are
        written as JSON.
      decode: the attribute -> what Arrow takes for it; None for the attribute itself.
    """
    schema = pa.schema([("id", pa.string()), (value, kind), *kept])
    strings = {field.name: _is_plain_string(field.type) for field in kept}
    encode = partial(_columns_of, value, strings, decode)
    return Encoding(".parquet", encode, partial(_ParquetOutput, schema), _count_rows)


def _columns_of(
    value: str, strings: dict[str, bool], decode: Callable[[Any], Any] | None, row: Any
) -> dict[str, Any]:
    released, fields = getattr(row, value), json.loads(row.fields)
    kept = {
        name: _as_string(fields.get(name)) if is_string else fields.get(name)
        for name, is_string in strings.items()
    }
    return {**kept, "id": row.id, value: decode(released) if decode else released}


def _is_plain_string(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _as_string(value: Any) -> str | None:
    return value if isinstance(value, (str, type(None))) else json.dumps(value)


class _ParquetOutput:
    """A new Parquet file, written in row groups of about ``row_group`` characters."""

    def __init__(self, schema: pa.Schema, path: str, row_group: int = 8 << 20):
        self._file = storage.open_write(path)
        self._writer = pq.ParquetWriter(self._file, schema, compression="zstd")
        self._schema, self._row_group = schema, row_group
        self._rows: list[dict[str, Any]] = []
        self._characters = 0

    def write(self, row: dict[str, Any], /) -> None:
        self._rows.append(row)
        self._characters += sum(len(value) for value in row.values() if isinstance(value, Sized))
        if self._characters >= self._row_group:
            self._write_group()

    def close(self) -> None:
        if self._rows:
            self._write_group()
        self._writer.close()
        self._file.close()

    def _write_group(self) -> None:
        columns = [
            _column(field, [row[field.name] for row in self._rows]) for field in self._schema
        ]
        self._writer.write_table(pa.Table.from_arrays(columns, schema=self._schema))
        self._rows, self._characters = [], 0


def _column(field: pa.Field, values: list[Any]) -> pa.Array:
    """The Arrow column of values that were read from JSON."""
    try:
        if pa.types.is_temporal(field.type) or pa.types.is_decimal(field.type):  # in JSON: text
            return pa.array(values, pa.string()).cast(field.type)
        if pa.types.is_integer(field.type) and not {*map(type, values)} <= {int, type(None)}:
            raise pa.ArrowInvalid("Arrow would cut decimals off")
        return pa.array(values, field.type)
    except (pa.ArrowException, OverflowError):
        raise CorpusError(
            f"`keep_fields` {field.name}: a document's value is not {field.type}, the type of this "
            "column in the corpus's first Parquet file; give it one type in all files"
        ) from None


def _count_rows(path: str) -> int:
    with storage.open_read(path) as file:
        return int(pq.ParquetFile(file).metadata.num_rows)
