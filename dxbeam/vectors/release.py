"""Words, texts or vectors -> noisy vectors on a public grid; the whole job without Beam.

A record stands for a vector x of R^n: a word's vector, the mean of the vectors of a text's words,
or a vector that is given as data. What is released is P x + noise, rounded to a grid. P is the
public projection to R^m, the noise is multidimensional Laplace in R^m (density proportional to
exp(-(epsilon / s) |z|)), and s is the projection's sensitivity.

Proof. By the triangle inequality the densities of the noisy vectors of x and x' differ by a factor
of at most exp((epsilon / s) |P x - P x'|) <= exp(epsilon |x - x'|); rounding is post-processing.

Why a grid. Floating-point sums P x + noise are on a lattice that depends on P x. Of the words of a
vocabulary, only one, the true one, could have produced a released float32 vector at epsilon >= 5.
The grid's step is a power of two, a sixteenth to a thirty-second of the noise's standard deviation
per coordinate: between two grid points are so many floating-point numbers that every word reaches
every grid point, and the rounding adds 0.02 % to the noise.

How far float64 noise is from real noise. A coordinate of the noise is s G, G = L cos(angle) a
Gaussian by Box-Muller and s the common scale, the root of a Gamma variable. Computed with unit
roundoff u = 2^-53 it is off by at most 2^-47 L s (angle 16 u, cosine 2 u, length and scale under
40 u), but for L or that variable below 1/8, whose larger errors are so rare that they matter less
than 2^-42 in all; L is above 9.42 with a probability of 2^-64. What is added to P x is the grid
point next to it, exactly, and its distance to that point is added to the noise before that is
rounded, so the size of P x does not matter. The released coordinate differs only where the exact
one is as near as the error to a border between grid points, which are a step apart: with
probability at most 2 * 2^-47 * 9.42 (E[s]/step + 0.4) < 2^-37. So the distribution of what is
released is within t = m * 2^-36 of the exact one in total variation: 7e-10 for m = 50, 4e-9 for
m = 300. As an approximate guarantee, P(S | x) <= exp(epsilon d) P(S | x') + t (1 + exp(epsilon d)).

How far P x is from the exact product. Vectors are at most r = 2^18 sqrt(m + 1) / epsilon long:
given ones are shortened to that (the nearest point of a ball, which brings no two further apart),
and a vocabulary with longer ones is refused. A coordinate of P x, n products and their sum, is off
by at most (n + 1) u |row| |x|, and P x by at most sqrt(m) (n + 1) u |P| r. With two vectors and the
noise's rate epsilon / s that adds at most

    2 sqrt(m) (n + 1) u (|P| / s) epsilon r <= 2^-34 (m + 1) (n + 1) |P| / s

to the exponent epsilon d, |P| being the largest singular value: less than 1e-6 for m = 50, n = 300
and a spectral sensitivity s, and nothing where there is no projection. The mean of a text's k words
adds twice k u epsilon r at most. At that length P x also is within the grid's inner half.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dxbeam.corpus.parsing.given_vectors import decode, why_no_vector
from dxbeam.documents import Document, Rejected, as_documents, document_problem, printable_id
from dxbeam.errors import ConfigurationError, check_type
from dxbeam.keys import given_or_new_key
from dxbeam.mechanisms.sampling.noise import laplace, laplace_draws
from dxbeam.randomness import document_key, draws_a_word, fill
from dxbeam.space.vocabulary.words import Vocabulary
from dxbeam.text import tokenization
from dxbeam.vectors.configuration import LARGEST_STEP_COUNT, VectorConfiguration, check_lengths

Floats = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]


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
        check_type(
            vocabulary,
            Vocabulary | None,
            'vocabulary is a Vocabulary, such as dxbeam.open_vocabulary("demo")',
        )
        check_type(configuration, VectorConfiguration, "configuration is a VectorConfiguration")
        if vocabulary is None and configuration.unit != "vector":
            raise ConfigurationError(f"`unit` {configuration.unit} needs a `vocabulary`")
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
        shows that they were equal: give each record a separate id. A plain string, a word or a
        text, gets a new random id, so no two strings share noise; but a kept secret key cannot draw
        their noise again.

        It takes and refuses what ``Sanitizer.sanitize`` does.
        """
        return self._release(as_documents(documents, "release"))

    def _release(self, documents: Iterable[Document]) -> Iterator[ReleasedVector | Rejected]:
        for document in documents:
            reason = document_problem(document)
            if reason is None and self.configuration.unit == "vector":
                reason = why_no_vector(document.text, self.configuration.projection.dimensions)
            if reason is not None:
                yield Rejected(printable_id(document.id), reason)
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


def shortened(vector: Floats, longest: float) -> Floats:
    """The nearest vector that is no longer than this: float64 [n] -> [n]."""
    length = float(np.sqrt(np.square(vector).sum()))
    return vector if length <= longest else np.asarray(vector * (longest / length))


def to_grid(vectors: Floats, step: float, start: npt.ArrayLike = 0.0) -> Singles:
    """The nearest grid points, ``start`` added: float64 -> float32, multiples of ``step``.

    The step is a power of two; ``start`` are multiples of it, which are added without rounding.
    """
    steps = np.rint(vectors / step) + np.asarray(start) / step
    steps = np.clip(steps, -LARGEST_STEP_COUNT, LARGEST_STEP_COUNT)
    points: Singles = ((steps + 0.0) * step).astype(np.float32)  # never -0, whose sign would tell
    return points
