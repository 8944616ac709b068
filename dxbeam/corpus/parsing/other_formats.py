"""What a file is that is not in the format it was said to be in, as a hint that never quotes it."""

from __future__ import annotations

import re

from dxbeam.corpus.files import without_compression_suffix
from dxbeam.corpus.parsing.text_encodings import UTF_8, is_utf_8

_UTF_16 = (
    "it is in UTF-16; give `encoding` utf-16, or convert it: iconv -f UTF-16 -t UTF-8 FILE > NEW"
)
_BEGINNINGS = {
    b"PAR1": "it is Parquet; use `input_format` parquet",
    b"\x1f\x8b": "it is compressed with gzip; let its name end in .gz",
    b"\x28\xb5\x2f\xfd": "it is compressed with zstd; let its name end in .zst",
    b"PK\x03\x04": "it is a zip archive; unpack it",
    b"%PDF": "it is a PDF; extract its text first",
    b"\xff\xfe": _UTF_16,
    b"\xfe\xff": _UTF_16,
    b"{'": "its strings are in single quotes, as Python prints them; write it with json.dumps",
    b"[": "it looks like a JSON array; write a line for each object: jq -c '.[]' FILE > NEW",
    b"{": "no line is a whole JSON object; write each on one line: jq -c . FILE > NEW",
}
_TSV = (".tsv", ".tab")
_TEXT = "it looks like plain text; use `input_format` text"


def other_format(line: bytes, path: str) -> str:
    """What a file may be, by its first line that is not blank, and what to do."""
    for beginning, hint in _BEGINNINGS.items():
        if line.startswith(beginning):
            return hint
    plain = without_compression_suffix(path).lower()
    columns = re.split(rb"[,;\t]", line.lower())
    names = {column.strip(b' "') for column in columns}
    if b"\t" in line and (plain.endswith(_TSV) or names & {b"id", b"text"}):
        return "it looks like TSV; use `input_format` tsv"
    if plain.endswith((".csv", *_TSV)) or (len(columns) > 1 and names & {b"id", b"text"}):
        return "it looks like CSV; use `input_format` csv"
    return _TEXT


def binary_format(content: bytes, encoding: str = UTF_8) -> str | None:
    """What a file is by its first bytes, if it is no text in this encoding, and what to do."""
    if content[:1] in (b"{", b"["):
        return None
    hint_of = next((hint for start, hint in _BEGINNINGS.items() if content.startswith(start)), None)
    return None if hint_of is _UTF_16 and not is_utf_8(encoding) else hint_of


def not_csv(content: bytes, encoding: str) -> str | None:
    """What a file is by its first bytes, if it cannot be CSV, and what to do."""
    if content.lstrip().startswith((b"{", b"[{")):
        return "it looks like JSON; use `input_format` jsonl"
    return binary_format(content, encoding)
