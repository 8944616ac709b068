"""Vectors shortened to a ball around the origin."""

from __future__ import annotations

import numpy as np

from dxbeam.space.search.neighbors import Floats


def clipped(vectors: Floats, radius: float | None) -> Floats:
    """The nearest points of the ball of this radius around the origin: float64 [B, n] -> [B, n].

    None stands for no ball.
    """
    if radius is None:
        return vectors
    lengths = np.sqrt(np.square(vectors).sum(axis=1, keepdims=True))
    return np.asarray(vectors * (radius / np.maximum(lengths, radius)))
