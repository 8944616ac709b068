"""What every format owes: it reads what it writes, however the work is divided.

The tests go over the registry, so that a new format is tested as soon as it is named there.
"""

from __future__ import annotations

import dataclasses
import json
import pickle
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dxbeam.corpus import reading
from dxbeam.corpus.encoding import Encoding, OutputFile
from dxbeam.corpus.files import matching_files
from dxbeam.corpus.formats import FORMATS, CorpusFormat
from dxbeam.corpus.parsing.given_vectors import decode
from dxbeam.corpus.parsing.lines import COMPRESSIONS
from dxbeam.corpus.settings import Division, TableSettings
from dxbeam.corpus.splits import Split, number_splits
from dxbeam.documents import Document, Rejected
from dxbeam.errors import ConfigurationError, CorpusError
from tests.support import corpora

KEPT = pa.schema([("label", pa.string()), ("stars", pa.string())])
PROPERTY = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


class Row(NamedTuple):
    """A row as a pipeline releases it."""

    id: str | None
    text: str
    fields: str = "{}"


def _encodings() -> Iterator[tuple[str, Encoding]]:
    """Every format in every compression that it takes."""
    for name, form in FORMATS.items():
        for compression in COMPRESSIONS:
            try:
                yield name, form.encoding(KEPT, compression)
            except ConfigurationError:
                assert compression != "none", "every format can be written without"


ENCODINGS = [
    pytest.param(name, encoding, id=f"{name}{encoding.suffix}") for name, encoding in _encodings()
]
NOT_COMPRESSED_BY_ITSELF = {
    name for name, encoding in _encodings() if encoding.suffix not in FORMATS[name].SUFFIXES
}
WITH_FIELDS = [name for name, form in FORMATS.items() if form.HAS_FIELDS]

# A byte order mark at the start of a file of lines is no text; null bytes are rejected.
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\ufeff"), max_size=30)
NAMES = st.lists(TEXT, min_size=1, max_size=25, unique=True)


def _write(folder: Path, encoding: Encoding, rows: Sequence[Any], **sizes: int) -> Path:
    path = folder / f"part{encoding.suffix}"
    file: OutputFile = partial(encoding.open_file, **sizes)(str(path))
    for row in rows:
        file.write(encoding.encode(row))
    file.close()
    return path


def _splits(path: Path, read_as: CorpusFormat) -> list[Split]:
    """Numbered, as workers read them: counted in any order."""
    [file] = matching_files(str(path))
    counted = [(s, reading.count_records(s, read_as)) for s in reading.splits(file, read_as)]
    return list(number_splits(counted[::-1]))


def _small(size: int) -> Division:
    """Divides files among as many workers as can be."""
    return Division(size, records_per_run=1 + size % 3, rows_per_batch=1 + size % 3)


def _when_written(name: str, size: int) -> dict[str, int]:
    """Parquet is divided when it is written."""
    return {"row_group": size} if name == "parquet" else {}


def _in_order(results: Sequence[Document | Rejected]) -> list[Document | Rejected]:
    """Shares of a compressed file hold its lines in another order."""
    return sorted(results, key=repr)


@PROPERTY
@pytest.mark.parametrize(("name", "encoding"), ENCODINGS)
@given(ids=NAMES, data=st.data(), size=st.integers(1, 60))
def test_what_is_written_is_read_back(
    tmp_path: Path, name: str, encoding: Encoding, ids: list[str], data: st.DataObject, size: int
) -> None:
    texts = data.draw(st.lists(TEXT, min_size=len(ids), max_size=len(ids)))
    labels = data.draw(st.lists(TEXT | st.none(), min_size=len(ids), max_size=len(ids)))
    rows = [
        Row(own_id, text, json.dumps({"label": label, "stars": label}, ensure_ascii=False))
        for own_id, text, label in zip(ids, texts, labels, strict=True)
    ]
    if FORMATS[name].HAS_FIELDS:
        read_as = CorpusFormat(name, keep_fields=tuple(KEPT.names))
        expected = [Document(*row) for row in rows]
    else:
        read_as = CorpusFormat(name)
        expected = [
            Document(f"part{encoding.suffix}:{number}", " ".join(row.text.splitlines()))
            for number, row in enumerate(rows, 1)
        ]
    path = _write(tmp_path, encoding, rows, **_when_written(name, size))
    assert encoding.count_rows(str(path)) == len(rows)
    divided = dataclasses.replace(read_as, division=_small(size))
    assert _in_order(corpora.read(path, divided)) == _in_order(expected)
    assert corpora.read(path, read_as) == expected, "undivided, in order"


