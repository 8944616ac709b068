"""Frozen settings of a release of vectors, their canonical form and its digest."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from typing import Any

from dxbeam.errors import ConfigurationError
from dxbeam.guarantees import EUCLIDEAN, LEFT_OUT, Guarantee, Metric
from dxbeam.mechanisms.parameters import checked_epsilon
from dxbeam.mechanisms.sampling.noise import NOISE_RULE
from dxbeam.space.vocabulary.words import Vocabulary
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
"""Grid points are within this many steps of 0, clipped there, so float32 holds each exactly."""

_STEPS_PER_DEVIATION = 16
_VARIATION_PER_COORDINATE = 2.0**-36
_LONGEST = 2.0**18  # in standard deviations of a coordinate of the noise, before projection

_METRICS = {
    "word": EUCLIDEAN,
    "text": Metric(
        "euclidean of means", "Euclidean distance between the means of the texts' word vectors"
    ),
    "vector": Metric("euclidean of vectors", "Euclidean distance between the vectors"),
}
_WORD_MOVER = Metric(
    "word mover",
    "Word Mover's Distance between the texts: the least mean Euclidean distance over which the "
    "words of one, each of equal weight, can be moved to those of the other",
)
_NOUNS = {"word": "word's vector", "text": "text's mean vector", "vector": "vector"}


@dataclass(frozen=True, eq=False)
class VectorConfiguration:
    """Everything that determines the distribution of released vectors but vocabulary and key.

    Attributes:
      unit: what one released vector stands for, a key of UNITS.
      epsilon: privacy parameter per unit of distance between the original vectors.
      projection: the public linear map that is applied before noise is added.
      sensitivity: a bound on how much the projection stretches distances.

    Raises:
      ConfigurationError: one of them is out of range, or they cannot be combined.
    """

    unit: str
    epsilon: float
    projection: Projection
    sensitivity: Sensitivity

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon))
        if self.unit not in UNITS:
            raise ConfigurationError(f"`unit` {self.unit}: choose from {', '.join(UNITS)}")
        over_words = self.sensitivity.method == "exact" and self.projection.matrix is not None
        if self.unit == "vector" and over_words:
            raise ConfigurationError(
                "`sensitivity` exact covers the vocabulary's words and their means, not vectors "
                "that are given; choose spectral"
            )
        if not self.sensitivity.value > 0:
            raise ConfigurationError(
                f"`sensitivity` {self.sensitivity.method} is 0: the projection maps all words of "
                "the vocabulary to one point, or it has only one word; choose spectral"
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
        projector = make_projection(
            projection, vocabulary.dimensions, projected_dimensions, seed, vocabulary
        )
        bound = exact(vocabulary, projector) if unit == "word" else spectral(projector)
        return cls(unit, epsilon, projector, bound)

    @property
    def scale(self) -> float:
        """The scale of the noise after projection: the sensitivity divided by epsilon."""
        return self.sensitivity.value / self.epsilon

    @property
    def deviation(self) -> float:
        """The noise's standard deviation per coordinate, sqrt(m + 1) * scale."""
        return math.sqrt(self.projection.projected + 1) * self.scale

    @property
    def step(self) -> float:
        """The grid's step: the largest power of two up to a sixteenth of ``deviation``."""
        return 2.0 ** math.floor(math.log2(self.deviation / _STEPS_PER_DEVIATION))

    @property
    def longest(self) -> float:
        """The largest length of a vector; vectors given as data are shortened to it."""
        return _LONGEST * math.sqrt(self.projection.projected + 1) / self.epsilon

    @property
    def total_variation(self) -> float:
        """How far the released distribution may be from the exact one, as noise is float64."""
        return self.projection.projected * _VARIATION_PER_COORDINATE

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
        over_words = self.sensitivity.method != "spectral" and self.projection.matrix is not None
        claimed = self.sensitivity.method == "published"
        caveats = [
            "Record ids and kept fields are released as they are.",
            LEFT_OUT,
            "The vocabulary and the projection must be public; a vocabulary built from the private "
            "corpus voids the guarantee."
            if self.unit != "vector" or self.projection.kind == "pca"
            else "The projection must be public.",
            "Noise is computed in float64 and rounded to a public grid: the distribution of a "
            f"released vector is within t = {self.total_variation:.1g} of the exact one in total "
            "variation, which is a slack of t * (1 + exp(epsilon * d)) beside the factor.",
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
            metric=_WORD_MOVER if mean_of_words and over_words else _METRICS[self.unit],
            epsilon=self.epsilon,
            delta=self.sensitivity.delta,
            unit=_NOUNS[self.unit],
            covers=f"{self.unit}s",
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


def check_lengths(configuration: VectorConfiguration, vocabulary: Vocabulary) -> None:
    """Refuses a vocabulary that has a vector too long for the epsilon; reads all its vectors."""
    if configuration.unit != "vector" and vocabulary.longest > configuration.longest:
        raise ConfigurationError(
            f"the vocabulary has a vector of length {vocabulary.longest:.4g}, and with epsilon "
            f"{configuration.epsilon:g} vectors up to {configuration.longest:.4g} can be released; "
            "choose a smaller epsilon, or scale the vectors down"
        )
