"""Which rows of a table are read: those of one snapshot without the deleted, by today's names."""

from __future__ import annotations

import datetime
import decimal
import json
import re
import sys
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dxbeam.corpus import reading
from dxbeam.corpus.files import CorpusFile, matching_files, pinned
from dxbeam.corpus.formats import CorpusFormat, format_of
from dxbeam.corpus.iceberg.address import parse
from dxbeam.corpus.splits import number_splits
from dxbeam.documents import Document, Rejected
from dxbeam.errors import ConfigurationError, DxbeamError
from tests.support import iceberg_tables
from tests.support.iceberg_tables import address, write_table


@pytest.fixture
def catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    return iceberg_tables.catalog(tmp_path, monkeypatch)


def _rows(start: int, stop: int) -> pa.Table:
    numbers = range(start, stop)
    texts = [f"w{number} w5, w{number}!" for number in numbers]
    return pa.table({"id": [f"d{n}" for n in numbers], "text": texts, "stars": list(numbers)})


def _read(place: str, *kept: str, **settings: Any) -> list[Document | Rejected]:
    """All records, as workers read them: numbered when all are counted."""
    read_as = CorpusFormat("iceberg", keep_fields=kept, **settings)
    files = matching_files(place)
    reading.check_readable(files, read_as)
    splits = [split for file in files for split in reading.splits(file, read_as)]
    counted = [(split, reading.count_records(split, read_as)) for split in splits[::-1]]
    numbered = list(number_splits(counted))
    records = [record for split in numbered for record in reading.read(split, read_as)]
    usable = sum(1 for split in numbered for _ in reading.ids(split, read_as))
    assert usable >= sum(isinstance(record, Document) for record in records)
    assert sum(number for _, number in counted) == len(records)
    return records


def _ids(place: str, **settings: Any) -> set[str]:
    return {record.id for record in _read(place, **settings) if isinstance(record, Document)}


@pytest.mark.parametrize("seed", range(3))
def test_no_deleted_row_is_read(catalog: Any, seed: int) -> None:
    """Of several files of several row groups, with deletes in several files, some of them twice."""
    drawn = np.random.default_rng(seed)
    sizes = drawn.integers(1, 400, 3)
    ends = np.cumsum(sizes)
    properties = {"write.parquet.row-group-limit": str(drawn.integers(1, 150))}
    parts = [_rows(end - size, end) for size, end in zip(sizes, ends, strict=True)]
    table = write_table(catalog, "a", *parts, properties=properties)
    expected = {f"d{number}" for number in range(ends[-1])}
    assert _ids(address("a")) == expected
    for file in [*iceberg_tables.data_files(table), iceberg_tables.data_files(table)[0]]:
        deleted = drawn.choice(file.record_count, drawn.integers(0, file.record_count + 1), False)
        ids = pq.read_table(file.file_path.removeprefix("file://"))["id"].to_pylist()
        expected -= {ids[position] for position in deleted}
        if len(deleted):
            iceberg_tables.delete_positions(table, file.file_path, deleted.tolist())
    assert _ids(address("a")) == expected


def test_another_reader_finds_the_same_rows(catalog: Any) -> None:
    """The implementation of Iceberg in Rust, for the deletes that these tests write themselves."""
    table = write_table(catalog, "a", _rows(0, 50), _rows(50, 80))
    [first, second] = iceberg_tables.data_files(table)
    iceberg_tables.delete_positions(table, first.file_path, [0, 7, 8])
    iceberg_tables.delete_positions(table, second.file_path, [3])
    found = iceberg_tables.read_in_rust(table)["id"].to_pylist()
    assert sorted(found) == sorted(_ids(address("a")))
    assert len(found) == 76


@pytest.mark.parametrize("written", ["file:", "", "file://"])
def test_deletes_hold_however_they_write_the_path(catalog: Any, written: str) -> None:
    table = write_table(catalog, "a", _rows(0, 4))
    [file] = iceberg_tables.data_files(table)
    path = written + file.file_path.removeprefix("file://")
    iceberg_tables.delete_positions(table, path, [2])
    assert _ids(address("a")) == {"d0", "d1", "d3"}


def test_a_snapshot_stays_what_it_is(catalog: Any) -> None:
    table = write_table(catalog, "a", _rows(0, 3))
    before = pinned(address("a"))
    table.append(_rows(3, 5))
    with table.update_schema() as update:
        update.rename_column("text", "body")
    assert before == f"{address('a')}@{table.history()[0].snapshot_id}:0"
    assert _ids(before) == _ids(before.rpartition(":")[0]) == {"d0", "d1", "d2"}
    assert _ids(address("a"), text_field="body") == {f"d{number}" for number in range(5)}
    assert pinned("corpus/*.jsonl") == "corpus/*.jsonl"


