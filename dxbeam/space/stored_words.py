"""Words in two files that all processes of a host share, and the way from a word to its id.

    words.arrow       an Arrow IPC file of one batch: the column ``word``, in order of id
    word_index.npy    int32 [S], S a power of two: ids in the order of a hash table, else -1

A word's first place in the index is the CRC-32 of its UTF-8 bytes, modulo S. Where another word
stands there it is at the next place, or the one after that, and so on, after the last the first;
an empty place ends the search. A word is compared with the one that was found, so equal hashes cost
time and nothing else. At least half of all places are empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, overload
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pyarrow as pa

WORDS, WORD_INDEX = "words.arrow", "word_index.npy"

_SCHEMA = pa.schema([("word", pa.large_string())])
_EMPTY = -1
_AT_ONCE = 1 << 16


class StoredWords(Sequence[str]):
    """The words of an artifact, none of which is a Python object until it is asked for.

    Args:
      words: Arrow's large_string array of N words.
      index: int32 [S], as in word_index.npy.
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
        for start in range(0, len(self), _AT_ONCE):
            yield from self._words[start : start + _AT_ONCE].to_pylist()

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self.find(word) != _EMPTY

    def of(self, ids: npt.NDArray[np.integer[Any]]) -> list[str]:
        """The words of these ids, int64 [B]."""
        found: list[str] = self._words.take(pa.array(ids)).to_pylist()
        return found

    def find(self, word: str) -> int:
        """The id of a word; -1 if it is none of them."""
        sought = word.encode("utf-8", "surrogatepass")
        slots, offsets, text = self._slots, self._offsets, self._text
        place = crc32(sought) & self._last
        while (number := slots[place]) != _EMPTY:
            if text[offsets[number] : offsets[number + 1]].tobytes() == sought:
                return int(number)
            place = (place + 1) & self._last
        return _EMPTY

    def checked_text(self) -> str:
        """All words, one after the other, once it is seen that the files hold what they should.

        Raises:
          ValueError: they are no text, or one is empty, or the index is none of so many words.
        """
        self._words.validate(full=True)
        index, size = self._index, len(self._index)
        if size & self._last or index.min() != _EMPTY or index.max() >= len(self):
            raise ValueError("the index of the words is no hash table of theirs")
        if self._words.null_count or (np.diff(np.asarray(self._offsets)) == 0).any():
            raise ValueError("a word is empty")
        return str(self._text[self._offsets[0] : self._offsets[-1]], "utf-8")


def write_words(chunks: Iterable[Any], directory: Path) -> None:
    """Writes words.arrow and word_index.npy.

    Args:
      chunks: Arrow arrays of strings; at least one word.
      directory: a local directory.

    Raises:
      ValueError: a word is repeated.
    """
    arrays = [array.cast(pa.large_string()) for array in chunks]
    words = pa.concat_arrays(arrays)
    with pa.OSFile(str(directory / WORDS), "wb") as file, pa.ipc.new_file(file, _SCHEMA) as writer:
        writer.write_batch(pa.record_batch([words], schema=_SCHEMA))
    np.save(directory / WORD_INDEX, word_index(words))


def open_words(directory: Path) -> StoredWords:
    """The words that ``write_words`` has written, memory-mapped.

    Raises:
      OSError, ValueError, pa.ArrowException: these are no such files.
    """
    batches = pa.ipc.open_file(pa.memory_map(str(directory / WORDS)))
    if batches.schema != _SCHEMA or batches.num_record_batches != 1:
        raise ValueError(f"{WORDS} is not one batch of words")
    index = np.load(directory / WORD_INDEX, mmap_mode="r", allow_pickle=False)
    if index.dtype != np.int32 or index.ndim != 1:
        raise ValueError(f"{WORD_INDEX} is no row of int32")
    return StoredWords(batches.get_batch(0).column(0), index)


def word_index(words: Any) -> npt.NDArray[np.int32]:
    """The index of Arrow's large_string array of words, as word_index.npy holds it.

    Raises:
      ValueError: a word is repeated.
    """
    hashes = np.fromiter(map(crc32, _encoded(words)), np.uint32, len(words))
    _check_distinct(words, hashes)
    last = (1 << (2 * len(words) - 1).bit_length()) - 1
    slots = np.full(last + 1, _EMPTY, np.int32)
    waiting, places = np.arange(len(words), dtype=np.int32), hashes.astype(np.int64) & last
    while len(waiting):
        free = np.flatnonzero(slots[places] == _EMPTY)
        taken, first = np.unique(places[free], return_index=True)
        slots[taken] = waiting[free[first]]  # the lowest id where several want a place
        left = slots[places] != waiting
        waiting, places = waiting[left], (places[left] + 1) & last
    return slots


def _encoded(words: Any) -> Iterator[bytes]:
    for start in range(0, len(words), _AT_ONCE):
        yield from words[start : start + _AT_ONCE].cast(pa.large_binary()).to_pylist()


def _check_distinct(words: Any, hashes: npt.NDArray[np.uint32]) -> None:
    order = np.argsort(hashes, kind="stable")
    equal = np.flatnonzero(hashes[order[1:]] == hashes[order[:-1]])
    suspects = np.unique(order[np.concatenate([equal, equal + 1])])
    if len(set(words.take(pa.array(suspects)).to_pylist())) < len(suspects):
        raise ValueError("words are repeated")
