"""One snapshot of a table: its data files, and the rows of a row group without those deleted.

pyiceberg says which files a snapshot has and which deletes apply to them, and gives columns the
names and types of the schema. Its own scan reads a data file in one piece. Here a row group is read
at a time, as files may be large. A file of which anything is not known to be read right is refused:
other formats than Parquet, deletes by equality, and numbers of rows that do not agree.
"""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from dxbeam.corpus.iceberg.address import Address, parse
from dxbeam.corpus.iceberg.catalogs import open_table, sentence
from dxbeam.errors import CorpusError

_BUFFER = 1 << 18
_INPUT = "input"


class Snapshot(NamedTuple):
    """A snapshot of a table, which never changes: its address, with all numbers, and pyiceberg's.

    The tasks are data files and the deletes of each, in order of the files' paths.
    """

    address: Address
    table: Any
    schema: Any
    tasks: tuple[Any, ...]

    def arrow_schema(self) -> pa.Schema:
        """Names and types of the columns; strings as Parquet has them."""
        from pyiceberg.io.pyarrow import schema_to_pyarrow

        schema = schema_to_pyarrow(self.schema, include_field_ids=False)
        kinds = (pa.string() if pa.types.is_large_string(kind) else kind for kind in schema.types)
        return pa.schema(zip(schema.names, kinds, strict=True))

    def partition_sources(self) -> set[str]:
        """The columns by whose values any rows are divided into files."""
        used = {task.file.spec_id for task in self.tasks}
        fields = [
            field
            for number, spec in self.table.specs().items()
            if number in used
            for field in spec.fields
            if str(field.transform) != "void"
        ]
        return self._named(fields)

    def sort_sources(self) -> set[str]:
        """The columns by whose values any rows are sorted, or are to be."""
        used = {task.file.sort_order_id for task in self.tasks}
        current = self.table.sort_order().order_id
        orders = self.table.sort_orders().items()
        return self._named(
            [field for number, by in orders if number in {current, *used} for field in by.fields]
        )

    def _named(self, fields: list[Any]) -> set[str]:
        """The columns that these are computed from, as far as the schema has them."""
        names = (self.schema.find_column_name(field.source_id) for field in fields)
        return {name for name in names if name is not None}


def open_snapshot(place: str) -> Snapshot:
    """The snapshot that an address names, or the current one."""
    address = parse(_INPUT, place)._replace(file=None)
    if address.schema is None:
        return _open(address)
    return _opened(address)


@functools.lru_cache(maxsize=4)
def _opened(address: Address) -> Snapshot:
    """As ``_open``, once in a process: what is named with its snapshot and schema stays."""
    return _open(address)


def _open(address: Address) -> Snapshot:
    table = open_table(_INPUT, address)
    with sentence(f"`input` {address}: the table cannot be read"):
        current = table.current_snapshot()
        if current is None:
            raise CorpusError(f"`input` {address}: the table holds no rows")
        number = current.snapshot_id if address.snapshot is None else address.snapshot
        snapshot = table.snapshot_by_id(number)
        if snapshot is None:
            raise CorpusError(
                f"`input` {address}: the table has no such snapshot; it never had, or no longer has"
            )
        schema = table.schema().schema_id if address.snapshot is None else address.schema
        if schema is None:
            schema = table.schema().schema_id if snapshot.schema_id is None else snapshot.schema_id
        if schema not in table.schemas():
            raise CorpusError(f"`input` {address}: the table has no schema {schema}")
        pinned = address._replace(snapshot=number, schema=schema)
        tasks = sorted(_planned(table, pinned), key=lambda task: str(task.file.file_path))
        return Snapshot(pinned, table, table.schemas()[schema], tuple(tasks))


def _planned(table: Any, address: Address) -> list[Any]:
    """The data files of a snapshot, each with its deletes."""
    try:
        tasks = list(table.scan(snapshot_id=address.snapshot).plan_files())
    except (ValueError, NotImplementedError) as error:
        if "equality deletes" not in str(error):
            raise
        raise CorpusError(
            f"`input` {address}: rows of the table are deleted by equality, which cannot be read "
            "here; compact the table (rewrite_data_files) and read the new snapshot"
        ) from None
    for task in tasks:
        for file in (task.file, *task.delete_files):
            kind = file.file_format.name
            if kind != "PARQUET":
                raise CorpusError(
                    f"`input` {address}: a file of the table is of the format {kind}, and Parquet "
                    "is read; rewrite the table's files (rewrite_data_files)"
                )
    return tasks


