"""Text in other encodings than UTF-8: every format of text, and bytes that are not valid."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dxbeam.corpus.formats import FORMATS, CorpusFormat
from dxbeam.corpus.parsing.text_encodings import as_utf_8
from dxbeam.corpus.settings import Division
from dxbeam.documents import Rejected
from dxbeam.errors import CorpusError
from tests.support import corpora

OF_TEXT = [name for name, form in FORMATS.items() if "encoding" in form.TAKES]
ENCODINGS = ["latin-1", "cp1252", "utf-16", "utf-16-le", "utf-32", "shift_jis", "utf-8-sig"]
LINE = {
    "jsonl": '{{"id": "{0}", "text": "{1}"}}',
    "csv": '{0},"{1}"',
    "tsv": "{0}\t{1}",
    "text": "{1}",
}
HEADER = {"csv": ["id,text"], "tsv": ["id\ttext"]}


def _content(name: str, texts: list[str]) -> str:
    rows = [LINE[name].format(f"d{number}", text) for number, text in enumerate(texts)]
    return "".join(f"{row}\n" for row in [*HEADER.get(name, []), *rows])


@pytest.mark.parametrize("name", OF_TEXT)
@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("packed", [False, True])
def test_texts_are_read_in_their_encoding(
    tmp_path: Path, name: str, encoding: str, packed: bool
) -> None:
    texts = (
        ["日本語 テスト", "a", "カタカナ"] if encoding == "shift_jis" else ["naïve café", "a", "ÿé"]
    )
    content = _content(name, texts * 9).encode(encoding)
    path = tmp_path / ("c.gz" if packed else "c")
    path.write_bytes(gzip.compress(content) if packed else content)
    division = Division(20)  # many workers read each a share
    read = corpora.read(path, CorpusFormat(name, encoding=encoding, division=division))
    assert sorted(result[1] for result in read) == sorted(texts * 9)


@pytest.mark.parametrize("name", OF_TEXT)
def test_what_is_not_valid_is_rejected_alone_with_the_command_that_converts(
    tmp_path: Path, name: str
) -> None:
    content = _content(name, ["one", "secret X", "three"]).encode("cp1252")
    (tmp_path / "c").write_bytes(content.replace(b"X", b"\x81"))  # no character in cp1252
    first, second, third = corpora.read(tmp_path / "c", CorpusFormat(name, encoding="cp1252"))
    assert (first[1], third[1]) == ("one", "three")
    assert isinstance(second, Rejected)
    assert "not valid in the encoding cp1252; " in second.reason
    assert "iconv -c -f cp1252 -t UTF-8 FILE > NEW" in second.reason
    assert "secret" not in second.reason


def test_a_document_a_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes("zwei\nZeilen für dich".encode("utf-16"))
    (tmp_path / "b").write_bytes(b"\x81" * 9)
    read_as = CorpusFormat("text", document_per="file", encoding="utf-16")
    [first] = corpora.read(tmp_path / "a", read_as)
    assert first[1] == "zwei\nZeilen für dich"
    [_, second] = corpora.read(
        f"{tmp_path}/*", CorpusFormat("text", document_per="file", encoding="cp1252")
    )
    assert "not valid in the encoding cp1252 in several places" in second[1]


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(content=st.binary(max_size=200), encoding=st.sampled_from(ENCODINGS))
def test_any_bytes_become_documents_or_rejected_records(
    tmp_path: Path, content: bytes, encoding: str
) -> None:
    """Without the mark that UTF-16 begins with, nothing is guessed at."""
    (tmp_path / "c").write_bytes(content + b"x")
    try:
        corpora.read(tmp_path / "c", CorpusFormat("text", encoding=encoding))
    except CorpusError:
        with pytest.raises(CorpusError, match=f"byte order mark.*{encoding[:6]}-le"):
            corpora.read(tmp_path / "c", CorpusFormat("text", encoding=encoding))


@settings(max_examples=60, deadline=None)
@given(content=st.binary(max_size=200), encoding=st.sampled_from(ENCODINGS))
def test_blocks_have_no_influence(content: bytes, encoding: str) -> None:
    """Characters of several bytes may be divided between blocks."""

    def converted(block: int) -> bytes | str:
        try:
            return as_utf_8(io.BytesIO(content), "c.txt", encoding, block=block).read()
        except CorpusError as error:
            return str(error)

    assert converted(1) == converted(7) == converted(1000)
