"""Tables of Iceberg through the command: in, out, twins, leaks, and what is refused."""

from __future__ import annotations

import datetime
import decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dxbeam import storage
from dxbeam.errors import DxbeamError
from pipelines.verify import verify
from tests.support import iceberg_tables, tiny
from tests.support.iceberg_tables import address, write_table

SCHEMA = pa.schema(
    {
        "id": pa.string(),
        "text": pa.string(),
        "stars": pa.int64(),
        "share": pa.float64(),
        "price": pa.decimal128(9, 2),
        "fresh": pa.bool_(),
        "day": pa.date32(),
        "at": pa.timestamp("us", "UTC"),
        "label": pa.string(),
    }
)
KEPT = f"--keep_fields={','.join(SCHEMA.names[2:])}"


def rows(texts: list[str]) -> pa.Table:
    """A table of texts and of a kept field of every type, each null in some row."""
    at = datetime.datetime(2024, 5, 6, 7, 8, 9, 123456, datetime.timezone.utc)
    made = [
        {
            "id": f"d{number}",
            "text": text,
            "stars": number - 3,
            "share": number / 8,
            "price": decimal.Decimal(number) / 4,
            "fresh": bool(number % 2),
            "day": datetime.date(2024, 2, 28) + datetime.timedelta(number),
            "at": at + datetime.timedelta(microseconds=number),
            "label": f"label {number}",
        }
        for number, text in enumerate(texts)
    ]
    for number, name in enumerate(SCHEMA.names[2:]):
        made[number % len(made)][name] = None
    return pa.Table.from_pylist(made, SCHEMA)


@pytest.fixture
def catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    return iceberg_tables.catalog(tmp_path / "in", monkeypatch)


def _released(output: Path) -> list[dict[str, Any]]:
    read = pq.read_table(sorted(map(str, output.glob("part-*"))))
    assert read.schema.equals(SCHEMA)
    return sorted(read.to_pylist(), key=lambda row: str(row["id"]))


def test_a_table_is_released_as_its_rows_in_parquet_would_be(
    uri: str, catalog: Any, key: str, tmp_path: Path
) -> None:
    """The same words under a kept key, the same fields and types; the snapshot is recorded."""
    written = rows(tiny.texts(12, longest=30))
    table = write_table(catalog, "a", written.slice(0, 5), written.slice(5))
    pq.write_table(written, tmp_path / "a.parquet")
    flags = (key, KEPT)
    release = tiny.run(uri, address("a"), tmp_path / "out", *flags)
    files = tmp_path / "a.parquet"
    again = tiny.run(uri, files, tmp_path / "files", *flags, "--input_format=parquet")
    assert _released(tmp_path / "out") == _released(tmp_path / "files")
    assert release["corpus_digest"] == again["corpus_digest"]
    snapshot = f"{table.current_snapshot().snapshot_id}:0"
    assert release["input_snapshot"] == snapshot
    assert "input_snapshot" not in again
    verified = tiny.verified(tmp_path / "out", uri)
    assert verified.manifest == release
    assert not any("does not know" in sentence for sentence in verified.unchecked)

    [file, _] = iceberg_tables.data_files(table)
    iceberg_tables.delete_positions(table, file.file_path, [0, 1])
    fewer = tiny.run(uri, address("a"), tmp_path / "fewer", key, "--output_format=jsonl")
    assert fewer["documents_out"] == 10
    repeated = tiny.run(uri, f"{address('a')}@{snapshot}", tmp_path / "repeated", *flags)
    assert repeated["corpus_digest"] == release["corpus_digest"]


def _make_table(output: Path, table: str) -> int:
    return verify([str(output), f"--output_table={table}"])


def test_a_release_becomes_a_table(uri: str, catalog: Any, tmp_path: Path) -> None:
    """From a table to a table; its rows are those of the shards, for another reader, too."""
    written = rows(tiny.texts(12, longest=30))
    write_table(catalog, "a", written.slice(0, 5), written.slice(5))
    output = tmp_path / "out"
    release = tiny.run(uri, address("a"), output, KEPT, f"--output_table={address('b')}")
    table = catalog.load_table("texts.b")
    digest, _ = storage.sha256(str(output / "release.json"))
    [snapshot] = table.snapshots()
    assert snapshot.summary["dxbeam.release-sha256"] == digest
    assert table.properties["dxbeam.guarantee"] == release["guarantee"]["sentence"]
    assert table.properties["gc.enabled"] == "false"
    by_pyiceberg = table.scan().to_arrow().to_pylist()
    assert sorted(by_pyiceberg, key=lambda row: str(row["id"])) == _released(output)
    by_rust = iceberg_tables.read_in_rust(table).to_pylist()
    assert sorted(by_rust, key=lambda row: str(row["id"])) == _released(output)
    tiny.verified(output, uri)

    assert _make_table(output, address("b")) == 0, "the same release once more"
    assert len(catalog.load_table("texts.b").snapshots()) == 1
    other = tmp_path / "other"
    tiny.run(uri, address("b"), other)
    with pytest.raises(DxbeamError, match="there is a table of this name already"):
        _make_table(other, address("b"))
    assert _make_table(other, address("c")) == 0
    assert catalog.load_table("texts.c").scan().to_arrow().num_rows == 12
