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

from dxbeam.corpus import files as corpus
from dxbeam.corpus.files import CorpusFormat, matching_files, name_below
from dxbeam.documents import Document, Rejected, dead_letter_cap, field_names
from dxbeam.errors import ConfigurationError, CorpusError, RunError
from tests.support import tiny

JSONL, TEXT = CorpusFormat("jsonl"), CorpusFormat("text")


def _read(pattern: Path | str, read_as: CorpusFormat) -> list[Document | Rejected]:
    """All records, as workers read them: split by split, numbered by what was counted."""
    results: list[Document | Rejected] = []
    for file in matching_files(str(pattern)):
        splits = list(corpus.splits(file, read_as))
        counted = [(split, corpus.count_records(split, read_as)) for split in reversed(splits)]
        for split in corpus.numbered(counted):
            results += corpus.read(split, read_as)
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
    expected = [
        (f"lines.txt{packed}:{number}", line.rstrip(b"\r\n").decode())
        for number, line in enumerate(_lines(content), 1)
    ]
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
    file_lines = path.read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n")
    for result, line in zip(whole, lines, strict=True):
        place = result.id if isinstance(result, Document) else result.where
        name, _, number = place.rpartition(":")
        assert name == "c.jsonl"
        assert file_lines[int(number) - 1].rstrip(b"\r") == line.encode()


@pytest.mark.parametrize("size", [1, 3, 40, 1000])
@pytest.mark.parametrize("packed", [False, True])
def test_ids_say_nothing_about_the_lengths_of_texts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, packed: bool
) -> None:
    """Two corpora that differ in the length of every text have the same ids."""
    monkeypatch.setattr(corpus, "_SPLIT_BYTES", size)
    name = "c.jsonl.gz" if packed else "c.jsonl"
    found = []
    for number, texts in enumerate([["a", "b", "", "c"], ["a" * 99, "b" * 7, "x" * 300, "é"]]):
        folder = tmp_path / str(number)
        folder.mkdir()
        lines = [json.dumps({"text": text}) for text in texts]
        content = "\n".join([*lines[:2], "", *lines[2:]]).encode()
        (folder / name).write_bytes(gzip.compress(content) if packed else content)
        found.append(sorted(result[0] for result in _read(folder / name, JSONL)))
    assert found[0] == found[1] == [f"{name}:{number}" for number in (1, 2, 4, 5)]


def test_a_byte_order_mark_is_one_at_the_start_of_a_file_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "c.txt").write_bytes("\ufeffa\n\ufeffb\n".encode())
    monkeypatch.setattr(corpus, "_SPLIT_BYTES", 5)
    assert _read(tmp_path / "c.txt", TEXT) == [
        Document("c.txt:1", "a"),
        Document("c.txt:2", "\ufeffb"),
    ]


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_record_that_is_too_long_is_passed_over_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    (tmp_path / "c.txt").write_bytes(b"a\n" + b"x" * 11 + b"\n" + b"y" * 10 + b"\nb")
    monkeypatch.setattr(corpus, "_SPLIT_BYTES", size)
    results = _read(tmp_path / "c.txt", CorpusFormat("text", largest_document=10))
    assert results == [
        Document("c.txt:1", "a"),
        Rejected("c.txt:2", "the record is longer than 10 bytes"),
        Document("c.txt:3", "y" * 10),
        Document("c.txt:4", "b"),
    ]


@pytest.mark.parametrize("packed", [".gz", ".zst"])
def test_packed_files_may_be_joined(tmp_path: Path, packed: str) -> None:
    pack = {".gz": gzip.compress, ".zst": zstandard.compress}[packed]
    (tmp_path / f"c.txt{packed}").write_bytes(pack(b"a\nb") + pack(b"c\nd\n"))
    found = _read(tmp_path / f"c.txt{packed}", TEXT)
    assert [result[1] for result in found] == ["a", "bc", "d"]