@PROPERTY
@pytest.mark.parametrize(("name", "encoding"), ENCODINGS)
@given(texts=st.lists(TEXT, min_size=1, max_size=30), size=st.integers(1, 60))
def test_records_without_an_id_are_numbered_in_their_file(
    tmp_path: Path, name: str, encoding: Encoding, texts: list[str], size: int
) -> None:
    read_as = CorpusFormat(name, division=_small(size))
    rows = [Row(None, text) for text in texts]
    path = _write(tmp_path, encoding, rows, **_when_written(name, size))
    read = [result[0] for result in corpora.read(path, read_as)]
    known = [name for split in _splits(path, read_as) for name in reading.ids(split, read_as)]
    expected = [f"{path.name}:{number}" for number in range(1, len(texts) + 1)]
    assert sorted(read) == sorted(expected)
    assert sorted(known) == (sorted(expected) if FORMATS[name].HAS_FIELDS else [])


@pytest.mark.parametrize(("name", "encoding"), ENCODINGS)
def test_ids_are_known_without_the_texts(tmp_path: Path, name: str, encoding: Encoding) -> None:
    """All records with a repeated id are rejected, also those whose text cannot be used."""
    path = _write(tmp_path, encoding, [Row("a", "x"), Row("b", "y"), Row("a", "\0")])
    read_as = CorpusFormat(name)
    [split] = _splits(path, read_as)
    ids = list(reading.ids(split, read_as))
    assert ids == (["a", "b", "a"] if FORMATS[name].HAS_FIELDS else [])
    repeated = {own_id for own_id in ids if ids.count(own_id) > 1}
    read = list(reading.read(split, read_as, repeated))
    rejected = [result.where for result in read if isinstance(result, Rejected)]
    assert rejected == [f"{path.name}:{number}" for number in ([1, 3] if repeated else [3])]


@pytest.mark.parametrize(("name", "encoding"), ENCODINGS)
def test_a_document_that_is_too_large_is_rejected_alone(
    tmp_path: Path, name: str, encoding: Encoding
) -> None:
    path = _write(tmp_path, encoding, [Row("a", "x"), Row("b", "secret " * 99), Row("c", "y")])
    first, second, third = corpora.read(path, CorpusFormat(name, largest_document=300))
    assert isinstance(second, Rejected)
    assert second.where == f"{path.name}:2"
    assert "longer than 300 bytes" in second.reason
    assert "secret" not in second.reason
    assert [result[1] for result in (first, third)] == ["x", "y"]


@pytest.mark.parametrize(("name", "encoding"), ENCODINGS)
def test_a_file_that_is_cut_off_is_known_from_counting(
    tmp_path: Path, name: str, encoding: Encoding
) -> None:
    """But for uncompressed lines, which read like a smaller corpus."""
    rows = [Row(f"d{i}", f"{i * i} " * (i % 9)) for i in range(500)]
    path = _write(tmp_path, encoding, rows)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    if name in NOT_COMPRESSED_BY_ITSELF and encoding.suffix in FORMATS[name].SUFFIXES:
        assert len(corpora.read(path, CorpusFormat(name))) < len(rows)
        return
    with pytest.raises(CorpusError, match="cannot be read to its end"):
        _splits(path, CorpusFormat(name))


