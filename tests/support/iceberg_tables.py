"""Catalogs and tables of Iceberg in a folder; and deletes, which pyiceberg does not write."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

CATALOG = "tests"
NAMESPACE = "texts"


def catalog(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str = CATALOG) -> Any:
    """A new catalog in SQLite, configured by variables, as programs that a test launches see it."""
    pytest.importorskip("pyiceberg.catalog.sql", reason="pyiceberg or SQLAlchemy is not installed")
    from pyiceberg.catalog import load_catalog

    folder.mkdir(parents=True, exist_ok=True)
    settings = {"uri": f"sqlite:///{folder}/catalog.db", "warehouse": f"file://{folder}/warehouse"}
    for key, value in {"type": "sql", **settings}.items():
        monkeypatch.setenv(f"PYICEBERG_CATALOG__{name.upper()}__{key.upper()}", value)
    configured(monkeypatch)
    opened = load_catalog(name)
    opened.create_namespace(NAMESPACE)
    return opened


def configured(monkeypatch: pytest.MonkeyPatch) -> None:
    """pyiceberg reads variables once, when it is imported; here they are read again."""
    import pyiceberg.catalog
    from pyiceberg.utils.config import Config

    monkeypatch.setattr(pyiceberg.catalog, "_ENV_CONFIG", Config())


def address(table: str, name: str = CATALOG) -> str:
    """What --input names a table by."""
    return f"iceberg://{name}/{NAMESPACE}.{table}"


def write_table(catalog: Any, name: str, *parts: pa.Table, **options: Any) -> Any:
    """A table, each part of which is appended by a separate commit, and so is a separate file."""
    table = catalog.create_table(f"{NAMESPACE}.{name}", parts[0].schema, **options)
    for part in parts:
        table.append(part)
    return table


def data_files(table: Any) -> list[Any]:
    """The data files of a table as it is now, in order of their paths."""
    planned = (task.file for task in table.scan().plan_files())
    return sorted(planned, key=lambda file: str(file.file_path))


def read_in_rust(table: Any) -> pa.Table:
    """A table as the implementation of Iceberg in Rust reads it, which shares no line with ours."""
    datafusion = pytest.importorskip("datafusion")
    rust = pytest.importorskip("pyiceberg_core.datafusion")
    context = datafusion.SessionContext()
    read = rust.IcebergDataFusionTable(table.name(), table.metadata_location, {})
    return context.read_table(read).to_arrow_table()


def delete_positions(
    table: Any, path: str, positions: Iterable[int], file_format: str = "PARQUET"
) -> None:
    """Deletes rows of a data file by a file of positions, as Spark and Flink do.

    What it is said to be may be another format than Parquet, such as that of deletion vectors.
    """
    schema = pa.schema(
        [
            pa.field("file_path", pa.string(), False, {b"PARQUET:field_id": b"2147483546"}),
            pa.field("pos", pa.int64(), False, {b"PARQUET:field_id": b"2147483545"}),
        ]
    )
    places = sorted(positions)
    rows = pa.table([[path] * len(places), places], schema=schema)
    from pyiceberg.manifest import DataFileContent

    _delete(table, rows, DataFileContent.POSITION_DELETES, None, file_format)


def delete_equal(table: Any, column: str, values: Sequence[Any]) -> None:
    """Deletes rows by the value of a column."""
    from pyiceberg.manifest import DataFileContent

    number = table.schema().find_field(column).field_id
    written = pa.schema(
        [pa.field(column, pa.string(), True, {b"PARQUET:field_id": b"%d" % number})]
    )
    rows = pa.table([list(values)], schema=written)
    _delete(table, rows, DataFileContent.EQUALITY_DELETES, [number])


def _delete(
    table: Any,
    rows: pa.Table,
    content: Any,
    equality_ids: list[int] | None,
    file_format: str = "PARQUET",
) -> None:
    """Commits a snapshot with one more manifest, of one file of deletes."""
    from pyiceberg.manifest import (
        DataFile,
        FileFormat,
        ManifestContent,
        ManifestEntry,
        ManifestEntryStatus,
        ManifestWriterV2,
        write_manifest_list,
    )
    from pyiceberg.table.snapshots import Operation, Snapshot, Summary
    from pyiceberg.table.update import AddSnapshotUpdate, AssertRefSnapshotId, SetSnapshotRefUpdate
    from pyiceberg.typedef import Record

    class DeleteManifests(ManifestWriterV2):
        def content(self) -> ManifestContent:
            return ManifestContent.DELETES

        @property
        def _meta(self) -> dict[str, str]:
            return {**super()._meta, "content": "deletes"}

    folder, name = table.metadata.location, uuid.uuid4().hex
    file_path, parent = f"{folder}/data/{name}-deletes.parquet", table.current_snapshot()
    with table.io.new_output(file_path).create(overwrite=True) as output:
        pq.write_table(rows, output)
    deletes = DataFile.from_args(
        content=content,
        file_path=file_path,
        file_format=FileFormat[file_format],
        partition=Record(),
        record_count=rows.num_rows,
        file_size_in_bytes=len(table.io.new_input(file_path)),
        spec_id=0,
        equality_ids=equality_ids,
    )
    number, sequence = uuid.uuid4().int >> 65, table.metadata.last_sequence_number + 1
    manifest = table.io.new_output(f"{folder}/metadata/{name}-m0.avro")
    writer = DeleteManifests(table.spec(), table.schema(), manifest, number, "deflate")
    with writer:
        writer.add_entry(
            ManifestEntry.from_args(
                status=ManifestEntryStatus.ADDED, snapshot_id=number, data_file=deletes
            )
        )
    manifests = [writer.to_manifest_file(), *parent.manifests(table.io)]
    listed = f"{folder}/metadata/snap-{name}.avro"
    with write_manifest_list(
        2, table.io.new_output(listed), number, parent.snapshot_id, sequence, "deflate"
    ) as list_writer:
        list_writer.add_manifests(manifests)
    snapshot = Snapshot(
        snapshot_id=number,
        parent_snapshot_id=parent.snapshot_id,
        sequence_number=sequence,
        manifest_list=listed,
        summary=Summary(Operation.DELETE),
        schema_id=table.schema().schema_id,
    )
    table.catalog.commit_table(
        table,
        (AssertRefSnapshotId(snapshot_id=parent.snapshot_id, ref="main"),),
        (
            AddSnapshotUpdate(snapshot=snapshot),
            SetSnapshotRefUpdate(ref_name="main", type="branch", snapshot_id=number),
        ),
    )
    table.refresh()