@pytest.mark.parametrize("packed", [".gz", ".zst"])
@pytest.mark.parametrize("size", [1000, 1 << 20])
def test_a_truncated_file_is_known_before_anything_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packed: str, size: int
) -> None:
    pack = {".gz": gzip.compress, ".zst": zstandard.compress}[packed]
    whole = pack("\n".join(f"{i}{'é' * (i % 50)}" for i in range(20_000)).encode())
    (tmp_path / f"c.txt{packed}").write_bytes(whole[: len(whole) // 2])
    monkeypatch.setattr(corpus, "_SPLIT_BYTES", size)
    [file] = matching_files(str(tmp_path / "*"))
    failed = []
    for split in corpus.splits(file, TEXT):
        try:
            corpus.count_records(split, TEXT)
        except CorpusError as error:
            failed.append(str(error))
    [said] = failed
    assert "cannot be read to its end" in said


def test_zeros_after_a_packed_file_are_passed_over(tmp_path: Path) -> None:
    """As tape archives and copies in blocks leave them; gzip itself ignores them."""
    lines = "".join(f"line {i}\n" for i in range(24)).encode()
    padded = gzip.compress(lines) + bytes(700)
    (tmp_path / "c.txt.gz").write_bytes(padded)
    assert len(_read(tmp_path / "c.txt.gz", TEXT)) == 24
    (tmp_path / "c.txt.gz").write_bytes(padded + gzip.compress(b"more"))
    assert len(_read(tmp_path / "c.txt.gz", TEXT)) == 25


@pytest.mark.parametrize("damage", ["byte", "tail", "no gzip"])
def test_a_damaged_packed_file_is_no_whole_one(tmp_path: Path, damage: str) -> None:
    packed = bytearray(gzip.compress("".join(f"{i * i}\n" for i in range(5000)).encode()))
    if damage == "byte":
        packed[len(packed) // 2] ^= 255
    content = {"byte": packed, "tail": packed + b"junk", "no gzip": b"plain"}[damage]
    (tmp_path / "c.txt.gz").write_bytes(content)
    with pytest.raises(CorpusError, match="cannot be read to its end"):
        _read(tmp_path / "c.txt.gz", TEXT)


def test_a_damaged_row_group_is_no_whole_file(tmp_path: Path) -> None:
    table = pa.table({"text": [f"w{i * i}" for i in range(3000)]})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=1000, compression="zstd")
    content = bytearray((tmp_path / "a.parquet").read_bytes())
    content[len(content) // 2 : len(content) // 2 + 200] = bytes(200)
    (tmp_path / "a.parquet").write_bytes(content)
    with pytest.raises(CorpusError, match="cannot be read to its end"):
        _read(tmp_path / "a.parquet", CorpusFormat("parquet"))


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
    assert second == ("c.jsonl:3", "b", '{"label": 3}', "3")
    assert third[0] == "c.jsonl:5"
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
    assert rejected == Rejected("c.jsonl:1", "the field 'id' is neither a string nor an integer")


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
        Document(f"a.parquet:{i + 1}", f"w{i}", f'{{"label": {i}}}') for i in range(23)
    ]
    expected[5] = Rejected("a.parquet:6", "there is no field 'text', or it is null")
    assert results == expected


def test_parquet_ids_and_empty_files(tmp_path: Path) -> None:
    table = pa.table({"id": pa.array([1, None, 3]), "text": ["a", "b", "c"]})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=1)
    pq.write_table(table.slice(0, 0), tmp_path / "b.parquet")
    assert [result[0] for result in _read(f"{tmp_path}/*", CorpusFormat("parquet"))] == [
        "1",
        "a.parquet:2",
        "3",
    ]


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"body": ["a"]}, "no column 'text'"),
        ({"text": [1], "label": [1]}, "the Parquet column 'text' holds int64, not strings"),
        ({"text": ["a"]}, "no column 'label'"),
        ({"body": ["a"], "label": [1], "id": ["a"]}, "no column 'text'"),
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
        ({"name": "jsonl", "text_field": "body", "keep_fields": ("text",)}, "a field of its own"),
        ({"name": "jsonl", "id_field": "key", "keep_fields": ("id",)}, "a field of its own"),
        ({"name": "parquet", "text_field": "body", "keep_fields": ("text",)}, "a field of its own"),
        ({"name": "jsonl", "keep_fields": ("vector",)}, "a field of its own"),
        ({"name": "jsonl", "text_field": "body", "keep_fields": ("body",)}, "is never kept"),
        ({"name": "jsonl", "keep_fields": ("a", "b", "a")}, "names a field twice"),
        ({"name": "jsonl", "keep_fields": ("a", "")}, "the name of a field is empty"),
        ({"name": "jsonl", "text_field": ""}, "the name of a field is empty"),
        ({"name": "jsonl", "id_field": "text"}, "id_field names 'text'"),
        ({"name": "jsonl", "group_by": "text"}, "group_by names 'text'"),
        (
            {"name": "jsonl", "text_field": "v", "vector_dimensions": 2, "group_by": "v"},
            "group_by names 'v'",
        ),
        (
            {"name": "jsonl", "text_field": "v", "vector_dimensions": 2, "keep_fields": ("v",)},
            "never kept",
        ),
        (
            {"name": "jsonl", "text_field": "v", "vector_dimensions": 2, "id_field": "v"},
            "id_field names 'v'",
        ),
        ({"name": "jsonl", "largest_document": 0}, "--largest_document must be a positive"),
        ({"name": "jsonl", "largest_document": -5}, "--largest_document must be a positive"),
        ({"name": "jsonl", "document_per": "file"}, "is for --input_format text"),
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


