"""Files -> documents: each record exactly once, however the corpus is divided."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dxbeam import corpus
from dxbeam.corpus import CorpusFormat, Split, matching_files, name_below
from dxbeam.documents import Document, Rejected

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
def test_parquet_row_groups(tmp_path: Path, kind: pa.DataType) -> None:
    texts = [None if i == 5 else f"w{i}" for i in range(23)]
    table = pa.table({"text": pa.array(texts).cast(kind), "label": list(range(23)), "x": [0] * 23})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=4)
    read_as = CorpusFormat("parquet", keep_fields=("label",))
    results = _read(tmp_path / "a.parquet", read_as)
    assert len(results) == 23
    assert results[5] == Rejected("a.parquet:5", "there is no field 'text', or it is null")
    assert results[22] == Document("a.parquet:22", "w22", '{"label": 22}')


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