@pytest.mark.parametrize(("name", "encoding"), ENCODINGS)
def test_workers_can_be_sent_how_to_write(tmp_path: Path, name: str, encoding: Encoding) -> None:
    sent = pickle.loads(pickle.dumps(encoding))
    path = _write(tmp_path, sent, [Row("a", "x")])
    assert corpora.read(path, CorpusFormat(name))[0][1] == "x"


@pytest.mark.parametrize("name", FORMATS)
def test_there_is_no_other_compression(name: str) -> None:
    with pytest.raises(ConfigurationError, match="`compression`"):
        FORMATS[name].encoding(KEPT, "bzip2")


@pytest.mark.parametrize("name", WITH_FIELDS)
def test_vectors_are_read_where_there_are_fields(tmp_path: Path, name: str) -> None:
    kept = pa.schema([("vector", pa.list_(pa.float64()))])
    rows = [Row("a", "", '{"vector": [0.5, -2]}'), Row("b", "", '{"vector": [1]}')]
    path = _write(tmp_path, FORMATS[name].encoding(kept, "none"), rows)
    first, second = corpora.read(path, CorpusFormat(name, "vector", vector_dimensions=2))
    assert isinstance(first, Document)
    assert decode(first.text).tolist() == [0.5, -2]
    assert isinstance(second, Rejected)


@pytest.mark.parametrize("name", WITH_FIELDS)
@pytest.mark.parametrize("missing", [{"keep_fields": ("label", "other")}, {"group_by": "other"}])
def test_a_field_that_no_record_has_is_refused_before_work_starts(
    tmp_path: Path, name: str, missing: dict[str, Any]
) -> None:
    rows = [Row("a", "x", '{"label": "l"}')] * 3
    kept = pa.schema([("label", pa.string())])
    path = _write(tmp_path, FORMATS[name].encoding(kept, "none"), rows)
    files = matching_files(str(path))
    reading.check_readable(files, CorpusFormat(name, keep_fields=("label",)))
    with pytest.raises(CorpusError, match=r"(field|column) 'other'"):
        reading.check_readable(files, CorpusFormat(name, **missing))


@pytest.mark.parametrize("name", FORMATS)
def test_the_types_of_kept_fields_are_strings_unless_the_files_say_more(
    tmp_path: Path, name: str
) -> None:
    path = _write(tmp_path, FORMATS[name].encoding(KEPT, "none"), [Row("a", "x")])
    read_as = CorpusFormat(name, keep_fields=tuple(KEPT.names) if name in WITH_FIELDS else ())
    assert reading.kept_schema(str(path), read_as) == (
        KEPT if name in WITH_FIELDS else pa.schema([])
    )


def test_a_suffix_is_of_one_format_and_what_is_written_has_it() -> None:
    suffixes = [suffix for form in FORMATS.values() for suffix in form.SUFFIXES]
    assert len(set(suffixes)) == len(suffixes)
    for form in FORMATS.values():
        assert form.encoding(KEPT, "none").suffix in form.SUFFIXES


@pytest.mark.parametrize("unit", ["line", "file"])
@pytest.mark.parametrize(
    ("suffix", "proper"), [(end, name) for name in WITH_FIELDS for end in FORMATS[name].SUFFIXES]
)
@pytest.mark.parametrize("packed", ["", ".gz", ".zst"])
def test_a_file_with_fields_is_not_read_as_plain_text(
    tmp_path: Path, suffix: str, proper: str, packed: str, unit: str
) -> None:
    """Names of fields and marks would be sanitized too, and the release would be unusable."""
    (tmp_path / f"A{suffix.upper()}{packed}").write_bytes(b'{"text": "a"}\n')
    files = matching_files(str(tmp_path / "*"))
    plain_text = [name for name in FORMATS if name not in WITH_FIELDS]
    for name in plain_text:
        read_as = CorpusFormat(name, document_per=unit)
        with pytest.raises(CorpusError, match=f"use `input_format` {proper}"):
            reading.check_readable(files, read_as)
        with pytest.raises(CorpusError, match=f"use `input_format` {proper}"):
            list(reading.splits(files[0], read_as))


