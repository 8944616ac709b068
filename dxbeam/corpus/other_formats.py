"""What a file is that is not in the format it was said to be in, as a hint that never quotes it."""

from __future__ import annotations

import re

_BEGINNINGS = {
    b"PAR1": "it is Parquet; use `input_format` parquet",
    b"\x1f\x8b": "it is compressed with gzip; let its name end in .gz",
    b"\x28\xb5\x2f\xfd": "it is compressed with zstd; let its name end in .zst",
    b"PK\x03\x04": "it is a zip archive; unpack it",
    b"%PDF": "it is a PDF; extract its text first",
    b"\xff\xfe": "it is in UTF-16; convert it: iconv -f UTF-16 -t UTF-8 FILE > NEW",
    b"\xfe\xff": "it is in UTF-16; convert it: iconv -f UTF-16 -t UTF-8 FILE > NEW",
    b"{'": "its strings are in single quotes, as Python prints them; write it with json.dumps",
    b"[": "it looks like a JSON array; write a line for each object: jq -c '.[]' FILE > NEW",
    b"{": "no line is a whole JSON object; write each on one line: jq -c . FILE > NEW",
}
FROM_CSV = (
    'convert CSV to Parquet: python -c "import pyarrow.csv, pyarrow.parquet as p; '
    "p.write_table(pyarrow.csv.read_csv('FILE'), 'NEW.parquet')\""
)
_TEXT = "it looks like plain text; use `input_format` text"

LATIN_1 = "if the file is in Latin-1, convert it: iconv -f LATIN1 -t UTF-8 FILE > NEW"
"""What to do about bytes that are not UTF-8."""


def other_format(line: bytes, path: str) -> str:
    """What a file may be, and what to do.

    Args:
      line: the first line that is not blank.
      path: of the file.
    """
    for beginning, hint in _BEGINNINGS.items():
        if line.startswith(beginning):
            return hint
    columns = re.split(rb"[,;\t]", line.lower())
    names = {column.strip(b' "') for column in columns}
    if path.lower().endswith((".csv", ".tsv")) or (len(columns) > 1 and names & {b"id", b"text"}):
        return f"it looks like CSV, which is not read; {FROM_CSV}"
    return _TEXT


def binary_format(content: bytes) -> str | None:
    """What a file is by its first bytes, if it is no text in UTF-8, and what to do."""
    found = (hint for start, hint in _BEGINNINGS.items() if content.startswith(start))
    return next(found, None) if content[:1] not in (b"{", b"[") else None
