"""Files of lines, plain or compressed: what JSON Lines and plain text have in common.

A plain file in UTF-8 is divided into ranges of bytes. A file that is compressed or in another
encoding can only be read from its start, so up to 16 workers read all of it, and each keeps every
k-th run of lines: reading a mebibyte takes milliseconds, sanitizing it tens of seconds.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from dxbeam import storage
from dxbeam.corpus.encoding import Encoding
from dxbeam.corpus.files import CorpusFile, damage_as_corpus_error
from dxbeam.corpus.parsing.text_encodings import as_utf_8, open_as_utf_8, starts_only, why_invalid
from dxbeam.corpus.settings import ReadSettings
from dxbeam.corpus.splits import Split
from dxbeam.documents import Rejected, position_id
from dxbeam.errors import ConfigurationError

COMPRESSIONS = {"none": "", "gzip": ".gz", "zstd": ".zst"}
"""How files of lines can be compressed when they are written, and the suffix that says so."""

BYTE_ORDER_MARK = b"\xef\xbb\xbf"

_Reader = Callable[[BinaryIO], Iterator[tuple[bytes | None, int]]]
"""An open file -> the content of each record, None if it is too long, and its size in bytes."""

_MOST_SHARES = 16  # of one compressed file, each of which decompresses all of it
_BLOCK = 1 << 20


def splits(file: CorpusFile, settings: ReadSettings) -> Iterator[Split]:
    """Divides a file among workers, by bytes or else by runs of lines."""
    path, name, size = file
    if starts_only(path, settings.encoding):
        yield from shares(file, settings)
    else:
        step = settings.division.split_bytes
        for start in range(0, size, step):
            yield Split(path, name, start, min(size, start + step))


def shares(file: CorpusFile, settings: ReadSettings) -> Iterator[Split]:
    """Shares of a file that is read from its start by every worker."""
    path, name, size = file
    most = 1 + 3 * size // settings.division.split_bytes  # text shrinks about 3 times
    most = min(_MOST_SHARES, most)
    for share in range(most):
        yield Split(path, name, share, most)


def is_in_share(split: Split, number: int, settings: ReadSettings) -> bool:
    """Whether a record of a file that is read from its start belongs to this share of it."""
    return (number - 1) // settings.division.records_per_run % split.stop == split.start


def share_of_file(
    file: CorpusFile, settings: ReadSettings, records: int, read: _Reader | None = None
) -> float:
    """Which share of a file its first records that are not blank are, by bytes.

    How far a compressed file shrinks is found by reading on a while. ``read`` reads records; by
    default every line is one.
    """
    encoding, limit = settings.encoding, settings.largest_document
    with damage_as_corpus_error(), storage.open_read(file.path) as raw:
        content, taken = as_utf_8(raw, file.path, encoding), 0
        following = read(content) if read else iter(lambda: _read_line(content, limit), (b"", 0))
        for record, size in following:
            taken += size
            records -= record is None or bool(record.strip())
            if records <= 0:
                break
        else:
            return 1.0
        if not starts_only(file.path, encoding):
            return taken / max(taken, file.size)
        whole = taken
        while whole < settings.division.bytes_to_judge_by:
            block = content.read(_BLOCK)
            if not block:
                return taken / whole
            whole += len(block)
        return taken / whole * min(1.0, raw.tell() / file.size)


def count_records(split: Split, settings: ReadSettings) -> int:
    """Reads a split to its end, and counts the lines that start in it.

    Of the shares of a compressed file only the first is read, to find damage. Its lines are not
    counted: every share is read from the start of the file, which numbers the lines as it goes.
    """
    if starts_only(split.path, settings.encoding):
        return 0 if split.start else read_to_the_end(split.path, settings)
    with storage.open_read(split.path) as file:
        # A line starts at the start of the file and after each line end.
        file.seek(max(0, split.start - 1))
        unread = split.stop - 1 - file.tell()
        lines = 1 if split.start == 0 else 0
        while unread and (block := file.read(min(unread, _BLOCK))):
            lines += block.count(b"\n")
            unread -= len(block)
        return lines


def read_to_the_end(path: str, settings: ReadSettings) -> int:
    """Finds damage anywhere in a file. Returns 0, as no record is counted."""
    with open_as_utf_8(path, settings.encoding) as file:
        while file.read(_BLOCK):
            pass
    return 0


def numbered_lines(split: Split, settings: ReadSettings) -> Iterator[tuple[int, bytes | None]]:
    """Number in its file and content of each line of a split; None for one that is too long.

    Lines come in UTF-8 and without their ends.
    """
    whole = starts_only(split.path, settings.encoding)
    with open_as_utf_8(split.path, settings.encoding) as file:
        position = 0
        if not whole and split.start:
            file.seek(split.start - 1)  # so that a line that starts right at the split is seen
            position = split.start - 1 + _skip_line(file)
        for number in itertools.count(split.first_record):
            if not whole and position >= split.stop:
                return
            line, size = _read_line(file, settings.largest_document)
            if not size:
                return
            if not whole or is_in_share(split, number, settings):
                yield number, line
            position += size


def _read_line(file: BinaryIO, limit: int) -> tuple[bytes | None, int]:
    """A line without its end, and its size with it; (b"", 0) at the end of the file."""
    line = file.readline(limit + 1)
    if len(line) <= limit or line.endswith(b"\n"):
        return line.rstrip(b"\r\n"), len(line)
    return None, len(line) + _skip_line(file)


def _skip_line(file: BinaryIO) -> int:
    """Reads to the end of the line, holding a mebibyte of it at most; the bytes skipped."""
    skipped = 0
    while part := file.readline(_BLOCK):
        skipped += len(part)
        if part.endswith(b"\n"):
            break
    return skipped


def texts(split: Split, settings: ReadSettings) -> Iterator[tuple[str, str | Rejected]]:
    """``FILE:NUMBER`` and text of each line of a split, or why it has none.

    A byte order mark at the start of the file is no part of its first line.
    """
    for number, line in numbered_lines(split, settings):
        where = position_id(split.name, number)
        if line is None:
            limit = f"{settings.largest_document:,}"
            yield where, Rejected(where, f"the record is longer than {limit} bytes")
            continue
        if number == 1:
            line = line.removeprefix(BYTE_ORDER_MARK)
        try:
            text: str | Rejected = line.decode("utf-8")
        except UnicodeDecodeError as error:
            text = Rejected(where, why_invalid(error, settings.encoding))
        yield where, text


def encoding(suffix: str, encode: Callable[[Any], bytes], compression: str) -> Encoding:
    """How rows become lines; ``encode`` makes a line without its end of a row."""
    return Encoding(with_compression(suffix, compression), encode, LineFile, _count_lines)


def with_compression(suffix: str, compression: str) -> str:
    """How the names of files of lines end that are compressed so."""
    if compression not in COMPRESSIONS:
        raise ConfigurationError(
            f"`compression` is one of {', '.join(COMPRESSIONS)}, not {compression!r}"
        )
    return suffix + COMPRESSIONS[compression]


class LineFile:
    """A new file of lines, compressed as its suffix says, which may begin with a header."""

    def __init__(self, path: str, header: bytes | None = None):
        self._file = storage.open_write(path, compress=True)
        if header is not None:
            self.write(header)

    def write(self, line: bytes, /) -> None:
        """Adds a line, which has no end yet."""
        self._file.write(line + b"\n")

    def close(self) -> None:
        """Completes the file."""
        self._file.close()


def _count_lines(path: str) -> int:
    with storage.open_read(path, decompress=True) as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(_BLOCK), b""))
