"""PrivEmb's theory and its first experiments: what noise does to distances and inner products.

Feyisetan, Kasiviswanathan: Private release of text embedding vectors (2021), PrivEmb, releases
w = P x + kappa, with P a Gaussian projection to m dimensions and the density of kappa proportional
to exp(-epsilon |kappa| / s), s = 1 + beta. Its Claim 6 and Propositions 7 to 9 bound what that
costs; here they are functions, and the costs are measured, for s as published or computed exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dxbeam.mechanisms.sampling.noise import Floats, laplace, laplace_draws
from dxbeam.vectors.projections import Projection


def projected_dimensions(beta: float, dimensions: int, delta: float) -> int:
    """The m at which ``sensitivity.published_beta`` is beta or less.

    Args:
      beta: how much the projection may stretch a distance, in parts of it.
      dimensions: n of the vectors.
      delta: the probability that it stretches more.
    """
    width = math.sqrt(math.log2(dimensions))
    return math.ceil((width + math.sqrt(math.log(1 / delta))) ** 2 / beta**2)


def noise_length_bound(m: int, beta: float, epsilon: float, gamma: float) -> float:
    """Claim 6: |kappa| is at most this with a probability of at least 1 - gamma."""
    return m * math.log(m / gamma) * (1 + beta) / epsilon


def distance_bound(
    m: int, vectors: int, longest: float, beta: float, epsilon: float, delta: float
) -> float:
    """Proposition 7: no distance between two of the released vectors is off by more.

    With a probability of at least 1 - delta, for all pairs at once.

    Args:
      m: dimensions after the projection.
      vectors: how many are released.
      longest: the largest length of a vector.
      beta: of the projection.
      epsilon: of the release.
      delta: the probability that the bound does not hold.
    """
    return 2 * beta * longest + 2 * _spread(m, vectors, epsilon, delta)


def inner_product_bound(
    m: int, vectors: int, longest: float, beta: float, epsilon: float, delta: float
) -> float:
    """Proposition 8: no inner product of two is off by more; arguments as for distances."""
    spread = _spread(m, vectors, epsilon, delta)
    return beta * longest**2 + 4 * longest * spread + spread**2


def risk_bound(
    m: int,
    vectors: int,
    longest: float,
    beta: float,
    epsilon: float,
    delta: float,
    lipschitz: float,
    weights: float,
) -> float:
    """Proposition 9: by how much the empirical risk of a linear model can grow.

    Args:
      m: as for ``distance_bound``, and so the next five.
      vectors: released.
      longest: length.
      beta: of the projection.
      epsilon: of the release.
      delta: the probability that the bound does not hold.
      lipschitz: constant of the loss.
      weights: the length of the model's vector of weights.
    """
    spread = _spread(m, vectors, epsilon, delta)
    return lipschitz * weights * (2 * spread + beta * longest)


def _spread(m: int, vectors: int, epsilon: float, delta: float) -> float:
    return 2 * m * math.log(2 * vectors * m / delta) / epsilon


@dataclass(frozen=True)
class PrivateEmbedding:
    """Vectors that are projected, and noised for a sensitivity.

    Attributes:
      projection: P.
      sensitivity: s, by which the noise is scaled.
    """

    projection: Projection
    sensitivity: float

    def released(self, vectors: Floats, epsilon: float, generator: np.random.Generator) -> Floats:
        """P x + kappa for each vector: float64 [k, n] -> [k, m].

        Args:
          vectors: of public words.
          epsilon: per unit of distance between the vectors.
          generator: of the noise, which protects nobody here.
        """
        m = self.projection.projected
        random = generator.integers(0, 2**64, (len(vectors), laplace_draws(m)), dtype=np.uint64)
        return self.projection.apply_all(vectors) + laplace(random, m, epsilon / self.sensitivity)


class Errors(NamedTuple):
    """Mean absolute errors over pairs, of each repetition.

    Attributes:
      distances: float64 [R], of |w_i - w_j| against |x_i - x_j|.
      inner_products: float64 [R], of <w_i, w_j> against <x_i, x_j>.
      largest_distance, largest_inner_product: the largest single error.
    """

    distances: Floats
    inner_products: Floats
    largest_distance: float
    largest_inner_product: float


def pair_errors(
    one: Floats,
    other: Floats,
    embedding: PrivateEmbedding,
    epsilon: float,
    repetitions: int,
    seed: int,
) -> Errors:
    """PrivEmb's Figures 1 and 2: all pairs of one word of each group, noised anew each time.

    Args:
      one: float64 [a, n], vectors of public words.
      other: float64 [b, n], of others.
      embedding: how they are released.
      epsilon: of the release.
      repetitions: R.
      seed: of the noise.
    """
    generator = np.random.default_rng(seed)
    distances, products = _distances(one, other), one @ other.T
    errors = np.empty((2, repetitions))
    largest = np.zeros(2)
    for turn in range(repetitions):
        left, right = (embedding.released(part, epsilon, generator) for part in (one, other))
        off = (
            np.abs(_distances(left, right) - distances),
            np.abs(left @ right.T - products),
        )
        errors[:, turn] = [part.mean() for part in off]
        largest = np.maximum(largest, [part.max() for part in off])
    return Errors(errors[0], errors[1], float(largest[0]), float(largest[1]))


def expected_noise_distance(m: int, sensitivity: float, epsilon: float) -> float:
    """How far apart two noise vectors are, about: sqrt(2 m (m + 1)) s / epsilon.

    Its square is the mean of their squared distance, as E |kappa|^2 = m (m + 1) s^2 / epsilon^2.
    """
    return math.sqrt(2 * m * (m + 1)) * sensitivity / epsilon


def _distances(one: Floats, other: Floats) -> Floats:
    """All distances between rows: float64 [a, n], [b, n] -> [a, b]."""
    squares = np.square(one).sum(axis=1)[:, None] + np.square(other).sum(axis=1)
    return np.asarray(np.sqrt(np.maximum(squares - 2 * one @ other.T, 0)))