def test_columns_are_known_by_their_numbers(catalog: Any) -> None:
    """Renamed, added, widened, and a new column that is called as a dropped one was."""
    table = write_table(
        catalog,
        "a",
        pa.table({"key": pa.array([1], pa.int32()), "body": ["w1"], "label": ["old"]}),
    )
    with table.update_schema(allow_incompatible_changes=True) as update:
        update.rename_column("key", "id")
        update.rename_column("body", "text")
        update.delete_column("label")
    with table.update_schema() as update:
        from pyiceberg.types import LongType, StringType

        update.add_column("label", StringType())
        update.update_column("id", LongType())
    table.append(pa.table({"id": [2**40], "text": ["w2"], "label": ["new"]}))
    documents = [
        Document("1", "w1", '{"label": null}'),
        Document(str(2**40), "w2", '{"label": "new"}'),
    ]
    assert sorted(_read(address("a"), "label")) == documents


def test_a_column_that_no_file_has(catalog: Any) -> None:
    """An id and a text that were added later: rows have numbers, and cannot be used."""
    table = write_table(catalog, "a", pa.table({"other": ["x", "y"]}))
    with table.update_schema() as update:
        from pyiceberg.types import StringType

        update.add_column("id", StringType())
        update.add_column("text", StringType())
    rejected = _read(address("a"))
    assert [record.where for record in rejected if isinstance(record, Rejected)] == [
        "texts.a:1",
        "texts.a:2",
    ]


def test_rows_without_ids_are_numbered_through_the_table(catalog: Any) -> None:
    """Not by files, whose paths hold values of columns and whose sizes depend on texts."""
    parts = [pa.table({"text": [f"w{number}"] * 2}) for number in range(3)]
    table = write_table(catalog, "a", *parts)
    assert _ids(address("a")) == {f"texts.a:{number}" for number in range(1, 7)}
    [file, *_] = iceberg_tables.data_files(table)
    iceberg_tables.delete_positions(table, file.file_path, [0])
    assert _ids(address("a")) == {f"texts.a:{number}" for number in range(1, 6)}


def test_kept_fields_have_values_that_json_knows(catalog: Any) -> None:
    at = datetime.datetime(2024, 5, 6, 7, 8, 9, 123456)
    row = {
        "id": "a",
        "text": "w1",
        "whole": 2**62,
        "real": 0.1,
        "exact": decimal.Decimal("-12.50"),
        "yes": True,
        "day": datetime.date(2024, 2, 29),
        "at": at,
        "there": at.replace(tzinfo=datetime.timezone.utc),
        "name": "é",
        "none": None,
    }
    schema = pa.schema(
        {"id": "string", "text": "string", "whole": "int64", "real": "float64"}
        | {"exact": pa.decimal128(9, 2), "yes": "bool", "day": "date32", "at": pa.timestamp("us")}
        | {"there": pa.timestamp("us", "UTC"), "name": "string", "none": "float64"}
    )
    kept = schema.names[2:]
    write_table(catalog, "a", pa.Table.from_pylist([row], schema))
    [document] = _read(address("a"), *kept)
    assert isinstance(document, Document)
    assert json.loads(document.fields) == {
        "whole": 2**62,
        "real": 0.1,
        "exact": "-12.50",
        "yes": True,
        "day": "2024-02-29",
        "at": "2024-05-06T07:08:09.123456",
        "there": "2024-05-06T07:08:09.123456+0000",
        "name": "é",
        "none": None,
    }
    read_as = CorpusFormat("iceberg", keep_fields=tuple(kept))
    types = reading.kept_schema(address("a"), read_as)
    assert [types.field(name).type for name in kept] == [schema.field(name).type for name in kept]


def test_an_id_may_be_a_uuid(catalog: Any) -> None:
    from pyiceberg.schema import Schema
    from pyiceberg.types import NestedField, StringType, UUIDType

    columns = (NestedField(1, "id", UUIDType()), NestedField(2, "text", StringType()))
    table, own_id = catalog.create_table("texts.a", Schema(*columns)), uuid.uuid4()
    values = pa.array([own_id.bytes], pa.binary(16))
    table.append(
        pa.table({"id": pa.ExtensionArray.from_storage(pa.uuid(), values), "text": ["w1"]})
    )
    assert _ids(address("a")) == {str(own_id)}


