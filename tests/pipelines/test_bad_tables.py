"""Files and flags of tables, encodings and scripts that cannot be used: a sentence, never a trace.

What a single row can have wrong is in tests/corpus/test_delimited.py.
"""

from __future__ import annotations

import gzip
import io
import traceback
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dxbeam.errors import DxbeamError
from tests.support import tiny

GOOD = b"id,text,stars\na,secret words,1\n"


def _parquet() -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table({"id": ["a"], "text": ["secret"]}), buffer)
    return buffer.getvalue()


FILES = [
    (b"id,body\na,secret\n", "", "has no column 'text'"),
    (GOOD, "--keep_fields=label", "has no column 'label'"),
    (GOOD, "--group_by=label", "has no column 'label'"),
    (GOOD, "--epsilon_by=label:x=1", "has no column 'label'"),
    (GOOD, "--id_field=key", "has no column 'key'"),
    (b"id,text,text\na,secret,b\n", "", "several columns 'text'"),
    (b"a,secret words,1\n", "", "name the columns with `columns`"),
    (b"id;text\na;secret\n", "", "no column 'text' among 1; check the names of fields"),
    (GOOD, "--columns=id,stars", "has no column 'text'"),
    (b'{"id": "a", "text": "secret"}\n', "", "use `input_format` jsonl"),
    (b'[{"id": "a", "text": "secret"}]\n', "", "use `input_format` jsonl"),
    (_parquet(), "", "it is Parquet; use `input_format` parquet"),
    (gzip.compress(GOOD, mtime=0), "", "let its name end in .gz"),
    (b"PK\x03\x04secret", "", "it is a zip archive"),
    (b"%PDF-1.7 secret", "", "it is a PDF"),
    (GOOD.decode().encode("utf-16"), "", "give `encoding` utf-16"),
    (GOOD.decode().encode("utf-16-le"), "", "has no column 'text'"),
    (GOOD, "--encoding=utf-16", "does not start with a byte order mark"),
    (GOOD, "--encoding=utf-32", "does not start with a byte order mark"),
    (b"id,t\xe9xt\na,secret\n", "--text_field=t\u00e9xt", "check `encoding` and `delimiter`"),
    (GOOD.replace(b"\n", b"\r"), "", "first row cannot be read as names of columns"),
    (b'id,"text\na,secret\n', "", "line 1 opens a quote that is never closed"),
    (b'id,"te"xt\na,secret\n', "", "first row cannot be read as names of columns"),
    (b"", "", "the corpus is empty"),
    (b"\n\n\n", "", "has no column 'text'"),
    (GOOD, "--input_format=jsonl", "looks like CSV; use `input_format` csv"),
    (GOOD.replace(b",", b"\t"), "--input_format=jsonl", "looks like TSV; use `input_format` tsv"),
    (GOOD, "--input_format=text", "use `input_format` csv"),
    (GOOD, "--input_format=text --document_per=file", "use `input_format` csv"),
    (GOOD, "--input_format=parquet", "not a Parquet file; use another `input_format`"),
    (b'id,text\na,"secret\n', "", "line 2 opens a quote that is never closed"),
]
FLAGS = [
    ("--encoding=utf-99", "`encoding` 'utf-99' is not known"),
    ("--encoding=rot13", "`encoding` 'rot13' is not known"),
    ("--encoding=hex", "`encoding` 'hex' is not known"),
    ("--encoding=", "`encoding` '' is not known"),
    ("--input_format=parquet --encoding=cp1252", "`encoding` is for files of text"),
    ("--delimiter=ab", "`delimiter` is one ASCII character"),
    ('--delimiter="', "`delimiter` is one ASCII character"),
    ("--delimiter=\u00a6", "`delimiter` is one ASCII character"),
    ("--input_format=jsonl --delimiter=;", "are for `input_format` csv or tsv"),
    ("--input_format=jsonl --columns=id,text", "are for `input_format` csv or tsv"),
    ("--input_format=text --quotes=none", "are for `input_format` csv or tsv"),
    ("--quotes=single", "`quotes` is one of double, none"),
    ("--columns=id,text,id", "`columns` names a column twice"),
    ("--keep_fields=stars --column_types=stars=int", "`column_types` is a list such as"),
    ("--keep_fields=stars --column_types=stars", "`column_types` is a list such as"),
    ("--column_types=stars=int64", "which `keep_fields` does not name"),
    ("--keep_fields=stars --column_types=stars=int64,stars=bool", "or twice"),
    ("--document_per=file", "is for `input_format` text"),
    ("--output_format=xls", "`output_format` is one of jsonl, parquet, csv"),
    ("--compression=bzip2", "`compression` is one of none, gzip, zstd"),
    ("--tokenization=3", "invalid choice: '3'"),
    ("--segmenter=jieba", "`segmenter` is one of none, longest_match, graphemes"),
    ("--segmenter=graphemes --tokenization=1", "needs `tokenization` 2"),
]


@pytest.mark.parametrize(
    ("content", "flags", "said"), [*FILES, *((GOOD, flags, said) for flags, said in FLAGS)]
)
def test_it_is_refused_in_a_sentence(
    uri: str,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    content: bytes,
    flags: str,
    said: str,
) -> None:
    suffix = ".tsv" if b"\t" in content else ".csv"
    (tmp_path / f"c{suffix}").write_bytes(content)
    given = flags.split()
    kind = [] if any("--input_format" in flag for flag in given) else ["--input_format=csv"]
    with pytest.raises(DxbeamError) as refused:
        tiny.run(uri, tmp_path / f"c{suffix}", tmp_path / "out", *kind, *given)
    sentence = str(refused.value)
    for name in [part.strip("`") for part in said.split() if part.startswith("`")]:
        said = said.replace(f"`{name}`", f"--{name}")
    assert said in sentence
    assert "\n" not in sentence
    everything = (
        sentence
        + "".join(capfd.readouterr())
        + "".join(traceback.format_exception_only(refused.value))
    )
    assert "secret" not in everything
    assert not list(tmp_path.glob("out/part-*"))


def test_these_are_at_least_forty() -> None:
    assert len(FILES) + len(FLAGS) >= 40
