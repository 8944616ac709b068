"""Readers of embedding files: GloVe, word2vec and fastText, streamed in chunks.

Formats:

* ``glove``: text, ``word v1 … vn`` a line, no header. A word may contain spaces
  (glove.840B has such), so the last n fields are the vector; such words are left out.
* ``word2vec``: the same below a header line ``N n``; fastText's ``.vec`` files are of this kind.
* ``word2vec_binary``: a header line, then ``word``, a space and n little-endian float32 an entry,
  with or without a line end between entries.

Each may be plain, ``.gz``, or a member of a ``.zip``: ``path.zip`` where it holds a single file,
else ``path.zip!member``. Files are local or on any file system that storage.py knows.
"""

from __future__ import annotations

import codecs
import gzip
import io
import logging
import re
import time
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import BinaryIO, NoReturn, TypeAlias, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dxbeam import storage
from dxbeam.errors import ConfigurationError, EmbeddingFileError
from dxbeam.space.vocabulary import LARGEST_VALUE

FORMATS = ("glove", "word2vec", "word2vec_binary")

_ROWS = 4096  # of a chunk, at most
_VALUES = 1 << 22  # of a chunk, at most, where vectors are very long
_LONGEST_VECTOR = 1 << 16
# Without limits a file of another kind would be one huge line in memory.
_LONGEST_WORD = 1 << 16  # bytes
_LONGEST_VALUE = 64  # bytes of a value written as text
_LONGEST_LINE = _LONGEST_WORD + _LONGEST_VECTOR * _LONGEST_VALUE
_BLOCK = 1 << 20
_LINES_TO_DEDUCE_FROM = 100
_SECONDS_BETWEEN_LOGS = 10.0

_HEADER = re.compile(rb"([+-]?\d{1,18}) ([+-]?\d{1,18})")  # N n
_NUMBERS_AT_END = re.compile(rb"(?: +[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)+\Z")
_UNUSABLE = re.compile(r"^$|[\s\x00-\x1f\x7f-\x9f]")
_PRINTABLE = re.compile(rb"[\t\x20-\x7e]+")
_ZIP = re.compile(r"(?i)(.+?\.zip)(?:!(.+))?")

_log = logging.getLogger(__name__)
_Floats: TypeAlias = npt.NDArray[np.float32]
_Entries: TypeAlias = tuple[list[bytes], _Floats]


@dataclass(frozen=True, eq=False)
class Chunk:
    """Consecutive words of a file and their vectors.

    Attributes:
      words: B distinct words that no earlier chunk had, 1 <= B <= 4096.
      vectors: float32 [B, n], C order, finite.
    """

    words: list[str]
    vectors: _Floats


@dataclass
class ReadingReport:
    """What was read so far; complete when the last chunk has been taken.

    Attributes:
      source: the name of the file without its directory; ``file.zip!member`` for a zip.
      file_format: one of ``FORMATS``.
      words: words kept.
      duplicates: words left out because an earlier one is the same.
      undecodable: words left out because they are not valid UTF-8.
      unusable: words left out because they hold white space, such as glove.840B's ". . ." and the
        U+0085 of glove.twitter.27B, or control characters: no word of a text could ever be one, and
        released they would look like several words or end a line.
      bytes_read: bytes of the embedding file, after decompression.
    """

    source: str = ""
    file_format: str = ""
    words: int = 0
    duplicates: int = 0
    undecodable: int = 0
    unusable: int = 0
    bytes_read: int = 0


