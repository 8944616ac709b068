"""Words that are no Python objects until they are asked for, and the way from a word to its id.

The index is a hash table: int32 [S], S a power of two, ids or -1. A word's first place in it is the
CRC-32 of its UTF-8 bytes, modulo S. Where another word is there it is at the next place, or the
one after that, and so on, after the last the first; an empty place ends the search. A word is
compared with the one that was found, so equal hashes cost time and nothing else. At least half of
all places are empty.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, overload
from zlib import crc32

import numpy as np
import numpy.typing as npt

EMPTY = -1
WORDS_AT_ONCE = 1 << 16


class StoredWords(Sequence[str]):
    """The words of an artifact, none of which is a Python object until it is asked for.

    Args:
      words: Arrow's large_string array of N words.
      index: int32 [S], of these words.
    """

    def __init__(self, words: Any, index: npt.NDArray[np.int32]):
        self._words, self._index = words, index
        # Indexing these takes a third of the time of indexing an array.
        self._slots, self._last = index.data, len(index) - 1
        _, offsets, text = words.buffers()
        self._offsets = memoryview(offsets).cast("q")[: len(words) + 1]
        self._text = memoryview(text or b"")

    def __len__(self) -> int:
        return len(self._offsets) - 1

    @overload
    def __getitem__(self, place: int) -> str: ...

    @overload
    def __getitem__(self, place: slice) -> list[str]: ...

    def __getitem__(self, place: int | slice) -> str | list[str]:
        if isinstance(place, slice):
            return self.of(np.arange(len(self))[place])
        count = len(self)
        if not -count <= place < count:
            raise IndexError(f"there are {count:,} words, and none at {place:,}")
        place %= count
        return self._text[self._offsets[place] : self._offsets[place + 1]].tobytes().decode()

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self), WORDS_AT_ONCE):
            yield from self._words[start : start + WORDS_AT_ONCE].to_pylist()

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self.find(word) != EMPTY

    def of(self, ids: npt.NDArray[np.integer[Any]]) -> list[str]:
        """The words of these ids, int64 [B]."""
        import pyarrow as pa

        # An array of numpy's would have pyarrow import pandas, half a second, only to look at it.
        numbers = np.ascontiguousarray(ids, np.int64)
        places = pa.Array.from_buffers(pa.int64(), len(numbers), [None, pa.py_buffer(numbers)])
        words: list[str] = self._words.take(places).to_pylist()
        return words

    def find(self, word: str) -> int:
        """The id of a word; -1 if it is none of them."""
        sought = word.encode("utf-8", "surrogatepass")
        slots, offsets, text = self._slots, self._offsets, self._text
        place = crc32(sought) & self._last
        while (number := slots[place]) != EMPTY:
            if text[offsets[number] : offsets[number + 1]].tobytes() == sought:
                return int(number)
            place = (place + 1) & self._last
        return EMPTY

    def checked_text(self) -> str:
        """All words, one after the other; "" if one is empty.

        Raises:
          ValueError: they are no text, or the index is not of this many words.
        """
        self._words.validate(full=True)
        index, size = self._index, len(self._index)
        if size & self._last or index.min() != EMPTY or index.max() >= len(self):
            raise ValueError("the index of the words is no hash table of theirs")
        if self._words.null_count or (np.diff(np.asarray(self._offsets)) == 0).any():
            return ""
        return str(self._text[self._offsets[0] : self._offsets[-1]], "utf-8")