def _refused(place: str, *kept: str, **settings: Any) -> str:
    with pytest.raises(DxbeamError) as refused:
        _read(place, *kept, **settings)
    sentence = str(refused.value)
    assert "\n" not in sentence
    assert "secret" not in sentence
    assert refused.value.__cause__ is None
    return sentence


def test_what_cannot_be_read(catalog: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """One sentence each, which quotes neither a value nor the catalog's configuration."""
    listed = pa.table({"id": ["a"], "text": ["secret"], "words": [["secret"]], "number": [1]})
    write_table(catalog, "a", listed)
    catalog.create_table("texts.empty", listed.schema)
    assert "has no column 'label'" in _refused(address("a"), "label")
    assert "has no column 'body'" in _refused(address("a"), text_field="body")
    assert "has no column 'key'" in _refused(address("a"), id_field="key")
    assert "column 'words' holds large_list<" in _refused(address("a"), "words")
    assert "column 'number' holds int64, not strings" in _refused(address("a"), text_field="number")
    assert "holds no rows" in _refused(address("empty"))
    assert "has no such table" in _refused(address("b"))
    assert "has no such table" in _refused("iceberg://tests/nowhere.b")
    assert "has no such snapshot" in _refused(address("a") + "@12")
    assert "has no schema 9" in _refused(f"{pinned(address('a')).rpartition(':')[0]}:9")
    assert str(parse("input", f"{address('a')}@3:1#2")) == f"{address('a')}@3:1#00000002"
    for place in ("iceberg://", "iceberg://tests", "iceberg://tests/a", address("a") + "@now"):
        assert "is named iceberg://CATALOG/NAMESPACE.TABLE" in _refused(place)
    assert "'nobodys' cannot be opened" in _refused("iceberg://nobodys/texts.a")
    monkeypatch.setenv("PYICEBERG_CATALOG__BAD__URI", "postgresql://me:secret@nowhere/x")
    iceberg_tables.configured(monkeypatch)
    assert "the catalog 'bad'" in _refused("iceberg://bad/texts.a")


def test_tables_that_would_be_read_wrong_are_refused(catalog: Any) -> None:
    table = write_table(catalog, "a", _rows(0, 9))
    iceberg_tables.delete_equal(table, "id", ["d3"])
    assert "are deleted by equality" in _refused(address("a"))
    table = write_table(catalog, "v", _rows(0, 9))
    [file] = iceberg_tables.data_files(table)
    iceberg_tables.delete_positions(table, file.file_path, [3], "PUFFIN")
    assert "of the format PUFFIN, and Parquet is read" in _refused(address("v"))
    table = write_table(catalog, "b", _rows(0, 9))
    with table.update_spec() as update:
        from pyiceberg.transforms import IdentityTransform

        update.add_field("text", IdentityTransform(), "as_it_is")
    assert len(_ids(address("b"))) == 9  # no file is divided so yet
    table.append(_rows(9, 10))
    assert "is partitioned by 'text'" in _refused(address("b"))
    table = write_table(catalog, "s", _rows(0, 9))
    with table.update_sort_order() as order:
        order.asc("text", IdentityTransform())
    assert "is sorted by 'text'" in _refused(address("s"))


def test_damaged_files_are_named_by_the_table(catalog: Any) -> None:
    """A file that is gone, one that is cut off, and one of another number of rows."""
    for name in ("gone", "cut", "other"):
        [file] = iceberg_tables.data_files(write_table(catalog, name, _rows(0, 300)))
        path = Path(file.file_path.removeprefix("file://"))
        if name == "gone":
            path.unlink()
        elif name == "cut":
            path.write_bytes(path.read_bytes()[:-40])
        else:
            pq.write_table(pq.read_table(path).slice(1), path)
        sentence = _refused(address(name))
        assert re.search("cannot be read to its end|another number of rows", sentence), sentence
        assert path.name not in sentence


def test_files_keep_their_formats() -> None:
    assert format_of("corpus/*.csv", "csv") == "csv"
    assert format_of("iceberg://tests/texts.a", "jsonl") == "iceberg"
    with pytest.raises(ConfigurationError, match="is of files"):
        format_of("iceberg://tests/texts.a", "csv")
    table = [CorpusFile("iceberg://tests/texts.a@1:0#0", "texts.a", 1)]
    with pytest.raises(DxbeamError, match="is jsonl, and this is a table: use `input_format` ice"):
        reading.check_readable(table, CorpusFormat("jsonl"))


def test_pyiceberg_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyiceberg.catalog", None)
    assert "pip install 'dxbeam[iceberg]'" in _refused("iceberg://tests/texts.a")
