"""Plain text whose documents are whole files, and files that are no plain text."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from dxbeam.corpus import reading
from dxbeam.corpus.files import matching_files
from dxbeam.corpus.formats import CorpusFormat
from dxbeam.documents import Document, Rejected
from dxbeam.errors import CorpusError
from tests.support import corpora


def test_a_file_can_be_a_document(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.txt").write_text("two\nlines")
    (tmp_path / "sub" / "b.txt.gz").write_bytes(gzip.compress(b"packed"))
    (tmp_path / "sub" / "c.txt").write_bytes("naïve café".encode("latin-1"))
    read_as = CorpusFormat("text", document_per="file", largest_document=1000)
    a, b, c = corpora.read(f"{tmp_path}/*/*", read_as)
    assert (a, b) == (Document("sub/a.txt", "two\nlines"), Document("sub/b.txt.gz", "packed"))
    assert isinstance(c, Rejected)
    assert c.reason.startswith("not valid UTF-8 at byte 2 and 1 further places; ")
    assert "iconv -f LATIN1 -t UTF-8" in c.reason


def test_a_damaged_byte_does_not_lose_a_file(tmp_path: Path) -> None:
    content = b"a dam\xffaged word and " + "\ufffd; fine ".encode() * 300
    (tmp_path / "a.txt").write_bytes(content + b"\xfe\xfe end")
    [document] = corpora.read(f"{tmp_path}/*", CorpusFormat("text", document_per="file"))
    assert isinstance(document, Document)
    assert document.text.startswith("a dam\ufffdaged word and \ufffd; fine ")
    assert document.text.endswith("\ufffd\ufffd end")
    (tmp_path / "a.txt").write_bytes(content + b"\xfe" * 5)
    [rejected] = corpora.read(f"{tmp_path}/*", CorpusFormat("text", document_per="file"))
    assert isinstance(rejected, Rejected)


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
    with pytest.raises(CorpusError, match=f"use `input_format` {proper}"):
        reading.check_readable(files, CorpusFormat("text", document_per=unit))
    with pytest.raises(CorpusError, match=f"use `input_format` {proper}"):
        list(reading.splits(files[0], CorpusFormat("text", document_per=unit)))
