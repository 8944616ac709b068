"""Words, texts or given vectors -> noisy vectors on a public grid; the whole job without Beam.

A record becomes a vector x of R^n: a word's own, the mean of a text's words, or the one that is
given. What is released is P x + noise, rounded to a grid: P the public projection to R^m, the noise
multidimensional Laplace in R^m (density proportional to exp(-(epsilon / s) |z|)), s the
projection's sensitivity.

Proof. By the triangle inequality the densities of the noisy vectors of x and x' differ by a factor
of at most exp((epsilon / s) |P x - P x'|) <= exp(epsilon |x - x'|); rounding is post-processing.

Why a grid. Floating-point sums P x + noise lie on a lattice that depends on P x: which vocabulary
word could have produced a released float32 vector leaves one word, the true one, at epsilon >= 5.
The grid's step is a power of two, a sixteenth to a thirty-second of the noise's standard deviation
a coordinate: between two grid points lie so many floating-point numbers that every word reaches
every grid point, and the rounding adds 0.02 % to the noise.

How far float64 noise is from real noise. A coordinate of the noise is s G, G = L cos(angle) a
Gaussian by Box-Muller and s the common scale, the root of a Gamma variable. Computed with unit
roundoff u = 2^-53 it is off by at most 2^-47 L s, L <= 9.42 (angle 16 u, cosine 2 u, length and
scale under 40 u), but for L or that variable below 1/8, whose larger errors are so rare that they
matter less than 2^-42 in all. The rounded coordinate differs only where the exact one lies that
near a border between grid points, which are a step apart: with probability at most
2 * 2^-47 * 9.42 (E[s]/step + 0.4) < 2^-37. Adding P x rounds once more, with less influence while
P x is at most 1,000 standard deviations. So the law of what is released is within m * 2^-36 of the
exact one in total variation: 7e-10 for m = 50, 4e-9 for m = 300.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dxbeam import tokenization
from dxbeam.documents import Document, Rejected, place, why_rejected
from dxbeam.errors import ConfigurationError
from dxbeam.given_vectors import decode
from dxbeam.guarantees import LEFT_OUT, Guarantee
from dxbeam.noise import laplace, laplace_draws
from dxbeam.parameters import checked_epsilon
from dxbeam.projections import Projection
from dxbeam.randomness import KEY_BYTES, document_key, draw_key, draws_a_word, fill
from dxbeam.sensitivity import Sensitivity
from dxbeam.vocabulary import Vocabulary

UNITS = {
    "word": "a record is one word, and its vector is released",
    "text": "a record is a text, and the mean of its words' vectors is released",
    "vector": "a record is a vector, and it is released",
}
"""What one released vector stands for."""

LARGEST_STEP_COUNT = 2**24
"""Grid points lie within this many steps of 0, clipped there, so float32 holds each exactly."""

_STEPS_A_DEVIATION = 16
_VARIATION_A_COORDINATE = 2.0**-36

_METRICS = {
    "word": "Euclidean distance between the words' vectors in the vocabulary",
    "text": "Euclidean distance between the means of the texts' word vectors",
    "vector": "Euclidean distance between the vectors",
}
_MOVER = (
    "Word Mover's Distance between the texts: the least mean Euclidean distance over which the "
    "words of one, each of equal weight, can be moved to those of the other"
)
_NOUNS = {"word": "word's vector", "text": "text's mean vector", "vector": "vector"}

Floats = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class VectorConfiguration:
    """Everything that determines the law of released vectors, but for the vocabulary and the key.

    Attributes:
      unit: a key of UNITS.
      epsilon: privacy parameter per unit of distance between the original vectors.
      projection: the public map.
      sensitivity: what it does to distances.
    """

    unit: str
    epsilon: float
    projection: Projection
    sensitivity: Sensitivity

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon))
        if self.unit not in UNITS:
            raise ConfigurationError(f"--unit {self.unit}: choose from {', '.join(UNITS)}")
        exact = self.sensitivity.method == "exact" and self.projection.matrix is not None
        if self.unit == "vector" and exact:
            raise ConfigurationError(
                "--sensitivity exact covers the vocabulary's words and their means, not vectors "
                "that are given; choose spectral"
            )

        if not self.sensitivity.value > 0:
            raise ConfigurationError(
                f"--sensitivity {self.sensitivity.method} is 0: the projection maps all words of "
                "the vocabulary to one point, or it has one word alone; choose spectral"
            )

    @property
    def scale(self) -> float:
        """The noise's 1/epsilon in the projected space."""
        return self.sensitivity.value / self.epsilon

    @property
    def deviation(self) -> float:
        """The noise's standard deviation a coordinate, sqrt(m + 1) * scale."""
        return math.sqrt(self.projection.projected + 1) * self.scale

    @property
    def step(self) -> float:
        """The grid's step: the largest power of two up to a sixteenth of ``deviation``."""
        return 2.0 ** math.floor(math.log2(self.deviation / _STEPS_A_DEVIATION))

    @property
    def total_variation(self) -> float:
        """How far the released law may be from the exact one, because noise is float64."""
        return self.projection.projected * _VARIATION_A_COORDINATE

    def as_dict(self) -> dict[str, Any]:
        """Every parameter, ready for JSON."""
        return {
            "release": "vectors",
            "unit": self.unit,
            "epsilon": self.epsilon,
            "projection": self.projection.as_dict(),
            "sensitivity": self.sensitivity.as_dict(),
            "noise": {
                "law": "multidimensional Laplace",
                "scale": self.scale,
                "deviation_a_coordinate": self.deviation,
            },
            "grid": {"step": self.step, "largest": LARGEST_STEP_COUNT * self.step},
            "total_variation": self.total_variation,
            "tokenization": tokenization.RULE,
        }

    def digest(self, vocabulary: str) -> str:
        """SHA-256 of the canonical form; two configurations with one digest draw equal noise."""
        canonical = json.dumps(
            {"vocabulary": vocabulary, **self.as_dict()}, sort_keys=True, separators=(",", ":")
        )
        return hashlib.sha256(canonical.encode()).hexdigest()

    def guarantee(self) -> Guarantee:
        """What is promised for one record."""
        mean_of_words = self.unit == "text"
        exact = self.sensitivity.method != "spectral" and self.projection.matrix is not None
        claimed = self.sensitivity.method == "published"
        caveats = [
            "Record ids and kept fields are released as they are.",
            LEFT_OUT,
            "The vocabulary and the projection must be public; a vocabulary built from the private "
            "corpus voids the guarantee."
            if self.unit != "vector" or self.projection.kind == "pca"
            else "The projection must be public.",
            "Noise is computed in float64 and rounded to a public grid: the law of a released "
            f"vector is within {self.total_variation:.1g} of the exact one in total variation, for "
            "projected vectors up to 1,000 standard deviations of the noise.",
        ]
        if mean_of_words:
            caveats.append(
                "Replacing one of a text's k words moves the mean by a k-th of the words' "
                "distance; a text without words is treated as one unknown word."
            )
        if claimed:
            caveats.append(
                "The sensitivity 1 + beta is PrivEmb's claim for a random projection; it was not "
                "checked for this one, and delta is the probability that the projection breaks it."
            )
        return Guarantee(
            notion="metric differential privacy",
            metric=_MOVER if mean_of_words and exact else _METRICS[self.unit],
            epsilon=self.epsilon,
            delta=self.sensitivity.delta,
            unit=_NOUNS[self.unit],
            composition=(
                "For several vectors of one person the factors multiply: the sum over them of "
                "epsilon * d(x_i, x_i')."
            ),
            evidence="published" if claimed else "proved",
            citation=(
                "Feyisetan, Kasiviswanathan 2021 (PrivEmb)"
                if claimed
                else "dxbeam/vector_release.py and dxbeam/sensitivity.py, after Feyisetan, "
                "Kasiviswanathan 2021 (PrivEmb)"
            ),
            caveats=tuple(caveats),
        )

    @property
    def unprotected(self) -> tuple[str, ...]:
        """What passes the mechanism by, for the manifest."""
        return ("record ids", "number of records")


