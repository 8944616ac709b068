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
roundoff u = 2^-53 it is off by at most 2^-47 L s (angle 16 u, cosine 2 u, length and scale under
40 u), but for L or that variable below 1/8, whose larger errors are so rare that they matter less
than 2^-42 in all; L is above 9.42 with a probability of 2^-64. What is added to P x is the grid
point next to it, exactly, and its distance to that point is added to the noise before that is
rounded, so the size of P x does not matter. The released coordinate differs only where the exact
one lies as near as the error to a border between grid points, which are a step apart: with
probability at most 2 * 2^-47 * 9.42 (E[s]/step + 0.4) < 2^-37. So the law of what is released is
within t = m * 2^-36 of the exact one in total variation: 7e-10 for m = 50, 4e-9 for m = 300. As an
approximate guarantee, P(S | x) <= exp(epsilon d) P(S | x') + t (1 + exp(epsilon d)).

How far P x is from the exact product. Vectors are at most r = 2^18 sqrt(m + 1) / epsilon long:
given ones are shortened to that (the nearest point of a ball, which brings no two further apart),
and a vocabulary with longer ones is refused. A coordinate of P x, n products and their sum, is off
by at most (n + 1) u |row| |x|, and P x by at most sqrt(m) (n + 1) u |P| r. With two vectors and the
noise's rate epsilon / s that adds at most

    2 sqrt(m) (n + 1) u (|P| / s) epsilon r <= 2^-34 (m + 1) (n + 1) |P| / s

to the exponent epsilon d, |P| being the largest singular value: less than 1e-6 for m = 50, n = 300
and a spectral sensitivity s, and nothing where there is no projection. The mean of a text's k words
adds twice k u epsilon r at most. At that length P x also lies within the grid's inner half.
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

from dxbeam.corpus.given_vectors import decode, why_no_vector
from dxbeam.documents import Document, Rejected, as_documents, place, why_rejected
from dxbeam.errors import ConfigurationError, described
from dxbeam.guarantees import LEFT_OUT, Guarantee
from dxbeam.keys import given_or_new_key
from dxbeam.mechanisms.noise import NOISE_RULE, laplace, laplace_draws
from dxbeam.mechanisms.parameters import checked_epsilon
from dxbeam.randomness import document_key, draws_a_word, fill
from dxbeam.space.vocabulary import Vocabulary
from dxbeam.text import tokenization
from dxbeam.vectors.projections import DEFAULT_SEED, Projection, make_projection
from dxbeam.vectors.sensitivity import Sensitivity, exact, spectral

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
_LONGEST = 2.0**18  # in standard deviations of a coordinate of the noise, before projection

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
    """Everything that determines the distribution of released vectors but vocabulary and key.

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

    @classmethod
    def for_vocabulary(
        cls,
        vocabulary: Vocabulary,
        epsilon: float,
        unit: str = "text",
        projection: str = "pca",
        projected_dimensions: int | None = 50,
        seed: str = DEFAULT_SEED,
    ) -> VectorConfiguration:
        """The settings for words or texts of a public vocabulary, with a proved sensitivity.

        Args:
          vocabulary: N words in R^n.
          epsilon: privacy parameter per unit of distance between the original vectors.
          unit: "word", whose sensitivity is the largest over all pairs of words, in time O(N^2 n);
            or "text", with the projection's largest singular value.
          projection: a key of ``projections.KINDS``.
          projected_dimensions: m, at most n; ignored without a projection.
          seed: a public string from which a random projection is drawn.

        Raises:
          ConfigurationError: one of them is out of range.
        """
        made = make_projection(
            projection, vocabulary.dimensions, projected_dimensions, seed, vocabulary
        )
        bound = exact(vocabulary, made) if unit == "word" else spectral(made)
        return cls(unit, epsilon, made, bound)

    @property
    def scale(self) -> float:
        """The noise's 1/epsilon in the projected space."""
        return self.sensitivity.value / self.epsilon

    @property
    def deviation(self) -> float:
        """The noise's standard deviation per coordinate, sqrt(m + 1) * scale."""
        return math.sqrt(self.projection.projected + 1) * self.scale

    @property
    def step(self) -> float:
        """The grid's step: the largest power of two up to a sixteenth of ``deviation``."""
        return 2.0 ** math.floor(math.log2(self.deviation / _STEPS_A_DEVIATION))

    @property
    def longest(self) -> float:
        """How long a vector may be: given ones are shortened to this length."""
        return _LONGEST * math.sqrt(self.projection.projected + 1) / self.epsilon

    @property
    def total_variation(self) -> float:
        """How far the released distribution may be from the exact one, as noise is float64."""
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
            "longest_vector": self.longest,
            "total_variation": self.total_variation,
            "tokenization": tokenization.RULE,
            "noise_rule": NOISE_RULE,
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
            f"vector is within t = {self.total_variation:.1g} of the exact one in total variation, "
            "which is a slack of t * (1 + exp(epsilon * d)) beside the factor.",
        ]
        if self.unit == "vector":
            caveats.append(
                f"Vectors longer than {self.longest:.4g} are shortened to that length before noise "
                "is added, which brings no two of them further apart."
            )
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
                else "dxbeam/vectors/release.py and dxbeam/vectors/sensitivity.py, after "
                "Feyisetan, Kasiviswanathan 2021 (PrivEmb)"
            ),
            caveats=tuple(caveats),
        )

    @property
    def unprotected(self) -> tuple[str, ...]:
        """What is released without protection, for the manifest."""
        return ("record ids", "number of records")


class ReleasedVector(NamedTuple):
    """A vector that may be released, float32 [m] on the grid, and the document it stands for."""

    document: Document
    vector: Singles


