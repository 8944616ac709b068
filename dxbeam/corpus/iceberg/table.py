"""Tables of Iceberg as a corpus: one row per document; a row group is what one worker reads.

Rows are numbered through the whole table, and nothing is named after a data file: the paths of
files may hold values of columns. For the same reason a table that is divided into files or
sorted by the texts is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from dxbeam.corpus.encoding import Encoding
from dxbeam.corpus.files import CorpusFile
from dxbeam.corpus.iceberg import snapshots
from dxbeam.corpus.iceberg.address import parse
from dxbeam.corpus.iceberg.snapshots import Snapshot, open_snapshot
from dxbeam.corpus.parsing import arrow_rows
from dxbeam.corpus.settings import ReadSettings
from dxbeam.corpus.splits import Split
from dxbeam.documents import Document, Rejected
from dxbeam.errors import ConfigurationError, CorpusError

SUFFIXES: tuple[str, ...] = ()
HAS_FIELDS = True
TAKES: tuple[str, ...] = ()

_ROWS_PER_BATCH = 64  # as texts may be long


def check_first_records(
    files: Sequence[CorpusFile], settings: ReadSettings, _allow_unreadable: bool
) -> None:
    """Refuses a table whose columns do not fit the settings."""
    for file in files[:1]:
        snapshot = open_snapshot(file.path)
        if (reason := _why_unfit(snapshot, settings)) is not None:
            raise CorpusError(f"`input` {snapshot.address}: {reason}")


def _why_unfit(snapshot: Snapshot, settings: ReadSettings) -> str | None:
    schema = snapshot.arrow_schema()
    if (reason := arrow_rows.wrong_schema(schema, settings, "Iceberg", "table")) is not None:
        return reason
    divisions = {"partitioned": snapshot.partition_sources(), "sorted": snapshot.sort_sources()}
    for how, columns in divisions.items():
        if settings.text_field in columns:
            return (
                f"the table is {how} by {settings.text_field!r}, the column that is sanitized, so "
                f"the order of its rows tells of the texts; read one that is {how} otherwise"
            )
    return None


def splits(file: CorpusFile, settings: ReadSettings) -> Iterator[Split]:
    """One split for each row group of a data file."""
    snapshot, number = _named(file.path)
    if (reason := _why_unfit(snapshot, settings)) is not None:
        raise CorpusError(reason)
    for group in range(snapshots.row_groups(snapshot, number)):
        yield Split(file.path, file.name, group, group + 1)


def _named(path: str) -> tuple[Snapshot, int]:
    address = parse("input", path)
    return open_snapshot(path), address.file or 0


def share_of_file(file: CorpusFile, _settings: ReadSettings, records: int) -> float:
    """Which share of a data file its first records are, by rows."""
    return min(1.0, records / max(1, snapshots.rows_of(*_named(file.path))))


def count_records(split: Split, settings: ReadSettings) -> int:
    """Reads the needed columns of a row group, and counts its rows."""
    return sum(batch.num_rows for batch in _batches(split, settings.needed_fields, settings))


def ids(split: Split, settings: ReadSettings) -> Iterator[str]:
    """The ids of all rows, read without their texts where the table has ids."""
    rows = _rows(split, (settings.id_field,), settings)
    return arrow_rows.ids(rows, split.name, settings)


def records(split: Split, settings: ReadSettings) -> Iterator[tuple[str, Document | Rejected]]:
    """``TABLE:NUMBER`` and document of each row."""
    rows = _rows(split, (settings.id_field, *settings.needed_fields), settings)
    return arrow_rows.documents(rows, split.name, settings)


def _rows(
    split: Split, columns: Sequence[str], settings: ReadSettings
) -> Iterator[tuple[int, arrow_rows.Row]]:
    return arrow_rows.numbered_rows(_batches(split, columns, settings), split.first_record)


def _batches(
    split: Split, columns: Sequence[str], settings: ReadSettings
) -> Iterator[pa.RecordBatch]:
    """These columns of a row group, as far as the table has them, a few rows at a time."""
    snapshot, number = _named(split.path)
    names = {field.name for field in snapshot.schema.columns}
    wanted = [name for name in dict.fromkeys(columns) if name in names]
    # Of no column at all nobody could say how many rows there are.
    columns = wanted or [settings.text_field]
    return snapshots.batches(snapshot, number, split.start, columns, _ROWS_PER_BATCH)


def kept_types(pattern: str, settings: ReadSettings) -> dict[str, pa.DataType]:
    """The types of the kept fields' columns."""
    schema = open_snapshot(pattern).arrow_schema()
    return {name: schema.field(name).type for name in settings.keep_fields if name in schema.names}


def encoding(_kept: pa.Schema, _compression: str) -> Encoding:
    """Refuses: a table is made of a release in Parquet."""
    raise ConfigurationError(
        "tables of Iceberg are made of a release in Parquet; give `output_format` parquet"
    )
