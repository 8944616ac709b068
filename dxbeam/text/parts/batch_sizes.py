"""How much waits for a search."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class BatchSizes:
    """Bounds of what waits for a search, which change nothing in what is released.

    Attributes:
      words: of a search.
      words_read_on: of a search where words are drawn one after the other, which need many texts
        side by side.
      characters: of all documents that wait, as they may hold few words.
    """

    words: int = 4096
    words_read_on: int = 1 << 14
    characters: int = 1 << 22


SIZES = BatchSizes()
