"""Bayes on the noisy vector: the strongest attacker that looks at one word.

It sees the noisy vector y, which no release shows, knows the density f(y | x) of the noise and a
prior, and guesses the words x of the largest prior(x) f(y | x). The released word is a function of
y and of fresh random numbers, whatever rank resampling does. So where words are drawn from that
very prior, no attacker that sees only the released word is right more often in expectation; where
the prior is another text's, one may be.

Every density here is a decreasing function of a norm of y - x in suitable coordinates. For the
Euclidean norm all words are compared in float32 first. With an n-term product off by at most
n u |x| |y| (Higham: Accuracy and stability of numerical algorithms, 2002, section 3.1), every
squared distance is in a known interval, so every score does; words whose score is surely below k
others are left out, and the rest compared in float64, ties by the lowest id. The answer therefore
does not depend on the batch. Sums of absolute values have no such shortcut and are taken in
float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist

from dxbeam.analysis.attackers.prior import Prior
from dxbeam.errors import ConfigurationError
from dxbeam.mechanisms import Mechanism
from dxbeam.mechanisms.coordinate_laplace import CoordinateLaplace
from dxbeam.mechanisms.gaussian import Gaussian
from dxbeam.mechanisms.laplace import Laplace
from dxbeam.mechanisms.mahalanobis import Mahalanobis
from dxbeam.mechanisms.sampling.clipping import clipped
from dxbeam.mechanisms.trlaplace import TrLaplace
from dxbeam.mechanisms.vickrey import Vickrey
from dxbeam.space.search.neighbors import Floats, Ids, NeighborSearch
from dxbeam.space.vocabulary.words import Vocabulary, distances

_UNIT_ROUNDOFF = 2.0**-24
_SCORES_AT_ONCE = 1 << 22
_WORDS_PER_BLOCK = 4096


class NoiseDensity(NamedTuple):
    """The density of the noisy vector y given the word x, up to a factor.

    Attributes:
      starts: vectors of words, float64 [B, n], to what the noise is added to.
      coordinates: linear map, float64 [n, n], after which the density depends only on the norm;
        None for the identity.
      words: the vocabulary's vectors in these coordinates, float32 [N, n].
      euclidean: whether the norm is Euclidean; otherwise it is the sum of absolute values.
      log_density: the logarithm of the density as a function of the norm, decreasing.
      limit: no coordinate of the noise is larger.
    """

    starts: Callable[[Floats], Floats]
    coordinates: Floats | None
    words: npt.NDArray[np.float32]
    euclidean: bool
    log_density: Callable[[Floats], Floats]
    limit: float


def has_noise_density(mechanism: Mechanism) -> bool:
    """Whether ``noise_density`` knows the mechanism."""
    return isinstance(
        mechanism, (Laplace, Vickrey, Mahalanobis, Gaussian, CoordinateLaplace, TrLaplace)
    )


def noise_density(mechanism: Mechanism, search: NeighborSearch) -> NoiseDensity:
    """The density of a mechanism's noisy vector.

    Args:
      mechanism: with its epsilon.
      search: the vocabulary.

    Raises:
      ConfigurationError: it adds no noise to a vector, or noise of no known density.
    """
    n, vectors = search.vocabulary.dimensions, search.vocabulary.vectors

    def per_length(rate: float) -> Callable[[Floats], Floats]:
        return lambda length: -rate * length

    if isinstance(mechanism, Vickrey):
        return noise_density(mechanism.source, search)
    if isinstance(mechanism, Laplace):
        fall = per_length(mechanism.epsilon)
        return NoiseDensity(_same, None, vectors, True, fall, math.inf)
    if isinstance(mechanism, Gaussian):
        precision = 1 / (2 * mechanism.sigma**2)
        fall = lambda length: -precision * length**2  # noqa: E731
        radius = mechanism.clip
        words = search.computed_once(
            ("clipped", radius), lambda vocabulary: _shortened(vocabulary, radius)
        )
        return NoiseDensity(lambda rows: clipped(rows, radius), None, words, True, fall, math.inf)
    if isinstance(mechanism, Mahalanobis):
        whiten = mechanism.density(search).whiten
        assert whiten is not None
        words = search.computed_once(
            ("whitened", mechanism.covariance_weight),
            lambda vocabulary: _whitened(vocabulary, whiten),
        )
        return NoiseDensity(_same, whiten, words, True, per_length(mechanism.epsilon), math.inf)
    if isinstance(mechanism, (CoordinateLaplace, TrLaplace)):
        clip = mechanism.clip
        limit = mechanism.limit(n) if isinstance(mechanism, TrLaplace) else math.inf
        fall = per_length(mechanism.epsilon / math.sqrt(n))
        return NoiseDensity(lambda rows: clipped(rows, clip), None, vectors, False, fall, limit)
    raise ConfigurationError(
        f"`mechanism` {mechanism.name}: no density of a noisy vector is known, so the attacker "
        "that sees one is not defined; attack the released word instead"
    )


def guess_from_vectors(
    mechanism: Mechanism, noisy: Floats, prior: Prior, count: int, search: NeighborSearch
) -> Ids:
    """The most probable words given each noisy vector.

    Args:
      mechanism: with its epsilon.
      noisy: float64 [B, n], words' vectors plus noise.
      prior: what is believed beforehand.
      count: k, how many guesses; at most N.
      search: the vocabulary.

    Returns:
      int64 [B, k], the most probable first, the lowest id first among equals.

    Raises:
      ConfigurationError: the mechanism has no known noise density.
    """
    density = noise_density(mechanism, search)
    logs = np.log(prior.shares)
    guesses = np.empty((len(noisy), count), np.int64)
    if not density.euclidean:
        _by_sums(density, noisy, logs, guesses, search)
        return guesses
    if density.coordinates is not None:
        noisy = np.array([row @ density.coordinates for row in noisy]).reshape(noisy.shape)
    _by_lengths(density, noisy, logs, guesses)
    return guesses


def _same(vectors: Floats) -> Floats:
    return vectors


def _whitened(vocabulary: Vocabulary, whiten: Floats) -> npt.NDArray[np.float32]:
    words = np.empty(vocabulary.vectors.shape, np.float32)
    for start in range(0, len(words), _WORDS_PER_BLOCK):
        block = slice(start, start + _WORDS_PER_BLOCK)
        words[block] = vocabulary.vectors[block] @ whiten
    return words


def _shortened(vocabulary: Vocabulary, radius: float | None) -> npt.NDArray[np.float32]:
    if radius is None:
        return vocabulary.vectors
    return clipped(vocabulary.vectors.astype(np.float64), radius).astype(np.float32)


def _by_lengths(density: NoiseDensity, noisy: Floats, logs: Floats, guesses: Ids) -> None:
    words = density.words
    squares = np.einsum("ij,ij->i", words, words, dtype=np.float64)
    longest, n = math.sqrt(squares.max()), words.shape[1]
    rows = max(1, _SCORES_AT_ONCE // len(words))
    for start in range(0, len(noisy), rows):
        block = noisy[start : start + rows]
        products = block.astype(np.float32) @ words.T
        for row, (query, product) in enumerate(zip(block, products, strict=True), start):
            length = math.sqrt(float(query @ query))
            error = _UNIT_ROUNDOFF * (n + 8) * (longest + length) ** 2
            apart = squares - 2.0 * product
            apart += length**2
            most = logs + density.log_density(np.sqrt(np.maximum(apart - error, 0)))
            # Of any k words, none of the k best is surely below the one of the least score.
            some = np.argpartition(most, -guesses.shape[1])[-guesses.shape[1] :]
            lengths = np.sqrt(np.maximum(apart[some] + error, 0))
            least = (logs[some] + density.log_density(lengths)).min()
            left = np.flatnonzero(most >= least)
            exact = logs[left] + density.log_density(distances(words[left], query))
            guesses[row] = left[np.lexsort((left, -exact))[: guesses.shape[1]]]


def _by_sums(
    density: NoiseDensity, noisy: Floats, logs: Floats, guesses: Ids, search: NeighborSearch
) -> None:
    vectors = search.vocabulary.vectors
    starts = [
        density.starts(vectors[first : first + _WORDS_PER_BLOCK].astype(np.float64))
        for first in range(0, len(vectors), _WORDS_PER_BLOCK)
    ]
    reach = density.limit * (1 + 1e-9) + 1e-9  # the sum of word and noise was rounded
    for row, query in enumerate(noisy):
        scores = np.concatenate(
            [density.log_density(cdist(query[None], block, "cityblock")[0]) for block in starts]
        )
        if density.limit < math.inf:
            farthest = [cdist(query[None], block, "chebyshev")[0] for block in starts]
            scores[np.concatenate(farthest) > reach] = -np.inf
        guesses[row] = np.lexsort((np.arange(len(scores)), -(scores + logs)))[: guesses.shape[1]]