class ReleasedVector(NamedTuple):
    """A vector that may be released, float32 [m] on the grid, and the document it stands for."""

    document: Document
    vector: Singles


class VectorReleaser:
    """Releases one noisy vector for each record.

    Args:
      configuration: what is released, and how.
      vocabulary: the public words and vectors; None where vectors are given.
      key: the secret key, 32 bytes; by default a new one that is forgotten with this object.
    """

    def __init__(
        self,
        configuration: VectorConfiguration,
        vocabulary: Vocabulary | None = None,
        key: bytes | None = None,
    ):
        if vocabulary is None and configuration.unit != "vector":
            raise ConfigurationError(f"--unit {configuration.unit} needs a --vocabulary")
        n = configuration.projection.dimensions
        if vocabulary is not None and vocabulary.dimensions != n:
            raise ConfigurationError(
                f"the projection takes vectors of {n} dimensions, and the vocabulary's have "
                f"{vocabulary.dimensions}"
            )
        if key is not None and (not isinstance(key, bytes) or len(key) != KEY_BYTES):
            raise ConfigurationError(
                f"a secret key is {KEY_BYTES} bytes from a cryptographic source, such as "
                "secrets.token_bytes(32); leave it out for a new one"
            )
        self.configuration = configuration
        self._vocabulary = vocabulary
        self._key = draw_key() if key is None else key
        self._digest = configuration.digest(vocabulary.content_digest if vocabulary else "")

    def __reduce__(self) -> str | tuple[object, ...]:
        raise TypeError("this holds a secret key and is not pickled; make it where it runs")

    def release(self, documents: Iterable[Document]) -> Iterator[ReleasedVector | Rejected]:
        """Releases vectors in order; records that cannot be used come out as Rejected.

        Noise is keyed by a record's id and text, so equal ones with one id come out equal, and
        others do not: give each record an id of its own.

        Raises:
          ConfigurationError: an element is no Document.
        """
        for document in documents:
            reason = why_rejected(document)
            if reason is not None:
                yield Rejected(place(document.id), reason)
            else:
                yield ReleasedVector(document, self.release_one(document))

    def release_one(self, document: Document) -> Singles:
        """The noisy vector of one usable record, float32 [m]; a pure function of key and record."""
        configuration = self.configuration
        m = configuration.projection.projected
        key = document_key(self._key, self._digest, document.id, document.text)
        random = np.empty((1, draws_a_word(laplace_draws(m))), np.uint64)
        fill(key, 0, random)
        noise = laplace(random, m, 1 / configuration.scale)[0]
        noise += configuration.projection.apply(self._vector(document.text))
        return to_grid(noise, configuration.step)

    def _vector(self, text: str) -> Floats:
        """The record's own vector, float64 [n]."""
        if self._vocabulary is None or self.configuration.unit == "vector":
            return decode(text)
        if self.configuration.unit == "word":
            ids = self._vocabulary.ids_of([text.strip()])
        else:
            ids = self._vocabulary.ids_of(tokenization.words(text) or [""])
        mean: Floats = self._vocabulary.vectors_of(ids).mean(axis=0)
        return mean


def to_grid(vectors: Floats, step: float) -> Singles:
    """The nearest grid points: float64 -> float32, multiples of ``step``, a power of two."""
    steps = np.clip(np.rint(vectors / step), -LARGEST_STEP_COUNT, LARGEST_STEP_COUNT)
    points: Singles = ((steps + 0.0) * step).astype(np.float32)  # never -0, whose sign would tell
    return points
