"""Plain text: every line of a file is a document, or every file is one."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from dxbeam.corpus.encoding import Encoding
from dxbeam.corpus.files import DAMAGE, CorpusFile, open_decompressed
from dxbeam.corpus.parsing import lines
from dxbeam.corpus.parsing.other_formats import binary_format
from dxbeam.corpus.parsing.records import checked
from dxbeam.corpus.parsing.text_encodings import is_utf_8, open_as_utf_8, what_to_do
from dxbeam.corpus.settings import ReadSettings
from dxbeam.corpus.splits import Split
from dxbeam.documents import Document, Rejected
from dxbeam.errors import CorpusError

SUFFIXES = (".txt",)
HAS_FIELDS = False
TAKES: tuple[str, ...] = ("encoding",)

_REPLACEMENT = "\ufffd"
_BYTES_FOR_EACH_DAMAGED = 1000  # with more damage than this a file is not taken for UTF-8

_LOG = logging.getLogger(__name__)


def check_first_records(
    files: Sequence[CorpusFile], settings: ReadSettings, _allow_unreadable: bool
) -> None:
    """Refuses a corpus whose first file is known to be something else by its first bytes."""
    for file in files[:1]:
        with contextlib.suppress(*DAMAGE), open_decompressed(file.path) as content:
            if hint := binary_format(content.read(4), settings.encoding):
                raise CorpusError(f"{file.path} is not plain text: {hint}")


def splits(file: CorpusFile, settings: ReadSettings) -> Iterator[Split]:
    """Divides a file among workers, unless it is one document."""
    if settings.document_per == "file":
        return iter([Split(file.path, file.name, 0, 1)])
    return lines.splits(file, settings)


def share_of_file(file: CorpusFile, settings: ReadSettings, records: int) -> float:
    """Which share of a file its first records are, by bytes; all of it, where it is one."""
    if settings.document_per == "file":
        return 1.0
    return lines.share_of_file(file, settings, records)


def count_records(split: Split, settings: ReadSettings) -> int:
    """Reads a split to its end and counts its lines; a file that is a document has no number."""
    if settings.document_per == "file":
        return lines.read_to_the_end(split.path, settings)
    return lines.count_records(split, settings)


def ids(_split: Split, _settings: ReadSettings) -> Iterator[str]:
    """None: ids are made of names of files and numbers of lines, which never repeat."""
    return iter(())


def records(split: Split, settings: ReadSettings) -> Iterator[tuple[str, Document | Rejected]]:
    """``FILE:NUMBER`` and document of each line, or ``FILE`` and the document that it is."""
    if settings.document_per == "file":
        yield split.name, _document_of_file(split, settings)
        return
    for where, text in lines.texts(split, settings):
        if isinstance(text, Rejected):
            yield where, text
        else:
            yield where, checked(Document(where, text), where)


def _document_of_file(split: Split, settings: ReadSettings) -> Document | Rejected:
    with open_as_utf_8(split.path, settings.encoding) as file:
        content = file.read(settings.largest_document + 1)
    if len(content) > settings.largest_document:
        return Rejected(split.name, f"longer than {settings.largest_document:,} bytes")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # A damaged byte becomes part of a word, which is noised as any other. Many of them mean
        # that the file is in another encoding, in which hardly a word would be found.
        text = content.decode("utf-8-sig", "replace")
        damaged = text.count(_REPLACEMENT) - content.count(_REPLACEMENT.encode())
        if damaged > max(1, len(content) // _BYTES_FOR_EACH_DAMAGED):
            more = damaged - 1
            reason = f"not valid UTF-8 at byte {error.start} and {more:,} further places"
            if not is_utf_8(settings.encoding):
                reason = f"not valid in the encoding {settings.encoding} in several places"
            return Rejected(split.name, f"{reason}; {what_to_do(settings.encoding)}")
        _LOG.warning(
            "%s: %d bytes are not valid, the first at %d; each is read as U+FFFD",
            split.name,
            damaged,
            error.start,
        )
    return checked(Document(split.name, text), split.name)


def kept_types(_pattern: str, _settings: ReadSettings) -> dict[str, pa.DataType]:
    """There are no fields."""
    return {}


def encoding(_kept: pa.Schema, compression: str) -> Encoding:
    """One text per line and nothing else; line breaks within a text become spaces."""
    return lines.encoding(".txt", _line, compression)


def _line(row: Any) -> bytes:
    encoded: bytes = " ".join(row.text.splitlines()).encode()
    return encoded
