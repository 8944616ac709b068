"""What every search backend offers; choose_backend.py says which there are and chooses one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

T = TypeVar("T")
R = TypeVar("R")


class SearchBackend(Protocol):
    """Finds the words nearest to vectors.

    A backend may use any arithmetic to rule words out, but which of the remaining ones is nearest
    it decides by distances in float64, ties by the lower id. So all exact backends give the same
    answer, and it does not depend on the batch that a vector came in.

    Attributes:
      name: how --search and the log call it.
    """

    @property
    def name(self) -> str: ...  # noqa: D102

    def nearest(self, queries: Floats, count: int) -> tuple[Ids, Floats]:
        """The words nearest to each query by (float64 distance, id), and their distances.

        Args:
          queries: float64 [B, n].
          count: words per query: 1 or 2, and at most N.

        Returns:
          int64 and float64 [B, count].
        """
        ...


def on_threads(threads: int, work: Callable[[T], R], tiles: Sequence[T]) -> list[R]:
    """What becomes of each tile of queries, in order, on this many threads at most."""
    if threads == 1 or len(tiles) < 2:
        return list(map(work, tiles))
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, tiles))
