"""Embeddings as text, ``word v1 … vn`` per line: GloVe's files, and word2vec's below a header."""

from __future__ import annotations

import re
from collections import Counter
from typing import cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dxbeam.errors import EmbeddingFileError
from dxbeam.space.embeddings.file import (
    LONGEST_LINE,
    LONGEST_VALUE,
    LONGEST_WORD,
    EmbeddingFile,
    Entries,
    checked_dimensions,
    read_header,
    stripped,
)
from dxbeam.space.vocabulary.words import LARGEST_VALUE

_LINES_TO_DEDUCE_FROM = 100
_OTHER_SEPARATORS = {"commas": b",", "tabs": b"\t", "semicolons": b";"}
_NUMBERS_AT_END = re.compile(rb"(?: +[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)+\Z")


class TextReader:
    """Reads lines ``word v1 … vn``, below a header or without one; see ``Reader``."""

    def __init__(self, file: EmbeddingFile, *, has_header: bool) -> None:
        self._file, self.words_read = file, 0
        self._words_in_header: int | None = None
        if has_header:
            self.n, self._words_in_header = read_header(file)
        else:
            self.n = _most_common_length(file)

    def read(self, count: int) -> Entries:
        """The next ``count`` words, fewer only at the end, and their vectors, float32 [B, n]."""
        file, words_in_header = self._file, self._words_in_header
        lines: list[bytes] = []
        first = file.number + 1
        limit = LONGEST_WORD + self.n * LONGEST_VALUE
        while len(lines) < count and (line := file.content.readline(limit)):
            file.number += 1
            if len(line) == limit:
                file.fail(f"a line of {limit} bytes or more")
            if line := stripped(line):
                lines.append(line)
            elif any(map(stripped, file.content)):
                file.fail("a blank line before the end")
        self.words_read += len(lines)
        if words_in_header and self.words_read > words_in_header:
            file.fail(
                f"more words than the {words_in_header} that the header promises",
                words_in_header + 2,
            )
        if words_in_header and len(lines) < count and self.words_read < words_in_header:
            file.fail(
                f"the file ends after {self.words_read} of the {words_in_header} words that the "
                "header promises"
            )
        entries = _parse(lines, self.n)
        if entries is None:
            faults = ((number, _fault(line, self.n)) for number, line in enumerate(lines, first))
            number, fault = next((number, fault) for number, fault in faults if fault)
            file.fail(fault, number)
        return entries


def _most_common_length(file: EmbeddingFile) -> int:
    """The n of a file without a header: what most of its first lines say.

    The others have words with spaces. Where two lengths are equally frequent the shorter one is
    taken: the longer lines then have a number too many, which is an error, never a misreading.
    """
    lines = [stripped(file.content.readline(LONGEST_LINE)) for _ in range(_LINES_TO_DEDUCE_FROM)]
    lines = list(filter(None, lines))
    counts = [line.count(b" ") for line in lines]
    file.content.seek(file.start)
    if not counts:
        raise EmbeddingFileError(f"{file.name} has only blank lines; check where it comes from")
    lengths = Counter(filter(None, counts)) or {0: 1}
    for name, separator in _OTHER_SEPARATORS.items():
        if all(separator in line and b" " not in line.strip(b" ") for line in lines):
            escaped = separator.decode().replace("\t", "\\t")
            raise EmbeddingFileError(
                f"{file.name} has {name} between its values; put spaces there: "
                f"tr '{escaped}' ' ' < FILE > NEW"
            )
    n = min(lengths, key=lambda length: (-lengths[length], length))
    return checked_dimensions(n, file)


def _parse(lines: list[bytes], n: int) -> Entries | None:
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
            hint = "; write decimals with a point, not a comma" if b"," in value else ""
            return f"value {position} is not a number{hint}"
        if not abs(number[0]) <= LARGEST_VALUE:
            return f"value {position} is NaN, infinite or too large (above {LARGEST_VALUE:g})"
    return None


def _floats(texts: pa.Array) -> npt.NDArray[np.float32] | None:
    """Numbers written as text, rounded correctly to float32; None where one is not a number."""
    try:
        numbers = texts.cast(pa.string()).cast(pa.float32())
    except pa.ArrowInvalid:
        return None
    return cast("npt.NDArray[np.float32]", numbers.to_numpy(zero_copy_only=False))
