"""Public linear maps from R^n to fewer dimensions, for vectors that are released.

A projection is public, like the vocabulary: it is drawn by hashing a seed that release.json states,
and never from the secret key. How much it stretches distances is its sensitivity, see
``dxbeam.vectors.sensitivity``.

Feyisetan, Kasiviswanathan: Private release of text embedding vectors (2021), PrivEmb, project with
a Gaussian matrix; the other kinds are ours.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from dxbeam.errors import ConfigurationError
from dxbeam.mechanisms.sampling.noise import normal_pairs
from dxbeam.randomness import fill
from dxbeam.space.vocabulary.words import Vocabulary

KINDS = {
    "none": "no projection: the vectors as they are",
    "gaussian": "independent entries N(0, 1/m), as published (PrivEmb)",
    "orthogonal": "random orthonormal rows times sqrt(n/m)",
    "pca": "the m directions in which the public vocabulary varies most",
}
"""Every kind of projection."""

DEFAULT_SEED = "dxbeam"

_RULE = "dxbeam-projection-1"
_ROWS_PER_BLOCK = 8192

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Projection:
    """A public m x n matrix.

    Attributes:
      kind: a key of KINDS.
      dimensions: n, of the vectors that come in.
      projected: m, of those that come out.
      seed: the public seed it was drawn from; "" for kinds that draw nothing.
      matrix: float32 [m, n]; None for "none".
    """

    kind: str
    dimensions: int
    projected: int
    seed: str
    matrix: npt.NDArray[np.float32] | None

    @cached_property
    def _matrix(self) -> Floats | None:
        return None if self.matrix is None else self.matrix.astype(np.float64)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_matrix"}

    def apply(self, vector: Floats) -> Floats:
        """The projected vector, [n] -> [m], summed in the same order wherever it runs."""
        if self._matrix is None:
            return vector
        projected: Floats = (self._matrix * vector).sum(axis=1)
        return projected

    def apply_all(self, vectors: npt.NDArray[np.floating]) -> Floats:
        """The projected vectors, [B, n] -> float64 [B, m]; the last digits depend on the batch."""
        doubles: Floats = vectors.astype(np.float64)
        return doubles if self._matrix is None else doubles @ self._matrix.T

    @property
    def digest(self) -> str:
        """SHA-256 of the shape and of the entries, as little-endian float32 row by row."""
        digest = hashlib.sha256(f"{self.kind} {self.projected} {self.dimensions} ".encode())
        if self.matrix is not None:
            digest.update(self.matrix.astype("<f4").tobytes())
        return digest.hexdigest()

    def as_dict(self) -> dict[str, Any]:
        """All but the matrix, ready for JSON."""
        return {
            "kind": self.kind,
            "dimensions": self.projected,
            "of": self.dimensions,
            "rule": _RULE,
            "seed": self.seed or None,
            "sha256": self.digest,
        }


def make_projection(
    kind: str,
    dimensions: int,
    projected: int | None = None,
    seed: str = DEFAULT_SEED,
    vocabulary: Vocabulary | None = None,
) -> Projection:
    """The projection of this kind; the same arguments give the same one.

    Args:
      kind: a key of KINDS.
      dimensions: n.
      projected: m, at most n; ignored for "none".
      seed: a public string; "gaussian" and "orthogonal" are drawn from its hash.
      vocabulary: the public vocabulary, for "pca".

    Raises:
      ConfigurationError: no such kind, m out of range, or "pca" without a vocabulary.
    """
    if kind not in KINDS:
        raise ConfigurationError(f"`projection` {kind}: choose from {', '.join(KINDS)}")
    if kind == "none":
        return Projection(kind, dimensions, dimensions, "", None)
    if projected is None or not 1 <= projected <= dimensions:
        raise ConfigurationError(
            f"`projected_dimensions` {projected}: a projection of vectors of {dimensions} "
            f"dimensions has 1 to {dimensions}; 50 to 200 is usual, and `projection` none leaves "
            "them as they are"
        )
    if kind == "pca":
        if vocabulary is None:
            raise ConfigurationError(
                "`projection` pca needs a public `vocabulary`, whose directions it takes; without "
                "one choose gaussian, orthogonal or none"
            )
        return Projection(kind, dimensions, projected, "", _principal(vocabulary, projected))
    gaussian = _gaussian(kind, projected, dimensions, seed)
    if kind == "gaussian":
        matrix = gaussian / math.sqrt(projected)
    else:
        q, r = np.linalg.qr(gaussian.T)
        matrix = (q * np.sign(np.diagonal(r))).T * math.sqrt(dimensions / projected)
    return Projection(kind, dimensions, projected, seed, matrix.astype(np.float32))


def _gaussian(kind: str, projected: int, dimensions: int, seed: str) -> Floats:
    """Standard normal numbers from the AES-256-CTR stream under the hash of the public seed."""
    text = "\0".join([_RULE, kind, str(projected), str(dimensions), seed])
    pairs = (dimensions + 1) // 2
    random = np.empty((projected, 2 * pairs), np.uint64)
    fill(hashlib.sha256(text.encode()).digest(), 0, random)
    return normal_pairs(random[:, :pairs], random[:, pairs:])[:, :dimensions]


def _principal(vocabulary: Vocabulary, projected: int) -> npt.NDArray[np.float32]:
    """Eigenvectors of the vocabulary's covariance, largest first, each with a positive peak."""
    vectors = vocabulary.vectors
    mean = vectors.mean(axis=0, dtype=np.float64)
    covariance = np.zeros((vocabulary.dimensions, vocabulary.dimensions))
    for start in range(0, len(vectors), _ROWS_PER_BLOCK):
        block = vectors[start : start + _ROWS_PER_BLOCK] - mean
        covariance += block.T @ block
    _, directions = np.linalg.eigh(covariance)
    rows = directions[:, ::-1][:, :projected].T
    peaks = rows[np.arange(projected), np.abs(rows).argmax(axis=1)]
    matrix: npt.NDArray[np.float32] = (rows * np.sign(peaks)[:, None]).astype(np.float32)
    return matrix