@pytest.mark.parametrize("field", ["label", "stars", "key"])
def test_a_field_that_no_record_has_is_refused_before_work_starts(
    tmp_path: Path, field: str
) -> None:
    records: list[dict[str, Any] | bytes] = [b"", b"no JSON", {"text": "a", "x": 1}, {"text": "b"}]
    path = tiny.write_jsonl(tmp_path / "c.jsonl", records)
    (tmp_path / "c.jsonl.gz").write_bytes(gzip.compress(path.read_bytes()))
    named: dict[str, Any] = {
        "label": {"keep_fields": ("x", "label")},
        "stars": {"group_by": "stars"},
        "key": {"id_field": "key"},
    }[field]
    for name in ("c.jsonl", "c.jsonl.gz"):
        files = matching_files(str(tmp_path / name))
        corpus.check_readable(files, CorpusFormat("jsonl", keep_fields=("x",)))
        with pytest.raises(CorpusError, match=f"has a field '{field}'"):
            corpus.check_readable(files, CorpusFormat("jsonl", **named))


def test_the_group_is_a_single_value(tmp_path: Path) -> None:
    """A record of records, such as one that holds the text again, is not written to the metrics."""
    path = tiny.write_jsonl(tmp_path / "c.jsonl", [{"text": "a", "meta": {"text": "a"}}])
    [rejected] = _read(path, CorpusFormat("jsonl", group_by="meta"))
    assert isinstance(rejected, Rejected)
    assert rejected.reason.startswith("the group is neither")


@pytest.mark.parametrize(
    ("name", "proper"),
    [("a.jsonl", "jsonl"), ("a.json.gz", "jsonl"), ("A.NDJSON", "jsonl"), ("a.parquet", "parquet")],
)
@pytest.mark.parametrize("unit", ["line", "file"])
def test_what_stands_around_texts_is_not_read_as_text(
    tmp_path: Path, name: str, proper: str, unit: str
) -> None:
    (tmp_path / name).write_bytes(b'{"text": "a"}\n')
    files = matching_files(str(tmp_path / "*"))
    with pytest.raises(CorpusError, match=f"use --input_format {proper}"):
        corpus.check_readable(files, CorpusFormat("text", document_per=unit))
    with pytest.raises(CorpusError, match=f"use --input_format {proper}"):
        list(corpus.splits(files[0], CorpusFormat("text", document_per=unit)))


@pytest.mark.parametrize(
    ("record", "found"),
    [
        (b'{"id": "x", "text": "a"}', ["x"]),
        (b'{"id": 7, "text": "a"}', ["7"]),
        (b'{"text": "a"}', ["c.jsonl:1"]),
        (b'\xef\xbb\xbf{"id": "x", "text": "a"}', ["x"]),
        (b'{"id": "x", "text": "a\xff"}', ["x"]),
        (b'{"id": "x", "text": "a\x00"}', ["x"]),
        (b'{"id": "x", "text": "a\\u0000"}', ["x"]),
        (b'{"id": "x", "text": "a\\ud800"}', ["x"]),
        (b'{"id": "x"}', ["x"]),
        (b'{"id": "x", "text": 7}', ["x"]),
        (b'{"id": "\\ud800", "text": "a"}', []),
        (b'{"id": [1], "text": "a"}', []),
        (b"no JSON", []),
        (b"", []),
    ],
)
def test_a_record_has_its_id_whatever_its_text_is(
    tmp_path: Path, record: bytes, found: list[str]
) -> None:
    path = tiny.write_jsonl(tmp_path / "c.jsonl", [record])
    [split] = corpus.splits(matching_files(str(path))[0], JSONL)
    assert list(corpus.ids(split, JSONL)) == found


@pytest.mark.parametrize(
    ("listed", "names"),
    [("doc, body", ("doc", "body")), (" a ,b,, ", ("a", "b")), ("", ()), ("a b", ("a b",))],
)
def test_names_of_fields_in_a_list(listed: str, names: tuple[str, ...]) -> None:
    assert field_names(listed) == names


@pytest.mark.parametrize(
    ("given", "dead", "records", "passes"),
    [
        ("0", 0, 5, True),
        ("0", 1, 5, False),
        ("3", 3, 5, True),
        ("3", 4, 5, False),
        ("50%", 2, 4, True),
        ("50%", 3, 4, False),
        ("0.5%", 1, 200, True),
        ("0.5 %", 2, 200, False),
    ],
)
def test_dead_letters_up_to_a_cap(given: str, dead: int, records: int, passes: bool) -> None:
    cap = dead_letter_cap(given)
    assert cap
    if passes:
        cap.check(dead, records)
        return
    with pytest.raises(RunError, match=f"{dead} of {records} records went to the dead letters"):
        cap.check(dead, records)


@pytest.mark.parametrize("given", ["", "-1", "1.5", "%", "101%", "-1%", "nan%", "many", "٣"])
def test_a_cap_is_a_number_or_a_percentage(given: str) -> None:
    with pytest.raises(ConfigurationError, match="`max_dead_letters`"):
        dead_letter_cap(given)
