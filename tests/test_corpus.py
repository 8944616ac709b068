"""Files -> documents: each record exactly once, however the corpus is divided."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dxbeam import corpus
from dxbeam.corpus import CorpusFormat, Split, matching_files, name_below
from dxbeam.documents import Document, Rejected
from dxbeam.errors import ConfigurationError, CorpusError
from tests import tiny

JSONL, TEXT = CorpusFormat("jsonl"), CorpusFormat("text")


def _read(pattern: Path | str, read_as: CorpusFormat) -> list[Document | Rejected]:
    results: list[Document | Rejected] = []
    for file in matching_files(str(pattern)):
        for split in corpus.splits(file, read_as):
            results += corpus.read(split, read_as) if isinstance(split, Split) else [split]
    return results


@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    lines=st.lists(st.text(alphabet="ab é\r", max_size=30), min_size=1, max_size=40),
    size=st.integers(1, 50),
    ended=st.booleans(),
    packed=st.sampled_from(["", ".gz", ".zst"]),
)
def test_any_division_reads_each_line_once(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    lines: list[str],
    size: int,
    ended: bool,
    packed: str,
) -> None:
    content = "\n".join(lines).encode() + (b"\n" if ended else b"")
    if not content:
        return
    path = tmp_path / f"lines.txt{packed}"
    pack = {"": bytes, ".gz": gzip.compress, ".zst": zstandard.compress}[packed]
    path.write_bytes(pack(content))
    monkeypatch.setattr(corpus, "_SPLIT_BYTES", size)
    monkeypatch.setattr(corpus, "_LINES_A_RUN", 1 + size % 3)
    expected, offset = [], 0
    for line in content.splitlines(keepends=True) if b"\r" not in content else _lines(content):
        expected.append((f"lines.txt{packed}:{offset}", line.rstrip(b"\r\n").decode()))
        offset += len(line)
    found = [(result.id, result.text) for result in _read(path, TEXT)]  # type: ignore[union-attr]
    assert sorted(found) == sorted(expected)


def _lines(content: bytes) -> list[bytes]:
    parts = content.split(b"\n")
    lines = [part + b"\n" for part in parts[:-1]]
    return lines + ([parts[-1]] if parts[-1] else [])


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    texts=st.lists(st.text(max_size=20) | st.none(), min_size=1, max_size=30),
    end=st.sampled_from(["\n", "\r\n", "\n\n", "\n \t\n"]),
    size=st.integers(1, 60),
    mark=st.booleans(),
)
def test_any_division_reads_each_json_record_where_it_stands(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    texts: list[str | None],
    end: str,
    size: int,
    mark: bool,
) -> None:
    """Blank lines, line ends of either kind and a byte order mark are no records."""
    path = tmp_path / "c.jsonl"
    lines = [json.dumps({"text": text}, ensure_ascii=False) for text in texts]
    content = "\ufeff" * mark + end.join(lines)
    path.write_bytes(content.encode())
    whole = _read(path, JSONL)
    with monkeypatch.context() as patch:
        patch.setattr(corpus, "_SPLIT_BYTES", size)
        assert _read(path, JSONL) == whole
    assert len(whole) == len(texts)
    for result, line in zip(whole, lines, strict=True):
        place = result.id if isinstance(result, Document) else result.where
        name, _, position = place.rpartition(":")
        assert name == "c.jsonl"
        found = path.read_bytes()[int(position) :].removeprefix(b"\xef\xbb\xbf")
        assert found.startswith(line.encode())


def test_a_byte_order_mark_is_one_at_the_start_of_a_file_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "c.txt").write_bytes("\ufeffa\n\ufeffb\n".encode())
    monkeypatch.setattr(corpus, "_SPLIT_BYTES", 5)
    assert _read(tmp_path / "c.txt", TEXT) == [
        Document("c.txt:0", "a"),
        Document("c.txt:5", "\ufeffb"),
    ]


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_record_that_is_too_long_is_passed_over_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    (tmp_path / "c.txt").write_bytes(b"a\n" + b"x" * 11 + b"\n" + b"y" * 10 + b"\nb")
    monkeypatch.setattr(corpus, "_SPLIT_BYTES", size)
    results = _read(tmp_path / "c.txt", CorpusFormat("text", largest_document=10))
    assert results == [
        Document("c.txt:0", "a"),
        Rejected("c.txt:2", "the record is longer than 10 bytes"),
        Document("c.txt:14", "y" * 10),
        Document("c.txt:25", "b"),
    ]


@pytest.mark.parametrize("packed", [".gz", ".zst"])
def test_packed_files_may_be_joined(tmp_path: Path, packed: str) -> None:
    pack = {".gz": gzip.compress, ".zst": zstandard.compress}[packed]
    (tmp_path / f"c.txt{packed}").write_bytes(pack(b"a\nb") + pack(b"c\nd\n"))
    found = _read(tmp_path / f"c.txt{packed}", TEXT)
    assert [result[1] for result in found] == ["a", "bc", "d"]


def test_a_truncated_file_is_reported_once_however_many_share_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [f"{i}{'é' * (i % 50)}" for i in range(20_000)]
    whole = zstandard.compress("\n".join(lines).encode())
    (tmp_path / "c.txt.zst").write_bytes(whole[: len(whole) // 2])
    monkeypatch.setattr(corpus, "_SPLIT_BYTES", 1000)
    results = _read(tmp_path / "c.txt.zst", TEXT)
    [rejected] = [result for result in results if isinstance(result, Rejected)]
    assert "cannot be read to its end" in rejected.reason
    texts = [result.text for result in results if isinstance(result, Document)]
    assert sorted(texts) == sorted(lines[: len(texts)])


def test_fields_ids_groups_and_blank_lines(tmp_path: Path) -> None:
    records = [
        {"id": 7, "text": "a", "label": "x", "n": 1.5, "no": None},
        {"text": "b", "label": 3},
        {"id": None, "text": "c", "other": "dropped"},
    ]
    path = tmp_path / "c.jsonl"
    lines = [json.dumps(record) for record in records]
    path.write_bytes(b"\xef\xbb\xbf" + "\n\n".join(lines).encode())
    read_as = CorpusFormat("jsonl", keep_fields=("label", "n", "no"), group_by="label")
    first, second, third = _read(path, read_as)
    assert first == ("7", "a", '{"label": "x", "n": 1.5, "no": null}', "x")
    assert second == (f"c.jsonl:{len(lines[0]) + 5}", "b", '{"label": 3}', "3")
    assert third[0].startswith("c.jsonl:")
    assert third[2:] == ("{}", "")


@pytest.mark.parametrize(
    ("given", "name"),
    [("7", "7"), ('"7"', "7"), ('""', ""), ("-1", "-1"), (f"{10**30}", f"{10**30}")],
)
def test_ids_are_strings_or_integers(tmp_path: Path, given: str, name: str) -> None:
    path = tiny.write_jsonl(tmp_path / "c.jsonl", [f'{{"id": {given}, "text": "a"}}'.encode()])
    assert _read(path, JSONL) == [Document(name, "a")]


@pytest.mark.parametrize("given", ["1.5", "true", "[7]", "{}"])
def test_anything_else_is_no_id(tmp_path: Path, given: str) -> None:
    path = tiny.write_jsonl(tmp_path / "c.jsonl", [f'{{"id": {given}, "text": "a"}}'.encode()])
    [rejected] = _read(path, JSONL)
    assert rejected == Rejected("c.jsonl:0", "the field 'id' is neither a string nor an integer")


@pytest.mark.parametrize("given", ["[1]", '{"a": 1}'])
def test_kept_fields_are_single_values(tmp_path: Path, given: str) -> None:
    path = tiny.write_jsonl(tmp_path / "c.jsonl", [f'{{"x": {given}, "text": "a"}}'.encode()])
    [rejected] = _read(path, CorpusFormat("jsonl", keep_fields=("x",)))
    assert isinstance(rejected, Rejected)
    assert rejected.reason.startswith("a kept field is neither")


@pytest.mark.parametrize("given", ["NaN", "1e999"])
def test_kept_fields_are_values_that_json_knows(tmp_path: Path, given: str) -> None:
    path = tiny.write_jsonl(tmp_path / "c.jsonl", [f'{{"x": {given}, "text": "a"}}'.encode()])
    [result] = _read(path, CorpusFormat("jsonl", keep_fields=("x",)))
    assert isinstance(result, Rejected) or json.loads(result.fields) == {"x": None}


def test_other_names_for_text_and_id(tmp_path: Path) -> None:
    (tmp_path / "c.jsonl").write_text('{"key": "k", "body": "a"}\n')
    read_as = CorpusFormat("jsonl", text_field="body", id_field="key")
    assert _read(tmp_path / "c.jsonl", read_as) == [Document("k", "a")]


def test_a_file_can_be_a_document(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.txt").write_text("two\nlines")
    (tmp_path / "sub" / "b.txt.gz").write_bytes(gzip.compress(b"packed"))
    (tmp_path / "sub" / "c.txt").write_bytes(b"\xff")
    read_as = CorpusFormat("text", document_per="file", largest_document=1000)
    a, b, c = _read(f"{tmp_path}/*/*", read_as)
    assert (a, b) == (Document("sub/a.txt", "two\nlines"), Document("sub/b.txt.gz", "packed"))
    assert isinstance(c, Rejected)
    assert c.reason == "not valid UTF-8 at byte 0"


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())]
)
def test_parquet_row_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: pa.DataType
) -> None:
    monkeypatch.setattr(corpus, "_ROWS_A_READ", 3)
    texts = [None if i == 5 else f"w{i}" for i in range(23)]
    table = pa.table({"text": pa.array(texts).cast(kind), "label": list(range(23)), "x": [0] * 23})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=4)
    read_as = CorpusFormat("parquet", keep_fields=("label",))
    results = _read(tmp_path / "a.parquet", read_as)
    expected: list[Document | Rejected] = [
        Document(f"a.parquet:{i}", f"w{i}", f'{{"label": {i}}}') for i in range(23)
    ]
    expected[5] = Rejected("a.parquet:5", "there is no field 'text', or it is null")
    assert results == expected


def test_parquet_ids_and_empty_files(tmp_path: Path) -> None:
    table = pa.table({"id": pa.array([1, None, 3]), "text": ["a", "b", "c"]})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=1)
    pq.write_table(table.slice(0, 0), tmp_path / "b.parquet")
    assert [result[0] for result in _read(f"{tmp_path}/*", CorpusFormat("parquet"))] == [
        "1",
        "a.parquet:1",
        "3",
    ]


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"body": ["a"]}, "no column 'text'"),
        ({"text": [1], "label": [1]}, "the Parquet column 'text' holds int64, not strings"),
        ({"text": ["a"]}, "no column 'label'"),
    ],
)
def test_a_parquet_file_of_another_schema_is_refused_before_work_starts(
    tmp_path: Path, columns: dict[str, list[object]], said: str
) -> None:
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    read_as = CorpusFormat("parquet", keep_fields=("label",))
    with pytest.raises(CorpusError, match=said):
        corpus.check_readable(matching_files(str(tmp_path / "*")), read_as)


def test_a_corpus_has_files_and_they_hold_something(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="no file matches"):
        matching_files(str(tmp_path / "*"))
    (tmp_path / "a").touch()
    with pytest.raises(CorpusError, match="the corpus is empty"):
        matching_files(str(tmp_path / "*"))
    (tmp_path / "b").write_text("x")
    assert [file[1:] for file in matching_files(str(tmp_path / "*"))] == [("a", 0), ("b", 1)]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"name": "csv"}, "--input_format is one of"),
        ({"name": "text", "document_per": "page"}, "--document_per is one of"),
        ({"name": "text", "keep_fields": ("a",)}, "plain text has no fields"),
        ({"name": "text", "group_by": "a"}, "plain text has no fields"),
        ({"name": "jsonl", "keep_fields": ("text",)}, "the text is never kept"),
        ({"name": "jsonl", "keep_fields": ("id",)}, "the text is never kept"),
    ],
)
def test_formats_that_cannot_be_read(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        CorpusFormat(**settings)


@pytest.mark.parametrize(
    ("pattern", "path", "name"),
    [
        ("/data/*.jsonl", "/data/a.jsonl", "a.jsonl"),
        ("/data/**/x-?.txt", "/data/1/x-2.txt", "1/x-2.txt"),
        ("/data/a.jsonl", "/data/a.jsonl", "a.jsonl"),
        ("gs://bucket/year=*/a", "gs://bucket/year=1/a", "year=1/a"),
        ("file:///data/*", "/data/a", "a"),
        ("a.jsonl", "a.jsonl", "a.jsonl"),
    ],
)
def test_a_file_is_named_by_its_path_below_the_corpus(pattern: str, path: str, name: str) -> None:
    assert name_below(pattern, path) == name
