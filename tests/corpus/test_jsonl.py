"""JSON Lines -> documents: ids, fields, groups, and what is rejected."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dxbeam.corpus import reading
from dxbeam.corpus.files import matching_files
from dxbeam.corpus.formats import CorpusFormat
from dxbeam.corpus.settings import Division
from dxbeam.documents import Document, Rejected
from dxbeam.errors import CorpusError
from tests.support import corpora, tiny

JSONL = CorpusFormat("jsonl")


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
    whole = corpora.read(path, JSONL)
    assert corpora.read(path, CorpusFormat("jsonl", division=Division(size))) == whole
    assert len(whole) == len(texts)
    file_lines = path.read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n")
    for result, line in zip(whole, lines, strict=True):
        place = result.id if isinstance(result, Document) else result.where
        name, _, number = place.rpartition(":")
        assert name == "c.jsonl"
        assert file_lines[int(number) - 1].rstrip(b"\r") == line.encode()


@pytest.mark.parametrize(
    ("name", "content", "hint"),
    [
        ("a.txt", b"Some text.\nMore text.\n", "use `input_format` text"),
        ("a.csv", b"note;author\nSome text;me\n", "looks like CSV; use `input_format` csv"),
        ("a.tsv", b"note\tauthor\nSome text\tme\n", "looks like TSV; use `input_format` tsv"),
        ("a", b'"id","text"\n1,Some text\n', "looks like CSV"),
        ("a", b"\n\n[\n", r"JSON array.*jq -c '.\[\]'"),
        ("a", b'{\n "text": "a"\n}\n', "each on one line: jq"),
        ("a", b"{'text': 'a'}\n", "json.dumps"),
        ("a", b"PAR1\x00", "use `input_format` parquet"),
        ("a", gzip.compress(b"{}", mtime=0), "let its name end in .gz"),
        ("a", '{"text": "a"}'.encode("utf-16"), "iconv -f UTF-16"),
    ],
)
def test_another_format_is_refused_at_once_and_named(
    tmp_path: Path, name: str, content: bytes, hint: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(CorpusError, match=f"not in JSON Lines: .*{hint}") as refused:
        reading.check_readable(matching_files(str(tmp_path / name)), JSONL)
    assert "Some" not in str(refused.value)


@pytest.mark.parametrize(
    ("value", "settings", "why"),
    [
        ([1], CorpusFormat("jsonl", keep_fields=("x",)), "'x' is a list or an object"),
        ({}, CorpusFormat("jsonl", group_by="x"), "'x' is a list or an object"),
        ([1], CorpusFormat("jsonl", epsilon_by="x"), "'x' is a list or an object"),
        (1.5, CorpusFormat("jsonl", id_field="x"), "'x' is neither a string nor an integer"),
        (7, CorpusFormat("jsonl", text_field="x"), "'x' is not text"),
        ("7", CorpusFormat("jsonl", text_field="x", vector_dimensions=2), "not a list of numbers"),
    ],
)
def test_a_field_of_the_wrong_kind_is_refused_at_once(
    tmp_path: Path, value: object, settings: CorpusFormat, why: str
) -> None:
    rows: list[dict[str, Any]] = [{"text": "a", "x": value}] * 3
    corpus = tiny.write_jsonl(tmp_path / "c.jsonl", rows)
    with pytest.raises(CorpusError, match=why):
        reading.check_readable(matching_files(str(corpus)), settings)
    usable = [1.5] if settings.vector_dimensions else "a"
    tiny.write_jsonl(corpus, [*rows, {"text": "a", "x": usable}])
    reading.check_readable(matching_files(str(corpus)), settings)  # some rows can be used


@pytest.mark.parametrize("size", [1, 3, 40, 1000])
@pytest.mark.parametrize("packed", [False, True])
def test_ids_say_nothing_about_the_lengths_of_texts(
    tmp_path: Path, size: int, packed: bool
) -> None:
    """Two corpora that differ in the length of every text have the same ids."""
    read_as = CorpusFormat("jsonl", division=Division(size))
    name = "c.jsonl.gz" if packed else "c.jsonl"
    found = []
    for number, texts in enumerate([["a", "b", "", "c"], ["a" * 99, "b" * 7, "x" * 300, "é"]]):
        folder = tmp_path / str(number)
        folder.mkdir()
        lines = [json.dumps({"text": text}) for text in texts]
        content = "\n".join([*lines[:2], "", *lines[2:]]).encode()
        (folder / name).write_bytes(gzip.compress(content) if packed else content)
        found.append(sorted(result[0] for result in corpora.read(folder / name, read_as)))
    assert found[0] == found[1] == [f"{name}:{number}" for number in (1, 2, 4, 5)]


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
    first, second, third = corpora.read(path, read_as)
    assert first == ("7", "a", '{"label": "x", "n": 1.5, "no": null}', "x", "")
    assert second == ("c.jsonl:3", "b", '{"label": 3}', "3", "")
    assert third[0] == "c.jsonl:5"
    assert third[2:] == ("{}", "", "")


@pytest.mark.parametrize(
    ("given", "name"),
    [("7", "7"), ('"7"', "7"), ('""', ""), ("-1", "-1"), (f"{10**30}", f"{10**30}")],
)
def test_ids_are_strings_or_integers(tmp_path: Path, given: str, name: str) -> None:
    path = tiny.write_jsonl(tmp_path / "c.jsonl", [f'{{"id": {given}, "text": "a"}}'.encode()])
    assert corpora.read(path, JSONL) == [Document(name, "a")]


@pytest.mark.parametrize("given", ["1.5", "true", "[7]", "{}"])
def test_anything_else_is_no_id(tmp_path: Path, given: str) -> None:
    path = tiny.write_jsonl(tmp_path / "c.jsonl", [f'{{"id": {given}, "text": "a"}}'.encode()])
    [rejected] = corpora.read(path, JSONL)
    assert rejected == Rejected("c.jsonl:1", "the field 'id' is neither a string nor an integer")


@pytest.mark.parametrize("given", ["[1]", '{"a": 1}'])
def test_kept_fields_are_single_values(tmp_path: Path, given: str) -> None:
    path = tiny.write_jsonl(tmp_path / "c.jsonl", [f'{{"x": {given}, "text": "a"}}'.encode()])
    [rejected] = corpora.read(path, CorpusFormat("jsonl", keep_fields=("x",)))
    assert isinstance(rejected, Rejected)
    assert rejected.reason.startswith("a kept field is neither")


@pytest.mark.parametrize("given", ["NaN", "1e999"])
def test_kept_fields_are_values_that_json_knows(tmp_path: Path, given: str) -> None:
    path = tiny.write_jsonl(tmp_path / "c.jsonl", [f'{{"x": {given}, "text": "a"}}'.encode()])
    [result] = corpora.read(path, CorpusFormat("jsonl", keep_fields=("x",)))
    assert isinstance(result, Rejected) or json.loads(result.fields) == {"x": None}


def test_other_names_for_text_and_id(tmp_path: Path) -> None:
    (tmp_path / "c.jsonl").write_text('{"key": "k", "body": "a"}\n')
    read_as = CorpusFormat("jsonl", text_field="body", id_field="key")
    assert corpora.read(tmp_path / "c.jsonl", read_as) == [Document("k", "a")]


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
        reading.check_readable(files, CorpusFormat("jsonl", keep_fields=("x",)))
        with pytest.raises(CorpusError, match=f"has a field '{field}'"):
            reading.check_readable(files, CorpusFormat("jsonl", **named))


def test_the_group_is_a_single_value(tmp_path: Path) -> None:
    """A record of records, such as one that holds the text again, is not written to the metrics."""
    path = tiny.write_jsonl(tmp_path / "c.jsonl", [{"text": "a", "meta": {"text": "a"}}])
    [rejected] = corpora.read(path, CorpusFormat("jsonl", group_by="meta"))
    assert isinstance(rejected, Rejected)
    assert rejected.reason.startswith("the group is neither")


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
    [split] = reading.splits(matching_files(str(path))[0], JSONL)
    assert list(reading.ids(split, JSONL)) == found
