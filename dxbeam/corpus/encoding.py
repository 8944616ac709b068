"""What a format has to say so that released rows can be written in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol


class OutputFile(Protocol):
    """A file that is being written, an encoded row at a time."""

    def write(self, encoded: Any, /) -> None:
        """Adds a row, as ``Encoding.encode`` made it."""

    def close(self) -> None:
        """Completes the file."""


@dataclass(frozen=True)
class Encoding:
    """How rows become files. All its functions can be pickled, as workers need them.

    Attributes:
      suffix: how the names of the files end, such as ".jsonl.gz".
      encode: a row with the attributes ``id``, ``text`` (or ``vector``) and ``fields`` (a JSON
        object as text) -> what an ``OutputFile`` takes.
      open_file: a path -> a new file there.
      count_rows: the path of a finished file -> how many rows it holds.
    """

    suffix: str
    encode: Callable[[Any], Any]
    open_file: Callable[[str], OutputFile]
    count_rows: Callable[[str], int]
