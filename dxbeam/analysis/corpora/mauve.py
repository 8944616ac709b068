"""MAUVE: how alike two collections of texts are, by the vectors that a model makes of them.

Vectors of both sides, of length 1, are put into groups by k-means, of their main components. With
P and Q the shares of each side in the groups, and R = l P + (1 - l) Q for l from 0 to 1, the points

    (exp(-c KL(Q | R)), exp(-c KL(P | R)))

are a curve from (0, 1) to (1, 0). MAUVE is the area below it: 1 for the same shares, near 0 for
sides that no group has in common (Pillutla et al.: MAUVE, 2021; the same with proofs in 2023). Here
c = 5, components hold 90 % of the variance, and there is a group for every ten texts of a side, 500
at most. Computed from the definition; the package mauve-text is under another licence, GPL 3.
"""

from __future__ import annotations

from collections.abc import Iterator

import faiss
import numpy as np

from dxbeam.analysis.corpora.texts import bootstrapped
from dxbeam.analysis.evaluate.document_scores import Score
from dxbeam.space.search.distance_rows import Singles
from dxbeam.space.search.neighbors import Floats, Ids

SCALING = 5.0

LEAST_DOCUMENTS = 20

_POINTS = 25
_VARIANCE = 0.9
_TEXTS_A_GROUP = 10
_MOST_GROUPS = 500
_STEPS, _TRIALS, _SEED = 100, 5, 1


def mauve(originals: Singles, released: Singles, weights: Floats) -> Iterator[Score]:
    """MAUVE of a release against its originals; nothing for fewer than 20 documents.

    Args:
      originals: float32 [D, n], and
      released: likewise, of the same documents.
      weights: float64 [1 + REPLICATES, D], how often each document counts; groups stay as they are.
    """
    documents = len(originals)
    if documents < LEAST_DOCUMENTS:
        return
    every = grouped(np.concatenate([originals, released]), documents)
    groups = int(every.max()) + 1
    before, after = every[:documents], every[documents:]

    def area(some: Floats) -> Floats:
        shares = [
            np.stack([np.bincount(side, row, groups) / row.sum() for row in some])
            for side in (before, after)
        ]
        return np.array([area_of_curve(p, q) for p, q in zip(*shares, strict=True)])

    yield bootstrapped("mauve", weights, area, 0.0, 1.0)


def grouped(vectors: Singles, documents: int) -> Ids:
    """The group of each vector, int64 [B], of which there are ``documents`` on a side."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    points = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    points = points - points.mean(axis=0)
    _, deviations, directions = np.linalg.svd(points, full_matrices=False)
    share = np.cumsum(np.square(deviations))
    count = int(np.searchsorted(share, _VARIANCE * share[-1])) + 1
    points = np.ascontiguousarray(points @ directions[:count].T, np.float32)
    groups = min(_MOST_GROUPS, max(2, documents // _TEXTS_A_GROUP))
    means = faiss.Kmeans(
        points.shape[1], groups, niter=_STEPS, nredo=_TRIALS, seed=_SEED, verbose=False,
        min_points_per_centroid=1, max_points_per_centroid=1 << 20,
    )  # fmt: skip
    means.train(points)
    return np.asarray(means.index.search(points, 1)[1][:, 0])


def area_of_curve(one: Floats, other: Floats) -> float:
    """MAUVE of two distributions over groups, float64 [K] each."""
    points = [(0.0, 1.0)]
    for share in np.linspace(0.0, 1.0, _POINTS)[::-1]:
        mixed = share * one + (1 - share) * other
        losses = np.array([_divergence(other, mixed), _divergence(one, mixed)])
        points.append(tuple(np.exp(-SCALING * losses)))
    points.append((1.0, 0.0))
    x, y = np.array(points).T
    return float((np.diff(x) * (y[1:] + y[:-1]) / 2).sum())


def _divergence(shares: Floats, mixed: Floats) -> float:
    """Kullback and Leibler's; infinite where the mixture lacks a group."""
    some = shares > 0
    if (mixed[some] <= 0).any():
        return float("inf")
    return float((shares[some] * np.log(shares[some] / mixed[some])).sum())
