"""Plain text: every line of a file is a document, or every file is one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from dxbeam.corpus import lines
from dxbeam.corpus.encoding import Encoding
from dxbeam.corpus.files import CorpusFile, open_decompressed
from dxbeam.corpus.records import checked
from dxbeam.corpus.settings import ReadSettings
from dxbeam.corpus.splits import Split
from dxbeam.documents import Document, Rejected

SUFFIXES = (".txt",)
HAS_FIELDS = False


def check_first_records(
    _files: Sequence[CorpusFile], _settings: ReadSettings, _allow_unreadable: bool
) -> None:
    """Does nothing: any line is a document."""


def splits(file: CorpusFile, settings: ReadSettings) -> Iterator[Split]:
    """Divides a file among workers, unless it is one document."""
    if settings.document_per == "file":
        return iter([Split(file.path, file.name, 0, 1)])
    return lines.splits(file)


def count_records(split: Split, settings: ReadSettings) -> int:
    """Reads a split to its end and counts its lines; a file that is a document has no number."""
    if settings.document_per == "file":
        return lines.read_to_the_end(split.path)
    return lines.count_records(split)


def ids(_split: Split, _settings: ReadSettings) -> Iterator[str]:
    """None: ids are made of names of files and numbers of lines, which never repeat."""
    return iter(())


def records(split: Split, settings: ReadSettings) -> Iterator[tuple[str, Document | Rejected]]:
    """``FILE:NUMBER`` and document of each line, or ``FILE`` and the document that it is."""
    if settings.document_per == "file":
        yield split.name, _document_of_file(split, settings)
        return
    for where, text in lines.texts(split, settings.largest_document):
        if isinstance(text, Rejected):
            yield where, text
        else:
            yield where, checked(Document(where, text), where)


def _document_of_file(split: Split, settings: ReadSettings) -> Document | Rejected:
    with open_decompressed(split.path) as file:
        content = file.read(settings.largest_document + 1)
    if len(content) > settings.largest_document:
        return Rejected(split.name, f"longer than {settings.largest_document:,} bytes")
    try:
        return checked(Document(split.name, content.decode("utf-8-sig")), split.name)
    except UnicodeDecodeError as error:
        return Rejected(split.name, f"not valid UTF-8 at byte {error.start}")


def kept_types(_pattern: str, _settings: ReadSettings) -> dict[str, pa.DataType]:
    """There are no fields."""
    return {}


def encoding(_kept: pa.Schema, compression: str) -> Encoding:
    """One text per line and nothing else; line breaks within a text become spaces."""
    return lines.encoding(".txt", _line, compression)


def _line(row: Any) -> bytes:
    encoded: bytes = " ".join(row.text.splitlines()).encode()
    return encoded