@pytest.mark.parametrize("name", WITH_FIELDS)
def test_only_a_file_without_fields_can_be_a_document(name: str) -> None:
    with pytest.raises(ConfigurationError, match="is for `input_format` text"):
        CorpusFormat(name, document_per="file")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"name": "orc"}, "`input_format` is one of"),
        ({"name": "csv", "encoding": "rot13"}, "`encoding` 'rot13' is not known"),
        ({"name": "csv", "encoding": "utf-99"}, "`encoding` 'utf-99' is not known"),
        ({"name": "parquet", "encoding": "latin-1"}, "`encoding` is for files of text"),
        ({"name": "jsonl", "table": TableSettings(";")}, "are for `input_format` csv or tsv"),
        ({"name": "csv", "table": TableSettings("ab")}, "`delimiter` is one ASCII character"),
        ({"name": "csv", "table": TableSettings('"')}, "`delimiter` is one ASCII character"),
        ({"name": "csv", "table": TableSettings(columns=("a", "a"))}, "names a column twice"),
        ({"name": "csv", "table": TableSettings(types=(("a", "int64"),))}, "does not name"),
        (
            {"name": "csv", "keep_fields": ("a",), "table": TableSettings(types=(("a", "int"),))},
            "`column_types` are of string, int64",
        ),
        ({"name": "text", "document_per": "page"}, "`document_per` is one of"),
        ({"name": "text", "keep_fields": ("a",)}, "plain text has no fields"),
        ({"name": "text", "group_by": "a"}, "plain text has no fields"),
        ({"name": "jsonl", "keep_fields": ("text",)}, "the text is never kept"),
        ({"name": "jsonl", "keep_fields": ("id",)}, "the text is never kept"),
        (
            {"name": "jsonl", "text_field": "body", "keep_fields": ("text",)},
            "its own field",
        ),
        (
            {"name": "jsonl", "id_field": "key", "keep_fields": ("id",)},
            "its own field",
        ),
        (
            {"name": "parquet", "text_field": "body", "keep_fields": ("text",)},
            "its own field",
        ),
        ({"name": "jsonl", "keep_fields": ("vector",)}, "its own field"),
        ({"name": "jsonl", "text_field": "body", "keep_fields": ("body",)}, "is never kept"),
        ({"name": "jsonl", "keep_fields": ("a", "b", "a")}, "names a field twice"),
        ({"name": "jsonl", "keep_fields": ("a", "")}, "the name of a field is empty"),
        ({"name": "jsonl", "text_field": ""}, "the name of a field is empty"),
        ({"name": "jsonl", "id_field": "text"}, "`id_field` names 'text'"),
        ({"name": "jsonl", "group_by": "text"}, "`group_by` names 'text'"),
        (
            {"name": "jsonl", "text_field": "v", "vector_dimensions": 2, "group_by": "v"},
            "`group_by` names 'v'",
        ),
        (
            {"name": "jsonl", "text_field": "v", "vector_dimensions": 2, "keep_fields": ("v",)},
            "never kept",
        ),
        (
            {"name": "jsonl", "text_field": "v", "vector_dimensions": 2, "id_field": "v"},
            "`id_field` names 'v'",
        ),
        ({"name": "jsonl", "largest_document": 0}, "`largest_document` must be a positive"),
        ({"name": "jsonl", "largest_document": -5}, "`largest_document` must be a positive"),
        ({"name": "jsonl", "document_per": "file"}, "is for `input_format` text"),
    ],
)
def test_formats_that_cannot_be_read(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        CorpusFormat(**settings)
