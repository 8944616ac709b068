"""ARPA files: the n-grams of a published model as they are listed; the whole file is checked."""

from __future__ import annotations

import gzip
import io
import itertools
import math
import re
import zlib
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple, cast

import numpy as np

from dxbeam import storage
from dxbeam.errors import ArtifactError
from dxbeam.language.sparse_rows import Floats, Ids

_COUNT = re.compile(r"ngram\s+(\d+)\s*=\s*(\d+)")


class Level(NamedTuple):
    """The n-grams of one length: numbers of the file's words, probabilities, back-off weights."""

    words: Ids
    probabilities: Floats
    weights: Floats


class _Lines:
    """The lines of a file, counted, so that errors say where they are."""

    def __init__(self, path: str):
        self.path, self.number = path, 0
        try:
            file = storage.open_read(path)
            plain = gzip.GzipFile(fileobj=file) if path.endswith(".gz") else file
            self._file = io.TextIOWrapper(cast(BinaryIO, plain), "utf-8")
        except OSError as error:
            raise ArtifactError(f"`arpa` {path} cannot be read ({type(error).__name__})") from None

    def __iter__(self) -> Iterator[str]:
        try:
            for line in self._file:
                self.number += 1
                if line := line.strip():
                    yield line
        except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
            raise self.wrong(f"cannot be read ({type(error).__name__}): it is damaged") from None
        raise self.wrong("the file is cut off: \\end\\ is missing")

    def wrong(self, what: str) -> ArtifactError:
        """An error at the current line."""
        return ArtifactError(f"`arpa` {self.path}, line {self.number:,}: {what}")

    def close(self) -> None:
        self._file.close()


def _counts(lines: Iterator[str], at: _Lines, order: int) -> dict[int, int]:
    """How many n-grams of each length the header announces, and the next line read is of words."""
    counts: dict[int, int] = {}
    for line in lines:
        if line == "\\data\\":
            break
    for line in lines:
        if line == "\\1-grams:":
            if order not in counts:
                raise at.wrong(f"this model has no {order}-grams; choose a smaller `order`")
            return counts
        if not (counted := _COUNT.fullmatch(line)):
            raise at.wrong("this is no ARPA file: its header has another line than 'ngram 1=…'")
        counts[int(counted[1])] = int(counted[2])
    raise at.wrong("the file is cut off")


def check_header(path: str, order: int) -> None:
    """Reads a file as far as its first n-gram; refused where it has none of this length."""
    at = _Lines(path)
    try:
        _counts(iter(at), at, order)
    finally:
        at.close()


def read_levels(path: str, order: int) -> tuple[dict[str, int], list[Level]]:
    """The file's words by number, and its n-grams up to a length; all of the file is checked."""
    at, levels, numbers = _Lines(path), [], dict[str, int]()
    lines = iter(at)
    try:
        counts = _counts(lines, at, order)
        for length in itertools.count(1):
            words, values, line = [], [], ""
            for line in lines:
                if line.startswith("\\") and (line == "\\end\\" or line.endswith("-grams:")):
                    break
                if length <= order:
                    gram, probability, weight = _parsed(line, length, at)
                    if length == 1:
                        if gram[0] in numbers:
                            raise at.wrong("this word is listed twice")
                        numbers[gram[0]] = len(numbers)
                    words.append([numbers.get(word, -1) for word in gram])
                    if -1 in words[-1]:
                        raise at.wrong("this n-gram has a word that is not among the 1-grams")
                    values.append((probability, weight))
                else:
                    words.append([])
            if len(words) != counts.get(length):
                raise at.wrong(
                    f"there are {len(words):,} {length}-grams above, and the header says "
                    f"{counts.get(length, 0):,}: the file is damaged"
                )
            if length <= order:
                table = np.array(values, np.float64).reshape(-1, 2)
                ids = np.array(words, np.int64).reshape(-1, length)
                levels.append(Level(ids, table[:, 0], table[:, 1]))
            if line == "\\end\\":
                if length != max(counts):
                    raise at.wrong(f"the header says that {max(counts)}-grams follow")
                return numbers, levels
            if line != f"\\{length + 1}-grams:":
                raise at.wrong(f"here \\{length + 1}-grams: should begin")
    finally:
        at.close()
    raise AssertionError("the loop returns or raises")


def _parsed(line: str, length: int, at: _Lines) -> tuple[list[str], float, float]:
    """The words of a line, their probability, and their back-off weight, 1 where none is given."""
    fields = line.split()
    if len(fields) not in (length + 1, length + 2):
        raise at.wrong(f"this is no line of {length}-grams")
    try:
        logarithm = float(fields[0])
        weight = float(fields[length + 1]) if len(fields) == length + 2 else 0.0
    except ValueError:
        raise at.wrong("there is no number where a logarithm should be") from None
    if not logarithm <= 1e-6 or not -math.inf < weight < 100:
        raise at.wrong("the logarithm of a probability must not be above 0, nor a weight infinite")
    return fields[1 : length + 1], 10.0**logarithm, 10.0**weight
