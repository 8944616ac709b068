"""The files of an artifact's words: written, and opened without reading them.

words.arrow       an Arrow IPC file of one batch: the column ``word``, in order of id
word_index.npy    int32 [S]: from a word to its id, see stored_words.py
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dxbeam.space.vocabulary.stored_words import EMPTY, WORDS_AT_ONCE, StoredWords

WORDS, WORD_INDEX = "words.arrow", "word_index.npy"

_SCHEMA = pa.schema([("word", pa.large_string())])


def write_words(chunks: Iterable[Any], directory: Path) -> None:
    """Writes words.arrow and word_index.npy, of Arrow arrays of strings with one word at least.

    A repeated word is a ValueError.
    """
    arrays = [array.cast(pa.large_string()) for array in chunks]
    words = pa.concat_arrays(arrays)
    with pa.OSFile(str(directory / WORDS), "wb") as file, pa.ipc.new_file(file, _SCHEMA) as writer:
        writer.write_batch(pa.record_batch([words], schema=_SCHEMA))
    np.save(directory / WORD_INDEX, word_index(words))


def open_words(directory: Path) -> StoredWords:
    """The words that ``write_words`` has written, memory-mapped; else OSError or ValueError."""
    batches = pa.ipc.open_file(pa.memory_map(str(directory / WORDS)))
    if batches.schema != _SCHEMA or batches.num_record_batches != 1:
        raise ValueError(f"{WORDS} is not one batch of words")
    index = np.load(directory / WORD_INDEX, mmap_mode="r", allow_pickle=False)
    if index.dtype != np.int32 or index.ndim != 1:
        raise ValueError(f"{WORD_INDEX} is no row of int32")
    return StoredWords(batches.get_batch(0).column(0), index)


def word_index(words: Any) -> npt.NDArray[np.int32]:
    """The index of Arrow's large_string array, as word_index.npy has it, of distinct words."""
    hashes = np.fromiter(map(crc32, _encoded(words)), np.uint32, len(words))
    _check_distinct(words, hashes)
    last = (1 << (2 * len(words) - 1).bit_length()) - 1
    slots = np.full(last + 1, EMPTY, np.int32)
    waiting, places = np.arange(len(words), dtype=np.int32), hashes.astype(np.int64) & last
    while len(waiting):
        free = np.flatnonzero(slots[places] == EMPTY)
        taken, first = np.unique(places[free], return_index=True)
        slots[taken] = waiting[free[first]]  # the lowest id where several want a place
        left = slots[places] != waiting
        waiting, places = waiting[left], (places[left] + 1) & last
    return slots


def _encoded(words: Any) -> Iterator[bytes]:
    for start in range(0, len(words), WORDS_AT_ONCE):
        yield from words[start : start + WORDS_AT_ONCE].cast(pa.large_binary()).to_pylist()


def _check_distinct(words: Any, hashes: npt.NDArray[np.uint32]) -> None:
    order = np.argsort(hashes, kind="stable")
    equal = np.flatnonzero(hashes[order[1:]] == hashes[order[:-1]])
    suspects = np.unique(order[np.concatenate([equal, equal + 1])])
    if len(set(words.take(pa.array(suspects)).to_pylist())) < len(suspects):
        raise ValueError("words are repeated")