def row_groups(snapshot: Snapshot, file: int) -> int:
    """How many row groups a data file has."""
    with _damage(), _open_file(snapshot, file) as data:
        _check_rows(snapshot, file, data)
        return int(data.num_row_groups)


def rows_of(snapshot: Snapshot, file: int) -> int:
    """How many rows a data file has, with those deleted."""
    return int(snapshot.tasks[file].file.record_count)


def batches(
    snapshot: Snapshot, file: int, group: int, columns: Collection[str], size: int
) -> Iterator[pa.RecordBatch]:
    """The rows of a row group that are not deleted, by the names and types of the schema.

    Of the columns, one at least, those that the file lacks hold nulls, or what the schema or the
    file's partition says. A batch has ``size`` rows at most.
    """
    task, wanted = snapshot.tasks[file], snapshot.schema.select(*columns)
    with _damage(), _open_file(snapshot, file) as data:
        _check_rows(snapshot, file, data)
        project = _projection(snapshot, task, data.schema_arrow, wanted)
        deleted = _deleted(snapshot, task)
        start = sum(data.metadata.row_group(before).num_rows for before in range(group))
        for batch in data.iter_batches(size, row_groups=[group], columns=project.columns):
            positions = np.arange(start, start + batch.num_rows)
            start += batch.num_rows
            kept = ~np.isin(positions, deleted, assume_unique=True)
            if not kept.all():
                batch = batch.take(pa.array(np.flatnonzero(kept)))
            if batch.num_rows:
                yield project(batch)


class _Projection(NamedTuple):
    """Columns of a data file -> columns of the schema."""

    wanted: Any
    present: Any
    by_partition: Any
    downcast: bool

    @property
    def columns(self) -> list[str]:
        return [field.name for field in self.present.columns]

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        from pyiceberg.io.pyarrow import _to_requested_schema

        return _to_requested_schema(
            self.wanted,
            self.present,
            batch,
            downcast_ns_timestamp_to_us=self.downcast,
            projected_missing_fields=self.by_partition,
            allow_timestamp_tz_mismatch=True,
        )


def _projection(snapshot: Snapshot, task: Any, written: pa.Schema, wanted: Any) -> _Projection:
    """As pyiceberg's own scan does it: columns are known by their numbers, not by their names."""
    from pyiceberg.io.pyarrow import _get_column_projection_values, pyarrow_to_schema
    from pyiceberg.schema import prune_columns

    metadata = snapshot.table.metadata
    downcast = metadata.format_version <= 2
    schema = pyarrow_to_schema(
        written,
        metadata.name_mapping(),
        downcast_ns_timestamp_to_us=downcast,
        format_version=metadata.format_version,
    )
    spec = metadata.specs().get(task.file.spec_id)
    by_partition = _get_column_projection_values(
        task.file, wanted, metadata.schema(), spec, schema.field_ids
    )
    # Of a list only its elements are chosen, which the list comes with.
    values = {n for n in wanted.field_ids if wanted.find_type(n).is_primitive}
    present = prune_columns(schema, values, select_full_types=False)
    return _Projection(wanted, present, by_partition, downcast)


def _deleted(snapshot: Snapshot, task: Any) -> npt.NDArray[np.int64]:
    """The positions of the deleted rows of a data file, each once."""
    if not task.delete_files:
        return np.zeros(0, np.int64)
    from pyiceberg.io.pyarrow import _read_all_delete_files

    by_file = _read_all_delete_files(snapshot.table.io, [task])
    path = _comparable(task.file.file_path)
    positions = [
        column.to_numpy()
        for named, columns in by_file.items()
        if _comparable(named) == path
        for column in columns
    ]
    return np.unique(np.concatenate([np.zeros(0, np.int64), *positions]))


def _comparable(path: str) -> str:
    """One form for the names that different writers give a file; else its deletes were lost."""
    return re.sub("^s3[an]://", "s3://", re.sub("^file:/+", "/", path))


@contextlib.contextmanager
def _open_file(snapshot: Snapshot, file: int) -> Iterator[pq.ParquetFile]:
    source = snapshot.table.io.new_input(snapshot.tasks[file].file.file_path)
    with source.open() as raw, pq.ParquetFile(raw, buffer_size=_BUFFER) as data:
        yield data


def _check_rows(snapshot: Snapshot, file: int, data: pq.ParquetFile) -> None:
    """Deletes name positions, so a file of other rows than the snapshot's would be read wrong."""
    if data.metadata.num_rows != rows_of(snapshot, file):
        raise CorpusError("a data file of the table has another number of rows than the table says")


def _damage() -> Any:
    return sentence("a data file of the table cannot be read to its end")
