"""JSON Lines: one JSON object per line, blank lines between them allowed."""

from __future__ import annotations

import contextlib
import itertools
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from dxbeam.corpus.encoding import Encoding
from dxbeam.corpus.files import DAMAGE, CorpusFile
from dxbeam.corpus.parsing import lines
from dxbeam.corpus.parsing.other_formats import other_format
from dxbeam.corpus.parsing.records import document_of, id_of, wrong_kind
from dxbeam.corpus.parsing.text_encodings import starts_only
from dxbeam.corpus.settings import ReadSettings
from dxbeam.corpus.splits import Split
from dxbeam.documents import Document, Rejected, position_id
from dxbeam.errors import CorpusError

SUFFIXES = (".jsonl", ".ndjson", ".json")
HAS_FIELDS = True
TAKES: tuple[str, ...] = ("encoding",)

_FIRST_LINES = 1000  # among which every field that the settings name must be found
_BLANK = " \t\n\r\v\f"
_USABLE = "usable"
_LENIENT = json.JSONDecoder(strict=False)
_AS_JSON = json.JSONEncoder(ensure_ascii=False).encode
_LINE_BREAK = re.compile("[\x85\u2028\u2029]")
"""What ends a line by Unicode's rules, and JSON does not ask to escape."""


def check_first_records(
    files: Sequence[CorpusFile], settings: ReadSettings, _allow_unreadable: bool
) -> None:
    """Refuses a corpus whose first file is of another format, or lacks what the settings name."""
    if not files:
        return
    file, missing = files[0], dict.fromkeys(settings.needed_fields, "")
    whole = starts_only(file.path, settings.encoding)
    first = Split(file.path, file.name, 0, 1 if whole else file.size)
    looked_at, any_record = b"", False
    with contextlib.suppress(*DAMAGE):  # counting the records says it
        numbered = lines.numbered_lines(first, settings)
        for _, line in itertools.islice(numbered, _FIRST_LINES):
            looked_at = looked_at or (line or b"").strip()
            record = _object_in(line)
            if record is not None:
                any_record = True
                for field in missing.keys() & record.keys():
                    missing[field] = wrong_kind(record[field], field, settings) or _USABLE
                missing = {name: why for name, why in missing.items() if why != _USABLE}
            if not missing:
                return
    if not any_record and looked_at:
        raise CorpusError(f"{file.path} is not in JSON Lines: {other_format(looked_at, file.path)}")
    for field, why in missing.items() if any_record else ():
        if why:
            raise CorpusError(
                f"{file.path}: the field {field!r} {why}, in every record among the first "
                f"{_FIRST_LINES:,} lines"
            )
        raise CorpusError(
            f"{file.path}: none of the records among its first {_FIRST_LINES:,} lines has a "
            f"field {field!r}; check the names of fields"
        )


splits, share_of_file = lines.splits, lines.share_of_file
count_records = lines.count_records  # blank lines too, as they are numbered too


def ids(split: Split, settings: ReadSettings) -> Iterator[str]:
    """The ids of all lines that are JSON objects."""
    for number, line in lines.numbered_lines(split, settings):
        record = _object_in(line)
        if record is not None:
            name = id_of(record, position_id(split.name, number), settings)
            if name is not None:
                yield name


def records(split: Split, settings: ReadSettings) -> Iterator[tuple[str, Document | Rejected]]:
    """``FILE:NUMBER`` and document of each line that is not blank."""
    for where, text in lines.texts(split, settings):
        if isinstance(text, Rejected):
            yield where, text
        elif text.strip(_BLANK):
            yield where, _document(text, where, settings)


def _document(text: str, where: str, settings: ReadSettings) -> Document | Rejected:
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return Rejected(where, "not valid JSON")
    if not isinstance(record, dict):
        return Rejected(where, "not a JSON object")
    return document_of(record, where, settings)


def _object_in(line: bytes | None) -> dict[str, Any] | None:
    """The JSON object of a line as far as it can be made out, even if its text cannot be used."""
    try:
        text = (line or b"").removeprefix(lines.BYTE_ORDER_MARK).decode("utf-8", "replace")
        record = _LENIENT.decode(text)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def kept_types(_pattern: str, _settings: ReadSettings) -> dict[str, pa.DataType]:
    """No field has a separate type."""
    return {}


def encoding(_kept: pa.Schema, compression: str) -> Encoding:
    """One JSON object per line: id, text, and whatever fields the row has."""
    return lines.encoding(".jsonl", _line, compression)


def _line(row: Any) -> bytes:
    named = {"id": row.id, "text": row.text}
    record = {**named, **json.loads(row.fields), **named}  # no kept field takes the place of these
    line = _AS_JSON(record)
    return _LINE_BREAK.sub(lambda character: f"\\u{ord(character[0]):04x}", line).encode()
