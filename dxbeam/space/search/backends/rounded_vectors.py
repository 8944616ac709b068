"""Vectors rounded to 8-bit integers, and what rounding took away: in memory or in files.

    integers.npy          int8 [ceil(N / 2048), n, 2048]: words of a block side by side, the last
                          block filled up with zeros; where N is less than 2048, [1, n, N]
    integer_scales.npy    float32 [N]: what a word's integers are to be multiplied by
    integer_bounds.npy    float64 [3, N], of what they are vectors of: half the squared length, the
                          length after rounding, and the length of what rounding took away

Words are taken relative to a centre, in files to the unknown word's vector. Nothing here depends
on the queries or their bits.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dxbeam.space.search.backends.backend import Floats
from dxbeam.space.search.backends.integer_products import LARGEST_WORD
from dxbeam.space.search.backends.score_bounds import WORDS_PER_BLOCK

INTEGERS, SCALES, BOUNDS = "integers.npy", "integer_scales.npy", "integer_bounds.npy"

_SHORTEST = 1e-9  # lengths whose squares float32 holds with room to spare
LONGEST = 1e9


class RoundedVectors(NamedTuple):
    """A copy of N vectors, one byte per number.

    Attributes:
      centre: float64 [n], what the vectors are taken relative to.
      integers: int8 [blocks, n, words per block].
      scales: float32 [N].
      bounds: float64 [3, N]: half squares, lengths after rounding, residuals.
    """

    centre: Floats
    integers: npt.NDArray[np.int8]
    scales: npt.NDArray[np.float32]
    bounds: Floats

    def blocks(self) -> list[npt.NDArray[np.int8]]:
        """The integers of each block, [n, words] in C order: views, but for the last one."""
        *whole, last = np.asarray(self.integers)
        rest = len(self.scales) - len(whole) * WORDS_PER_BLOCK
        return [*whole, np.ascontiguousarray(last[:, :rest])]

    def fits_float32(self) -> bool:
        """Whether float32 holds the squares of the vectors' lengths, with room to spare."""
        return bool(_SHORTEST**2 < self.bounds[0].max() < LONGEST**2)


def round_vectors(
    vectors: npt.NDArray[np.floating[Any]],
    centre: Floats,
    new: Callable[[str, tuple[int, ...], type], npt.NDArray[Any]] | None = None,
) -> RoundedVectors:
    """Rounds vectors, float [N, n], relative to a centre, float64 [n], near their middle.

    ``new`` makes each array, from the name of its file, its shape and its type.
    """
    new = new or (lambda _, shape, kind: np.zeros(shape, kind))
    words, dimensions = vectors.shape
    shape = _shape(words, dimensions)
    integers, scales = new(INTEGERS, shape, np.int8), new(SCALES, (words,), np.float32)
    bounds = new(BOUNDS, (3, words), np.float64)
    for number in range(shape[0]):
        part = slice(number * WORDS_PER_BLOCK, (number + 1) * WORDS_PER_BLOCK)
        centred = vectors[part] - centre
        rounded, scales[part] = to_integers(
            centred, np.abs(centred).max(axis=1, initial=0.0), LARGEST_WORD
        )
        integers[number, :, : len(rounded)] = rounded.T
        back = rounded * scales[part, None].astype(np.float64)
        bounds[0, part] = np.square(centred).sum(axis=1) / 2
        bounds[1, part] = np.linalg.norm(back, axis=1)
        bounds[2, part] = np.linalg.norm(centred - back, axis=1)
    return RoundedVectors(centre, integers, scales, bounds)


def _shape(words: int, dimensions: int) -> tuple[int, int, int]:
    return -(-words // WORDS_PER_BLOCK), dimensions, min(words, WORDS_PER_BLOCK)


def to_integers(
    vectors: Floats, span: Floats, largest: int
) -> tuple[Floats, npt.NDArray[np.float32]]:
    """Integers -largest … largest as float64 [B, n], and what they are to be multiplied by."""
    scales = (span / largest).astype(np.float32)
    scales[scales == 0] = 1.0
    integers = np.rint(vectors / scales.astype(np.float64)[:, None])
    return np.clip(integers, -largest, largest, out=integers), scales


def write_rounded(directory: Path, vectors: npt.NDArray[Any], centre: Floats) -> bool:
    """Writes the three files; False where float32 cannot hold the squares of the lengths."""

    def new(name: str, shape: tuple[int, ...], kind: type) -> npt.NDArray[Any]:
        return np.lib.format.open_memmap(directory / name, "w+", kind, shape)

    fits = round_vectors(vectors, centre, new).fits_float32()
    if not fits:
        for name in (INTEGERS, SCALES, BOUNDS):
            (directory / name).unlink()
    return fits


def open_rounded(directory: Path, words: int, centre: Floats) -> RoundedVectors:
    """What ``write_rounded`` has written, memory-mapped; else an OSError or a ValueError."""
    load = partial(np.load, mmap_mode="r", allow_pickle=False)
    rounded = RoundedVectors(
        centre, *(load(directory / name) for name in (INTEGERS, SCALES, BOUNDS))
    )
    wanted = [("int8", _shape(words, len(centre))), ("float32", (words,)), ("float64", (3, words))]
    if [(array.dtype.name, array.shape) for array in rounded[1:]] != wanted:
        raise ValueError("the integers are not those of the vectors")
    return rounded
