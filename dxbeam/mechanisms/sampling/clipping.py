"""Vectors shortened to a ball around the origin, before noise is added."""

from __future__ import annotations

import numpy as np

from dxbeam.guarantees import Metric
from dxbeam.mechanisms.parameters import checked_positive
from dxbeam.mechanisms.sampling.noisy_vector import NoisyVector
from dxbeam.space.search.neighbors import Floats, Ids, NeighborSearch


def clipped(vectors: Floats, radius: float | None) -> Floats:
    """The nearest points of the ball of this radius around the origin: float64 [B, n] -> [B, n].

    None stands for no ball.
    """
    if radius is None:
        return vectors
    lengths = np.sqrt(np.square(vectors).sum(axis=1, keepdims=True))
    return np.asarray(vectors * (radius / np.maximum(lengths, radius)))


def checked_clip(clip: float) -> float:
    """The radius as a float; refused unless positive and finite."""
    return checked_positive("clip", clip, "the radius to which vectors are shortened")


def clipped_euclidean(radius: float) -> Metric:
    """The distance of vectors clipped to a ball of this radius."""
    return Metric(
        "clipped euclidean",
        f"Euclidean distance between the words' vectors, clipped to a ball of radius {radius:.12g}",
    )


class ClippedVector(NoisyVector):
    """A mechanism that adds noise to a clipped vector; with a radius of None to the vector."""

    clip: float | None

    def noise_starts(self, ids: Ids, search: NeighborSearch) -> Floats:
        """The clipped vectors, to which the noise is added: int64 [B] -> float64 [B, n]."""
        return clipped(search.vocabulary.vectors_of(ids), self.clip)
