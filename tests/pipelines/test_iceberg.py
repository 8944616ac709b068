"""Tables of Iceberg through the command: in, out, twins, leaks, and what is refused."""

from __future__ import annotations

import datetime
import decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

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
    assert tiny.verified(tmp_path / "out", uri).manifest == release

    [file, _] = iceberg_tables.data_files(table)
    iceberg_tables.delete_positions(table, file.file_path, [0, 1])
    fewer = tiny.run(uri, address("a"), tmp_path / "fewer", key, "--output_format=jsonl")
    assert fewer["documents_out"] == 10
    repeated = tiny.run(uri, f"{address('a')}@{snapshot}", tmp_path / "repeated", *flags)
    assert repeated["corpus_digest"] == release["corpus_digest"]