def read_embeddings(
    path: str,
    *,
    file_format: str = "auto",
    max_words: int | None = None,
    lowercase: bool = False,
    report: ReadingReport | None = None,
) -> Iterator[Chunk]:
    """Reads the words and vectors of a file in its order, one chunk in memory at a time.

    Of equal words the first is kept. Reading starts, and errors are raised, as chunks are taken.
    Long reads log their progress, never words.

    Args:
      path: the file, or ``archive.zip!member``.
      file_format: one of ``FORMATS``, or "auto": two integers in the first line are a header, the
        second line tells text from binary.
      max_words: stops once so many words are kept; what follows is not looked at.
      lowercase: lower-cases words, before they are compared.
      report: a fresh one, to be filled.

    Raises:
      EmbeddingFileError: the file is missing, damaged, malformed or of another format.
      ConfigurationError: ``max_words`` is not positive.
    """
    if file_format not in ("auto", *FORMATS):
        raise EmbeddingFileError(
            f"{path}: there is no embedding format {file_format!r}; "
            f"choose auto or one of {', '.join(FORMATS)}"
        )
    if max_words is not None and max_words < 1:
        raise ConfigurationError(f"max_words is {max_words}; it must be at least 1")
    report = ReadingReport() if report is None else report
    seen: set[str] = set()
    last_log = time.monotonic()
    with _open(path) as source:
        report.source = re.sub(r"^[^!]*/", "", source.name)
        report.file_format = _detect(source) if file_format == "auto" else file_format
        reader: _TextReader | _BinaryReader
        if report.file_format == "word2vec_binary":
            reader = _BinaryReader(source)
        else:
            reader = _TextReader(source, has_header=report.file_format == "word2vec")
        most = max(1, min(_ROWS, _VALUES // reader.n))
        while max_words is None or len(seen) < max_words:
            wanted = most if max_words is None else min(most, max_words - len(seen))
            raw_words, vectors = reader.read(wanted)
            if not raw_words:
                break
            rows, words = _kept(raw_words, lowercase, seen, report)
            report.words = len(seen)
            report.bytes_read = source.file.tell()
            if time.monotonic() - last_log >= _SECONDS_BETWEEN_LOGS:
                last_log = time.monotonic()
                share = 100 * source.position() / max(1, source.size)
                _log.info("%s: %d words read, %.0f %%", source.name, reader.rows, share)
            if words:
                yield Chunk(words, vectors[rows])
        if not seen:
            raise EmbeddingFileError(
                f"{source.name} has no word that is valid UTF-8 and free of white space and "
                f"control characters; convert it to UTF-8"
            )


def _kept(
    raw_words: list[bytes], lowercase: bool, seen: set[str], report: ReadingReport
) -> tuple[list[int], list[str]]:
    """Positions and texts of the words to keep; adds them to ``seen`` and counts the others."""
    rows, words = [], []
    for row, raw in enumerate(raw_words):
        try:
            word = raw.decode()
        except UnicodeDecodeError:
            report.undecodable += 1
            continue
        if lowercase:
            word = word.lower()
        if _UNUSABLE.search(word):
            report.unusable += 1
        elif word in seen:
            report.duplicates += 1
        else:
            seen.add(word)
            rows.append(row)
            words.append(word)
    return rows, words


@dataclass
class _Source:
    """An open embedding file: its decompressed bytes, and how far along reading is."""

    name: str
    file: BinaryIO
    position: Callable[[], int]  # in bytes of which there are ``size``
    size: int
    unit: str = "line"
    start: int = 0  # 3 after a byte order mark
    number: int = 0  # of the last line, or word of a binary file, that was read

    def fail(self, what: str, number: int | None = None) -> NoReturn:
        where = f"{self.unit} {self.number if number is None else number}"
        raise EmbeddingFileError(
            f"{self.name}, {where}: {what}; mend the file, or name its format if it is another one"
        )


@contextmanager
def _open(path: str) -> Iterator[_Source]:
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
        buffered = io.BufferedReader(cast(io.RawIOBase, inner), _BLOCK)
        file = stack.enter_context(cast(BinaryIO, buffered))
        name = container + suffix
        source = _Source(name, file, position, size)
        try:
            mark = file.read(len(codecs.BOM_UTF8))
            if not mark:
                raise EmbeddingFileError(f"{name} is empty; check where it comes from")
            source.start = file.seek(len(mark) if mark == codecs.BOM_UTF8 else 0)
            yield source
        except EOFError as error:
            raise EmbeddingFileError(
                f"{name} is cut off in the middle of its compressed data, soon after "
                f"{source.unit} {source.number}; download it again"
            ) from error
        except (OSError, zlib.error, zipfile.BadZipFile) as error:
            raise EmbeddingFileError(
                f"{name} cannot be read beyond {source.unit} {source.number} ({error}); "
                f"download it again"
            ) from error


def _open_raw(path: str) -> tuple[BinaryIO, int]:
    """The file as it lies there, and its size in bytes."""
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
    found = [info for info in files if member in (None, info.filename)]
    if len(found) != 1:
        names = ", ".join(info.filename for info in files[:10]) or "nothing"
        raise EmbeddingFileError(
            f"{container} has {len(found)} files {f'named {member}' if member else 'in it'} where "
            f"one is needed; name one as {container}!MEMBER (it holds {names})"
        )
    return archive, found[0]


def _detect(source: _Source) -> str:
    """The format: by the first two lines, and by the suffix where there is no header."""
    first, second = (_stripped(source.file.readline(_LONGEST_LINE)) for _ in range(2))
    source.file.seek(source.start)
    header = _HEADER.fullmatch(first)
    if not header:
        return "word2vec_binary" if re.search(r"(?i)\.bin(\.gz)?$", source.name) else "glove"
    values = second.rsplit(b" ", max(1, int(header[2])))[1:]
    is_text = not second or (values and all(map(_PRINTABLE.fullmatch, values)))
    return "word2vec" if is_text else "word2vec_binary"


def _stripped(line: bytes) -> bytes:
    return line.rstrip(b" \t\r\n")  # word2vec itself writes a space after the last value


def _header(source: _Source) -> tuple[int, int]:
    """The n and the N of the first line."""
    source.number = 1
    header = _HEADER.fullmatch(_stripped(source.file.readline(_LONGEST_LINE)))
    if not header:
        source.fail("no header 'N n' (from a fastText model take the .vec file, not the .bin)")
    promised, n = int(header[1]), int(header[2])
    if promised < 1:
        source.fail(f"the header promises {promised} words")
    return _possible(n, source), promised


def _most_common_length(source: _Source) -> int:
    """The n of a file without a header: what most of its first lines say.

    The others have words with spaces. Where two lengths are equally frequent the shorter one is
    taken: the longer lines then have a number too many, which is an error, never a misreading.
    """
    lines = (_stripped(source.file.readline(_LONGEST_LINE)) for _ in range(_LINES_TO_DEDUCE_FROM))
    counts = [line.count(b" ") for line in lines if line]
    source.file.seek(source.start)
    if not counts:
        raise EmbeddingFileError(f"{source.name} has only blank lines; check where it comes from")
    lengths = Counter(filter(None, counts)) or {0: 1}
    n = min(lengths, key=lambda length: (-lengths[length], length))
    return _possible(n, source)


def _possible(n: int, source: _Source) -> int:
    if not 1 <= n <= _LONGEST_VECTOR:
        source.fail(f"vectors of {n} values where 1 to {_LONGEST_VECTOR} are possible", 1)
    return n


class _TextReader:
    """Reads lines of ``word v1 … vn``, after a header or without."""

    def __init__(self, source: _Source, has_header: bool) -> None:
        self.source, self.rows = source, 0
        self.promised: int | None = None
        if has_header:
            self.n, self.promised = _header(source)
        else:
            self.n = _most_common_length(source)

    def read(self, count: int) -> _Entries:
        """The next ``count`` words, fewer only at the end, and their vectors, float32 [B, n]."""
        source, promised = self.source, self.promised
        lines: list[bytes] = []
        first = source.number + 1
        limit = _LONGEST_WORD + self.n * _LONGEST_VALUE
        while len(lines) < count and (line := source.file.readline(limit)):
            source.number += 1
            if len(line) == limit:
                source.fail(f"a line of {limit} bytes or more")
            if line := _stripped(line):
                lines.append(line)
            elif any(map(_stripped, source.file)):
                source.fail("a blank line before the end")
        self.rows += len(lines)
        if promised and self.rows > promised:
            source.fail(f"more words than the {promised} that the header promises", promised + 2)
        if promised and len(lines) < count and self.rows < promised:
            source.fail(f"the end after {self.rows} of the {promised} words in the header")
        entries = _parse(lines, self.n)
        if entries is None:
            faults = ((number, _fault(line, self.n)) for number, line in enumerate(lines, first))
            number, fault = next((number, fault) for number, fault in faults if fault)
            source.fail(fault, number)
        return entries


class _BinaryReader:
    """Reads entries of ``word``, a space and n little-endian float32, after a header."""

    def __init__(self, source: _Source) -> None:
        self.n, self.promised = _header(source)
        self.source, self.rows = source, 0
        source.unit, source.number = "word", 0
        self._buffer, self._at = b"", 0

    def read(self, count: int) -> _Entries:
        """The next ``count`` words, fewer only at the end, and their vectors, float32 [B, n]."""
        source = self.source
        words: list[bytes] = []
        vectors: list[bytes] = []
        if self.rows == self.promised and (self._buffer[self._at :] + source.file.read(2)).strip():
            source.fail(f"more bytes after it, the last of the {self.promised} words in the header")
        for number in range(self.rows + 1, min(self.rows + count, self.promised) + 1):
            source.number = number
            space, end = self._find_entry()
            word = self._buffer[self._at : space].lstrip(b"\r\n")
            if not word or b"\n" in word:
                source.fail(f"no word where one must begin, if vectors have {self.n} values")
            words.append(word)
            vectors.append(self._buffer[space + 1 : end])
            self._at = end
        matrix = np.frombuffer(b"".join(vectors), "<f4").reshape(-1, self.n)
        usable = (np.abs(matrix) <= LARGEST_VALUE).all(axis=1)
        if not usable.all():
            source.fail("a NaN, infinite or too large value", self.rows + 1 + int(usable.argmin()))
        self.rows += len(words)
        return words, matrix.astype(np.float32, copy=False)

    def _find_entry(self) -> tuple[int, int]:
        """Where in the buffer, filled as far as needed, the next word and its vector end."""
        while True:
            space = self._buffer.find(b" ", self._at)
            end = space + 1 + 4 * self.n
            if space >= 0 and end <= len(self._buffer):
                return space, end
            if space < 0 and len(self._buffer) - self._at > _LONGEST_WORD:
                self.source.fail(f"a word of more than {_LONGEST_WORD} bytes")
            block = self.source.file.read(_BLOCK)
            if not block:
                self.source.fail(
                    f"the file ends before it does; the header promises {self.promised} words"
                )
            self._buffer, self._at = self._buffer[self._at :] + block, 0


def _parse(lines: list[bytes], n: int) -> _Entries | None:
    """Words and vectors of lines; None where a line has a fault."""
    fields = pc.split_pattern(pa.array(lines, pa.binary()), b" ", max_splits=n, reverse=True)
    if any(length != n + 1 for length in pc.list_value_length(fields).unique().to_pylist()):
        return None
    words = [word.strip(b" ") for word in pc.list_element(fields, 0).to_pylist()]
    vectors = _floats(pc.list_flatten(pc.list_slice(fields, 1, n + 1)))
    if vectors is None or not (np.abs(vectors) <= LARGEST_VALUE).all():
        return None
    if not all(words) or any(map(_NUMBERS_AT_END.search, words)):
        return None
    return words, vectors.reshape(-1, n)


def _fault(line: bytes, n: int) -> str | None:
    """What is wrong with a line, without quoting it; None if nothing is."""
    word, *values = line.rsplit(b" ", n)
    if len(values) < n:
        return f"{len(values)} values where {n} are expected"
    if not word.strip(b" "):
        return "no word before the vector"
    if excess := _NUMBERS_AT_END.search(word):
        return f"{n + len(excess[0].split())} values where {n} are expected"
    for position, value in enumerate(values, 1):
        number = _floats(pa.array([value], pa.binary()))
        if number is None:
            return f"value {position} is not a number"
        if not abs(number[0]) <= LARGEST_VALUE:
            return f"value {position} is NaN, infinite or too large (above {LARGEST_VALUE:g})"
    return None


def _floats(texts: pa.Array) -> _Floats | None:
    """Numbers written as text, rounded correctly to float32; None where one is not a number."""
    try:
        numbers = texts.cast(pa.string()).cast(pa.float32())
    except pa.ArrowInvalid:
        return None
    return cast(_Floats, numbers.to_numpy(zero_copy_only=False))
