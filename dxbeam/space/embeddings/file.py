"""An embedding file of any format, open and decompressed: plain, ``.gz`` or in a ``.zip``."""

from __future__ import annotations

import codecs
import gzip
import io
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import BinaryIO, NoReturn, Protocol, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from dxbeam import storage
from dxbeam.errors import EmbeddingFileError

LONGEST_VECTOR = 1 << 16
# Without limits a file of another kind would be one huge line in memory.
LONGEST_WORD = 1 << 16  # bytes
LONGEST_VALUE = 64  # bytes of a value written as text
LONGEST_LINE = LONGEST_WORD + LONGEST_VECTOR * LONGEST_VALUE

BLOCK = 1 << 20
"""Bytes that are read at once."""

_HEADER = re.compile(rb"([+-]?\d{1,18}) ([+-]?\d{1,18})")  # N n
_ZIP = re.compile(r"(?i)(.+?\.zip)(?:!(.+))?")

Entries: TypeAlias = tuple[list[bytes], npt.NDArray[np.float32]]
"""Words as they are in a file, and their vectors, float32 [B, n]."""


class Reader(Protocol):
    """Reads the entries of an embedding file in its order.

    Attributes:
      n: dimensions of the vectors.
      words_read: how many words were read so far.
    """

    n: int
    words_read: int

    def read(self, count: int) -> Entries:
        """The next ``count`` words, fewer only at the end, and their vectors, float32 [B, n]."""


@dataclass
class EmbeddingFile:
    """An open embedding file, and how far it has been read.

    Attributes:
      name: its path, ``path.zip!member`` for a member of a zip.
      content: its decompressed bytes.
      position: gives how many bytes were read, of which there are ``size``: compressed ones of a
        .gz, decompressed ones otherwise.
      size: in bytes.
      unit: what ``number`` counts, "line" or, in a binary file, "word".
      start: where its content begins: at 3 after a byte order mark, else at 0.
      number: of the last line or word that was read, from 1.
      block: bytes that are read at once.
    """

    name: str
    content: BinaryIO
    position: Callable[[], int]
    size: int
    unit: str = "line"
    start: int = 0
    number: int = 0
    block: int = BLOCK

    def fail(self, what: str, number: int | None = None) -> NoReturn:
        """Raises ``EmbeddingFileError``: what is wrong, in the line or word of this number."""
        where = f"{self.unit} {self.number if number is None else number}"
        raise EmbeddingFileError(
            f"{self.name}, {where}: {what}; fix the file, or name its format if it is another one"
        )


@contextmanager
def open_embedding_file(path: str, *, block: int = BLOCK) -> Iterator[EmbeddingFile]:
    """Opens a file, or ``archive.zip!member``; damage met while it is read becomes a sentence."""
    zipped = _ZIP.fullmatch(path)
    container, member = zipped.groups() if zipped else (path, None)
    with ExitStack() as stack:
        raw, size = _open_raw(container)
        stack.enter_context(raw)
        if zipped:
            archive, info = _find_member(raw, container, member)
            size, suffix = info.file_size, f"!{info.filename}"
            try:
                inner = cast(BinaryIO, stack.enter_context(archive.open(info)))
            except (RuntimeError, NotImplementedError, zipfile.BadZipFile) as error:
                raise EmbeddingFileError(
                    f"{container}{suffix} is encrypted, damaged or compressed in a way Python does "
                    f"not know; unpack it and name the unpacked file"
                ) from error
            position = inner.tell
        else:
            gzipped = path.lower().endswith(".gz")
            inner = cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if gzipped else raw
            position, suffix = raw.tell, ""
        buffered = io.BufferedReader(cast(io.RawIOBase, inner), block)
        content = stack.enter_context(cast(BinaryIO, buffered))
        name = container + suffix
        file = EmbeddingFile(name, content, position, size, block=block)
        try:
            mark = content.read(len(codecs.BOM_UTF8))
            if not mark:
                raise EmbeddingFileError(f"{name} is empty; check where it comes from")
            file.start = content.seek(len(mark) if mark == codecs.BOM_UTF8 else 0)
            yield file
        except EOFError as error:
            raise EmbeddingFileError(
                f"{name} is cut off in the middle of its compressed data, soon after "
                f"{file.unit} {file.number}; download it again"
            ) from error
        except (OSError, zlib.error, zipfile.BadZipFile) as error:
            raise EmbeddingFileError(
                f"{name} cannot be read beyond {file.unit} {file.number} ({error}); "
                f"download it again"
            ) from error


def _open_raw(path: str) -> tuple[BinaryIO, int]:
    """The file as it is there, and its size in bytes."""
    try:
        if storage.exists(path):
            raw = storage.open_read(path)
            size = raw.seek(0, io.SEEK_END)
            raw.seek(0)
            return raw, size
    except (OSError, ValueError) as error:  # ValueError: Beam does not know the scheme
        raise EmbeddingFileError(
            f"{path} cannot be opened ({error}); check the path and who may read it"
        ) from error
    raise EmbeddingFileError(f"{path} is not there, or is a directory; check the path")


def _find_member(
    raw: BinaryIO, container: str, member: str | None
) -> tuple[zipfile.ZipFile, zipfile.ZipInfo]:
    try:
        archive = zipfile.ZipFile(raw)
    except zipfile.BadZipFile as error:
        raise EmbeddingFileError(
            f"{container} is not a whole zip archive; download it again"
        ) from error
    files = [info for info in archive.infolist() if not info.is_dir()]
    members = [info for info in files if member in (None, info.filename)]
    if len(members) != 1:
        names = ", ".join(info.filename for info in files[:10]) or "nothing"
        raise EmbeddingFileError(
            f"{container} has {len(members)} files {f'named {member}' if member else 'in it'} "
            f"where one is needed; name one as {container}!MEMBER (it holds {names})"
        )
    return archive, members[0]


def stripped(line: bytes) -> bytes:
    """A line without white space at its end."""
    return line.rstrip(b" \t\r\n")  # word2vec itself writes a space after the last value


def header_in(line: bytes) -> tuple[int, int] | None:
    """The n and the N of a line ``N n``, or None if it is no such line."""
    header = _HEADER.fullmatch(stripped(line))
    return (int(header[2]), int(header[1])) if header else None


def read_header(file: EmbeddingFile) -> tuple[int, int]:
    """The n and the N of the first line; refused where it is no header, or an impossible one."""
    file.number = 1
    header = header_in(file.content.readline(LONGEST_LINE))
    if not header:
        file.fail("no header 'N n' (from a fastText model take the .vec file, not the .bin)")
    n, words = header
    if words < 1:
        file.fail(f"the header promises {words} words")
    return checked_dimensions(n, file), words


def checked_dimensions(n: int, file: EmbeddingFile) -> int:
    """The n that the file says; refused where vectors cannot have this many values."""
    if not 1 <= n <= LONGEST_VECTOR:
        file.fail(f"vectors of {n} values where 1 to {LONGEST_VECTOR} are possible", 1)
    return n
