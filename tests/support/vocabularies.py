"""Small vocabularies whose geometry a test knows."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dxbeam.space.vocabulary import Vocabulary


def of(vectors: npt.ArrayLike, *, lowercase: bool = False) -> Vocabulary:
    """Words w0, w1, … at these places."""
    array = np.ascontiguousarray(vectors, np.float32)
    return Vocabulary([f"w{i}" for i in range(len(array))], array, lowercase=lowercase)


def line_vocabulary(positions: npt.ArrayLike = (-3.0, -1.0, 0.0, 0.5, 4.0)) -> Vocabulary:
    """Words on a line, irregularly spaced, so that no two of them have one distribution."""
    return of(np.asarray(positions, np.float32)[:, None])


def grid_vocabulary(side: int = 5, n: int = 2) -> Vocabulary:
    """All integer points of a cube: the most ties that n dimensions offer."""
    axes = np.meshgrid(*[np.arange(side)] * n, indexing="ij")
    return of(np.stack([axis.ravel() for axis in axes], axis=1))


def random_vocabulary(words: int = 200, n: int = 8, seed: int = 0) -> Vocabulary:
    """Words around the origin, a few units apart."""
    return of(np.random.default_rng(seed).normal(0, 2, (words, n)))
