"""The neighbour table in pieces of a few hundred words, as workers leave them.

    FIRST-ATTEMPT-neighbors.npy    int32 [rows, K], of the words from FIRST on
    FIRST-ATTEMPT-radii.npy        float64 [rows]

They are in a folder that is named by the words' vectors and K, so whoever finds a whole piece there
need not compute it again. Each attempt has a separate name: a bundle may run twice at one time.
"""

from __future__ import annotations

import re
import uuid
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dxbeam import storage
from dxbeam.space.artifact.artifact import WordsAndVectors

WORDS_PER_PIECE = 512

_NAME = re.compile(r"(\d{9}-[0-9a-f]{32})-(neighbors|radii)\.npy")
_HEADER = 128  # bytes of a .npy file of so few dimensions


class Piece(NamedTuple):
    """A piece that is there: its first word, how many it has, and its two files."""

    first: int
    rows: int
    neighbors: str
    radii: str


def folder_of(parent: str, shape: WordsAndVectors, depth: int) -> str:
    """Where the pieces of K = ``depth`` neighbours of these words are, below a folder."""
    return storage.join(parent, f"{shape.digest[:32]}-{depth}")


def rows_of(first: int, words: int) -> int:
    """How many of N words the piece has that starts with this one."""
    return min(WORDS_PER_PIECE, words - first)


def write_piece(
    folder: str, first: int, neighbors: npt.NDArray[np.int32], radii: npt.NDArray[np.float64]
) -> Piece:
    """Writes int32 [rows, K] and float64 [rows]."""
    stem = storage.join(folder, f"{first:09d}-{uuid.uuid4().hex}")
    piece = Piece(first, len(radii), f"{stem}-neighbors.npy", f"{stem}-radii.npy")
    _write_array(piece.neighbors, neighbors)
    _write_array(piece.radii, radii)
    return piece


def _write_array(path: str, array: npt.NDArray[Any]) -> None:
    with storage.open_write(path) as file:
        np.save(file, array, allow_pickle=False)


def read_array(path: str) -> npt.NDArray[Any]:
    """One of a piece's two arrays."""
    with storage.open_read(path) as file:
        array: npt.NDArray[Any] = np.load(file, allow_pickle=False)
    return array


def whole_pieces(folder: str, words: int, depth: int) -> dict[int, Piece]:
    """The pieces of a table of N words that are there and whole, by their first word.

    A file that a worker was still writing when it was lost is smaller than it should be.
    """
    depth = min(depth, words - 1)
    whole: dict[str, dict[str, str]] = {}
    for path, size in storage.match(storage.join(folder, "*.npy")):
        name = _NAME.fullmatch(path.rpartition("/")[2])
        if name is None:
            continue
        first = int(name[1].partition("-")[0])
        per_row = 4 * depth if name[2] == "neighbors" else 8
        if first < words and size == _HEADER + rows_of(first, words) * per_row:
            whole.setdefault(name[1], {})[name[2]] = path
    pieces = {}
    for stem, files in whole.items():
        first = int(stem.partition("-")[0])
        if len(files) == 2:
            pieces[first] = Piece(first, rows_of(first, words), files["neighbors"], files["radii"])
    return pieces