class VectorReleaser:
    """Releases one noisy vector for each record.

    Args:
      vocabulary: the public words and vectors, from ``open_vocabulary``; None where the records
        are vectors.
      configuration: what is released, and how.
      secret_key: 32 bytes from a cryptographic source, to draw the same noise again. By default a
        new key that is forgotten with this object.

    Raises:
      ConfigurationError: no vocabulary where one is needed, one that does not fit the
        configuration, or no key.
    """

    def __init__(
        self,
        vocabulary: Vocabulary | None,
        configuration: VectorConfiguration,
        secret_key: bytes | None = None,
    ):
        if not isinstance(vocabulary, Vocabulary | None):
            raise ConfigurationError(
                'vocabulary is a Vocabulary, such as dxbeam.open_vocabulary("demo"), and this is '
                f"{described(vocabulary)}"
            )
        if not isinstance(configuration, VectorConfiguration):
            raise ConfigurationError(
                f"configuration is a VectorConfiguration, and this is {described(configuration)}"
            )
        if vocabulary is None and configuration.unit != "vector":
            raise ConfigurationError(f"--unit {configuration.unit} needs a --vocabulary")
        n = configuration.projection.dimensions
        if vocabulary is not None and vocabulary.dimensions != n:
            raise ConfigurationError(
                f"the projection takes vectors of {n} dimensions, and the vocabulary's have "
                f"{vocabulary.dimensions}"
            )
        if vocabulary is not None:
            check_lengths(configuration, vocabulary)
        self.configuration = configuration
        self._vocabulary = vocabulary
        self._secret_key = given_or_new_key(secret_key)
        self._digest = configuration.digest(vocabulary.content_digest if vocabulary else "")

    def __reduce__(self) -> str | tuple[object, ...]:
        raise TypeError(
            "a VectorReleaser holds a secret key and is not pickled; make it where it runs"
        )

    def release(self, documents: Iterable[Document | str]) -> Iterator[ReleasedVector | Rejected]:
        """Releases vectors in order; records that cannot be used come out as Rejected.

        Noise is keyed by a record's id and text, so equal records with one id come out equal, which
        shows that they were equal: give each record an id of its own. A plain string, a word or a
        text, gets a new random id, so no two strings share noise; but a kept secret key cannot draw
        their noise again.

        Args:
          documents: documents and plain strings.

        Raises:
          ConfigurationError: this is no iterable of documents, or one of its elements is neither a
            document nor a string.
        """
        return self._release(as_documents(documents, "release"))

    def _release(self, documents: Iterable[Document]) -> Iterator[ReleasedVector | Rejected]:
        for document in documents:
            reason = why_rejected(document)
            if reason is None and self.configuration.unit == "vector":
                reason = why_no_vector(document.text, self.configuration.projection.dimensions)
            if reason is not None:
                yield Rejected(place(document.id), reason)
            else:
                yield ReleasedVector(document, self.release_one(document))

    def release_one(self, document: Document) -> Singles:
        """The noisy vector of one usable record, float32 [m]; a pure function of key and record."""
        configuration = self.configuration
        m = configuration.projection.projected
        key = document_key(self._secret_key, self._digest, document.id, document.text)
        random = np.empty((1, draws_a_word(laplace_draws(m))), np.uint64)
        fill(key, 0, random)
        noise = laplace(random, m, 1 / configuration.scale)[0]
        projected = configuration.projection.apply(self._vector(document.text))
        # The grid point next to P x is added last, exactly, so that a long P x rounds no noise.
        nearest = np.rint(projected / configuration.step) * configuration.step
        return to_grid((projected - nearest) + noise, configuration.step, nearest)

    def _vector(self, text: str) -> Floats:
        """The record's own vector, float64 [n]."""
        if self._vocabulary is None or self.configuration.unit == "vector":
            return shortened(decode(text), self.configuration.longest)
        if self.configuration.unit == "word":
            ids = self._vocabulary.ids_of([text.strip()])
        else:
            ids = self._vocabulary.ids_of(tokenization.words(text) or [""])
        mean: Floats = self._vocabulary.vectors_of(ids).mean(axis=0)
        return mean


def check_lengths(configuration: VectorConfiguration, vocabulary: Vocabulary) -> None:
    """Refuses a vocabulary with vectors that are too long for the epsilon; looks at all of them.

    Raises:
      ConfigurationError: there is one.
    """
    if configuration.unit != "vector" and vocabulary.longest > configuration.longest:
        raise ConfigurationError(
            f"the vocabulary has a vector of length {vocabulary.longest:.4g}, and with epsilon "
            f"{configuration.epsilon:g} vectors up to {configuration.longest:.4g} can be released; "
            "choose a smaller epsilon, or scale the vectors down"
        )


def shortened(vector: Floats, longest: float) -> Floats:
    """The nearest vector that is no longer than this: float64 [n] -> [n]."""
    length = float(np.sqrt(np.square(vector).sum()))
    return vector if length <= longest else np.asarray(vector * (longest / length))


def to_grid(vectors: Floats, step: float, start: npt.ArrayLike = 0.0) -> Singles:
    """The nearest grid points, ``start`` added: float64 -> float32, multiples of ``step``.

    Args:
      vectors: float64, of any shape.
      step: a power of two.
      start: multiples of ``step``, of the same shape; they are added without rounding.
    """
    steps = np.rint(vectors / step) + np.asarray(start) / step
    steps = np.clip(steps, -LARGEST_STEP_COUNT, LARGEST_STEP_COUNT)
    points: Singles = ((steps + 0.0) * step).astype(np.float32)  # never -0, whose sign would tell
    return points
