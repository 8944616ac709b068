"""Readers of embedding files: GloVe, word2vec and fastText, streamed in chunks.

Formats:

* ``glove``: text, one line ``word v1 … vn`` per word, no header. A word may contain spaces
  (glove.840B has such), so the last n fields are the vector; such words are left out.
* ``word2vec``: the same below a header line ``N n``; fastText's ``.vec`` files are of this kind.
* ``word2vec_binary``: a header line, then for each word the word, a space and n little-endian
  float32, with or without a line end after it.

Each may be plain, ``.gz``, or a member of a ``.zip``: ``path.zip`` where it holds a single file,
else ``path.zip!member``. Files are local or on any file system that dxbeam/storage knows.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from dxbeam.errors import ConfigurationError, EmbeddingFileError
from dxbeam.space.embeddings.binary import BinaryReader
from dxbeam.space.embeddings.file import (
    BLOCK,
    LONGEST_LINE,
    EmbeddingFile,
    Reader,
    header_in,
    open_embedding_file,
    stripped,
)
from dxbeam.space.embeddings.text import TextReader

FORMATS: dict[str, Callable[[EmbeddingFile], Reader]] = {
    "glove": partial(TextReader, has_header=False),
    "word2vec": partial(TextReader, has_header=True),
    "word2vec_binary": BinaryReader,
}
"""What reads each format, by its name."""

CHUNK_WORDS = 4096
"""Words of a chunk, at most."""

_VALUES = 1 << 22  # of a chunk, at most, where vectors are very long
_UNUSABLE = re.compile(r"^$|[\s\x00-\x1f\x7f-\x9f]")
_PRINTABLE = re.compile(rb"[\t\x20-\x7e]+")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Chunk:
    """Consecutive words of a file and their vectors.

    Attributes:
      words: B distinct words that no earlier chunk had, 1 <= B <= CHUNK_WORDS.
      vectors: float32 [B, n], C order, finite.
    """

    words: list[str]
    vectors: npt.NDArray[np.float32]


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
    chunk_words: int = CHUNK_WORDS,
    log_seconds: float = 10.0,
    block: int = BLOCK,
) -> Iterator[Chunk]:
    """Reads the words and vectors of a file in its order, one chunk in memory at a time.

    Of equal words the first is kept. Reading starts, and errors are raised, as chunks are taken.
    Long reads log their progress, never words.

    Args:
      path: the file, or ``archive.zip!member``.
      file_format: one of ``FORMATS``, or "auto": two integers in the first line are a header, the
        second line tells text from binary.
      max_words: stops once this many words are kept; what follows is not looked at.
      lowercase: lower-cases words, before they are compared.
      report: a fresh one, to be filled.
      chunk_words: words of a chunk, at most; fewer where vectors are very long.
      log_seconds: that pass between two logs of progress, at least.
      block: bytes that are read at once.

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
    with open_embedding_file(path, block=block) as file:
        report.source = re.sub(r"^[^!]*/", "", file.name)
        report.file_format = _detect(file) if file_format == "auto" else file_format
        reader = FORMATS[report.file_format](file)
        most = max(1, min(chunk_words, _VALUES // reader.n))
        while max_words is None or len(seen) < max_words:
            wanted = most if max_words is None else min(most, max_words - len(seen))
            raw_words, vectors = reader.read(wanted)
            if not raw_words:
                break
            rows, words = _kept(raw_words, lowercase, seen, report)
            report.words = len(seen)
            report.bytes_read = file.content.tell()
            if time.monotonic() - last_log >= log_seconds:
                last_log = time.monotonic()
                share = 100 * file.position() / max(1, file.size)
                _log.info("%s: %d words read, %.0f %%", file.name, reader.words_read, share)
            if words:
                yield Chunk(words, vectors[rows])
        if not seen:
            raise EmbeddingFileError(
                f"{file.name} has no word that is valid UTF-8 and free of white space and "
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


def _detect(file: EmbeddingFile) -> str:
    """The format: by the first two lines, and by the suffix where there is no header."""
    first, second = (stripped(file.content.readline(LONGEST_LINE)) for _ in range(2))
    file.content.seek(file.start)
    header = header_in(first)
    if not header:
        return "word2vec_binary" if re.search(r"(?i)\.bin(\.gz)?$", file.name) else "glove"
    values = second.rsplit(b" ", max(1, header[0]))[1:]
    is_text = not second or (values and all(map(_PRINTABLE.fullmatch, values)))
    return "word2vec" if is_text else "word2vec_binary"
