"""Small vocabularies whose geometry a test knows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.space.vocabulary.words import Vocabulary


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


def with_neighbors(words: int = 300, n: int = 7, neighbors: int = 150) -> Vocabulary:
    """Normal vectors, with their table of neighbors and the radius within which words are close."""
    plain = of(np.random.default_rng(words).normal(size=(words, n)))
    table, radii = NeighborSearch(plain).neighbor_table(np.arange(words), min(neighbors, words - 1))
    return Vocabulary(plain.words, plain.vectors, neighbor_ids=table, close_radius=radii)


def adversarial() -> Iterator[tuple[str, np.ndarray]]:
    """Names and vectors, float64 [2300, n], that are hard to tell apart or of wild lengths."""
    generator = np.random.default_rng(0)
    normal = generator.normal(size=(2300, 8))
    line = np.stack([np.linspace(0, 1, 2300), np.zeros(2300)], axis=1)
    yield "all equal", np.ones((2300, 8))
    yield "few distinct", normal[np.arange(2300) % 20]
    yield "pairs", normal[np.arange(2300) // 2]
    yield "nearly equal", normal[np.arange(2300) % 20] + 1e-7 * normal
    yield "far from the origin", normal + 1e3
    yield "one far away", np.concatenate([normal[1:], np.full((1, 8), 1e6)])
    yield "on a line", line
    yield "nearest last", line[::-1] ** 3
    yield "one dimension", normal[:, :1]
    yield "a grid", np.rint(normal[:, :3] * 2)
    yield "small", normal * 1e-7
    yield "large", normal * 1e7
    yield "of all lengths", normal * np.exp(3 * generator.normal(size=(2300, 1)))
    yield "two clusters", normal * 1e-3 + (np.arange(2300) % 50 == 0)[:, None]
