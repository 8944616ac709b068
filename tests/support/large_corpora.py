"""A hundred thousand records in every format, written and read without dxbeam."""

from __future__ import annotations

import csv
import datetime
import gzip
import io
import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

RECORDS = 100_000
TYPES = {"stars": "int64", "share": "float64", "fresh": "bool", "day": "date", "zip": "string"}
"""Of the kept columns."""
_SCHEMA = pa.schema(
    {
        "id": pa.string(),
        "text": pa.string(),
        "stars": pa.int64(),
        "share": pa.float64(),
        "fresh": pa.bool_(),
        "day": pa.date32(),
        "zip": pa.string(),
    }
)
_GAPS = np.array([" ", ", ", "; ", ' "', "\n", " (", "! "])


def records(count: int = RECORDS) -> list[dict[str, Any]]:
    """Records of one to nine words, known and unknown, with nulls among their kept fields."""
    generator = np.random.default_rng(11)
    lengths = generator.integers(1, 10, count)
    words, gaps = (
        iter(generator.integers(0, 330, lengths.sum())),
        iter(generator.choice(_GAPS, lengths.sum())),
    )
    first_day = datetime.date(2020, 1, 1)
    return [
        {
            "id": f"d{number}",
            "text": "".join(f"w{next(words)}{next(gaps)}" for _ in range(length)),
            "stars": None if number % 7 == 0 else number - 50_000,
            "share": number / 8,
            "fresh": bool(number % 3),
            "day": first_day + datetime.timedelta(number % 2000),
            "zip": f"{number % 100_000:05d}",
        }
        for number, length in enumerate(lengths)
    ]


def _as_json(record: dict[str, Any]) -> dict[str, Any]:
    return {**record, "day": record["day"].isoformat()}


def _write_lines(rows: Sequence[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(_as_json(row)) + "\n" for row in rows).encode()


def _write_table(delimiter: str) -> Callable[[Sequence[dict[str, Any]]], bytes]:
    def write(rows: Sequence[dict[str, Any]]) -> bytes:
        file = io.StringIO(newline="")
        table = csv.DictWriter(file, _SCHEMA.names, delimiter=delimiter)
        table.writeheader()
        table.writerows({**row, "fresh": str(row["fresh"]).lower()} for row in rows)
        return file.getvalue().encode()

    return write


def _write_parquet(rows: Sequence[dict[str, Any]]) -> bytes:
    file = io.BytesIO()
    table = pa.Table.from_pylist(list(rows), _SCHEMA)
    pq.write_table(table, file, row_group_size=10_000)
    return file.getvalue()


def _write_text(rows: Sequence[dict[str, Any]]) -> bytes:
    return "".join(row["text"].replace("\n", " ") + "\n" for row in rows).encode()


WRITE: dict[str, Callable[[Sequence[dict[str, Any]]], bytes]] = {
    "jsonl": _write_lines,
    "csv": _write_table(","),
    "tsv": _write_table("\t"),
    "parquet": _write_parquet,
    "text": _write_text,
}
"""The bytes of a file of records, by format."""


def files(rows: Sequence[dict[str, Any]], kind: str) -> dict[str, bytes]:
    """Names and contents of three files; one is packed, where the format can be."""
    third = -(-len(rows) // 3)
    contents = {
        f"{number}.{kind}": WRITE[kind](rows[number * third : (number + 1) * third])
        for number in range(3)
    }
    if kind != "parquet":
        contents[f"2.{kind}.gz"] = gzip.compress(contents.pop(f"2.{kind}"), 1)
    return contents


def flags(kind: str) -> list[str]:
    """Of the command, for a corpus in this format, which is also that of the release."""
    kept = [] if kind == "text" else [f"--keep_fields={','.join(TYPES)}"]
    typed = ",".join(f"{name}={kind}" for name, kind in TYPES.items())
    types = [f"--column_types={typed}"] if kind in ("csv", "tsv") else []
    return ["--epsilon=1", f"--input_format={kind}", *kept, *types]


def _plain(name: str, content: bytes) -> bytes:
    return gzip.decompress(content) if name.endswith(".gz") else content


def read(kind: str, shards: dict[str, bytes]) -> Iterator[dict[str, Any]]:
    """The records of a release's files, by Python's own readers and pyarrow's."""
    for name, content in shards.items():
        if kind == "parquet":
            table = pq.read_table(io.BytesIO(content))
            assert {field.name: str(field.type) for field in table.schema} == {
                field.name: str(field.type) for field in _SCHEMA
            }
            yield from table.to_pylist()
        elif kind == "jsonl":
            yield from map(json.loads, _plain(name, content).decode().splitlines())
        elif kind == "text":
            lines = _plain(name, content).decode().split("\n")
            assert lines.pop() == ""
            yield from ({"text": line} for line in lines)
        else:
            text = io.StringIO(_plain(name, content).decode(), newline="")
            yield from csv.DictReader(text, delimiter="," if kind == "csv" else "\t")


def check(kind: str, rows: Sequence[dict[str, Any]], shards: dict[str, bytes]) -> None:
    """A release has each record once: the same kept fields, types and gaps, and other words."""
    released = list(read(kind, shards))
    assert len(released) == len(rows)
    if kind == "text":
        expected = sorted(_gaps(row["text"].replace("\n", " ")) for row in rows)
        assert sorted(_gaps(row["text"]) for row in released) == expected
        changed = len({row["text"] for row in released} - {row["text"] for row in rows})
    else:
        by_id = {row["id"]: row for row in released}
        assert len(by_id) == len(rows)
        for row in rows:
            other = by_id[row["id"]]
            assert _kept(kind, other) == _kept(kind, _as_written(kind, row))
            assert _gaps(other["text"]) == _gaps(row["text"])
        changed = sum(by_id[row["id"]]["text"] != row["text"] for row in rows)
    assert changed > 0.5 * len(rows)


def _gaps(text: str) -> str:
    return re.sub(r"\w+", "_", text)


def _kept(kind: str, row: dict[str, Any]) -> dict[str, Any]:
    """The kept fields with their types; a number in CSV may be written in several ways."""
    kept = {name: (type(row[name]), row[name]) for name in TYPES}
    if kind in ("csv", "tsv"):
        kept["share"] = (str, float(row["share"]))
    return kept


def _as_written(kind: str, row: dict[str, Any]) -> dict[str, Any]:
    if kind == "parquet":
        return row
    if kind == "jsonl":
        return _as_json(row)
    [written] = csv.DictReader(io.StringIO(WRITE["csv"]([row]).decode(), newline=""))
    return written
