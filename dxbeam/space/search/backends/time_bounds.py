"""How fast this machine computes bounds on scores, by a trial of a few milliseconds."""

from __future__ import annotations

import time

import numpy as np
import numpy.typing as npt
import threadpoolctl

from dxbeam.space.search.backends.score_bounds import ScoreBounds

TIMED_WORDS = 512
"""So many words are enough for a trial; it takes a millisecond in 300 dimensions."""

_QUERIES, _TRIALS = 256, 3


def seconds_of_a_tile(bounds: ScoreBounds, vectors: npt.NDArray[np.float32]) -> float:
    """Seconds that one thread takes for the scores of a tile; the least of three trials.

    ``vectors``, float32 [TIMED_WORDS, n], are of the same words.
    """
    tile = bounds.tile(vectors[:_QUERIES].astype(np.float64))
    if tile is None:
        return np.inf
    scores = np.empty((_QUERIES, len(vectors)), np.float32)
    seconds = []
    with threadpoolctl.threadpool_limits(1, "blas"):
        tile.scores(0, scores)  # the first also sets things up
        for _ in range(_TRIALS):
            started = time.perf_counter()
            tile.scores(0, scores)
            seconds.append(time.perf_counter() - started)
    return min(seconds)
