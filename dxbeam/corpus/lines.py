"""Files of lines, plain or compressed: what JSON Lines and plain text have in common.

A plain file is divided into ranges of bytes. A compressed file can only be read from its start, so
up to 16 workers decompress it, and each keeps every k-th run of lines: decompressing a mebibyte
takes milliseconds, sanitizing it tens of seconds.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from dxbeam import storage
from dxbeam.corpus.encoding import Encoding
from dxbeam.corpus.files import (
    CorpusFile,
    damage_as_corpus_error,
    decompressed,
    is_compressed,
    open_decompressed,
)
from dxbeam.corpus.other_formats import LATIN_1
from dxbeam.corpus.splits import Split
from dxbeam.documents import Rejected, position_id
from dxbeam.errors import ConfigurationError

COMPRESSIONS = {"none": "", "gzip": ".gz", "zstd": ".zst"}
"""How files of lines can be compressed when they are written, and the suffix that says so."""

BYTE_ORDER_MARK = b"\xef\xbb\xbf"

_SPLIT_BYTES = 1 << 20
_MOST_SHARES = 16  # of one compressed file, each of which decompresses all of it
_LINES_PER_RUN = 8
_BLOCK = 1 << 20
_BYTES_TO_JUDGE_BY = 16 << 20  # by which it is judged how far a compressed file shrinks


def splits(file: CorpusFile) -> Iterator[Split]:
    """Divides a file among workers, by bytes or, if it is compressed, by runs of lines."""
    path, name, size = file
    if is_compressed(path):
        shares = min(_MOST_SHARES, 1 + 3 * size // _SPLIT_BYTES)  # text shrinks about 3 times
        for share in range(shares):
            yield Split(path, name, share, shares)
    else:
        for start in range(0, size, _SPLIT_BYTES):
            yield Split(path, name, start, min(size, start + _SPLIT_BYTES))


def share_of_file(file: CorpusFile, records: int, limit: int) -> float:
    """Which share of a file its first lines are, by bytes, blank lines left out.

    Args:
      file: plain or compressed; how far a compressed one shrinks is found by reading on a while.
      records: how many lines that are not blank.
      limit: longer lines are skipped without being held.
    """
    with damage_as_corpus_error(), storage.open_read(file.path) as raw:
        content, taken = decompressed(raw, file.path), 0
        while records > 0:
            line, size = _read_line(content, limit)
            if not size:
                return 1.0
            taken += size
            records -= line is None or bool(line.strip())
        if not is_compressed(file.path):
            return taken / max(taken, file.size)
        whole = taken
        while whole < _BYTES_TO_JUDGE_BY:
            block = content.read(_BLOCK)
            if not block:
                return taken / whole
            whole += len(block)
        return taken / whole * min(1.0, raw.tell() / file.size)


def count_records(split: Split) -> int:
    """Reads a split to its end, and counts the lines that start in it.

    Of the shares of a compressed file the first alone is read, to find damage. Its lines are not
    counted: every share is read from the start of the file, which numbers the lines as it goes.
    """
    if is_compressed(split.path):
        return 0 if split.start else read_to_the_end(split.path)
    with open_decompressed(split.path) as file:
        # A line starts at the start of the file and after each line end.
        file.seek(max(0, split.start - 1))
        unread = split.stop - 1 - file.tell()
        lines = 1 if split.start == 0 else 0
        while unread and (block := file.read(min(unread, _BLOCK))):
            lines += block.count(b"\n")
            unread -= len(block)
        return lines


def read_to_the_end(path: str) -> int:
    """Finds damage anywhere in a file. Returns 0, as no record is counted."""
    with open_decompressed(path) as file:
        while file.read(_BLOCK):
            pass
    return 0


def numbered_lines(split: Split, limit: int) -> Iterator[tuple[int, bytes | None]]:
    """Number in its file and content of each line of a split; None for one of over ``limit`` bytes.

    Lines come without their ends.
    """
    compressed = is_compressed(split.path)
    with open_decompressed(split.path) as file:
        position = 0
        if not compressed and split.start:
            file.seek(split.start - 1)  # so that a line that starts right at the split is seen
            position = split.start - 1 + _skip_line(file)
        for number in itertools.count(split.first_record):
            if not compressed and position >= split.stop:
                return
            line, size = _read_line(file, limit)
            if not size:
                return
            if not compressed or (number - 1) // _LINES_PER_RUN % split.stop == split.start:
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


def texts(split: Split, limit: int) -> Iterator[tuple[str, str | Rejected]]:
    """``FILE:NUMBER`` and text of each line of a split, or why it has none.

    A byte order mark at the start of the file is no part of its first line.
    """
    for number, line in numbered_lines(split, limit):
        where = position_id(split.name, number)
        if line is None:
            yield where, Rejected(where, f"the record is longer than {limit:,} bytes")
            continue
        if number == 1:
            line = line.removeprefix(BYTE_ORDER_MARK)
        try:
            text: str | Rejected = line.decode("utf-8")
        except UnicodeDecodeError as error:
            place = f"not valid UTF-8 at byte {error.start} of the record"
            text = Rejected(where, f"{place}; {LATIN_1}")
        yield where, text


def encoding(suffix: str, encode: Callable[[Any], bytes], compression: str) -> Encoding:
    """How rows become lines.

    Args:
      suffix: of an uncompressed file.
      encode: a row -> a line without its end.
      compression: one of ``COMPRESSIONS``.

    Raises:
      ConfigurationError: there is no such compression.
    """
    if compression not in COMPRESSIONS:
        raise ConfigurationError(
            f"`compression` is one of {', '.join(COMPRESSIONS)}, not {compression!r}"
        )
    return Encoding(suffix + COMPRESSIONS[compression], encode, _LineFile, _count_lines)


class _LineFile:
    """A new file of lines, compressed as its suffix says."""

    def __init__(self, path: str):
        self._file = storage.open_write(path, compress=True)

    def write(self, line: bytes, /) -> None:
        self._file.write(line + b"\n")

    def close(self) -> None:
        self._file.close()


def _count_lines(path: str) -> int:
    with storage.open_read(path, decompress=True) as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(_BLOCK), b""))
