"""Samplers of vector noise: uint64 random numbers in, float64 noise out.

Each sampler uses a fixed count of random numbers a vector and works row by row, so a row's noise
depends on that row's numbers alone. Noise is float64: float32 noise puts the released word's law
about 1e-5 (total variation) away from the exact one, float64 about 2e-14.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dxbeam.randomness import Random

Floats = npt.NDArray[np.float64]

_SIZE_BITS = np.uint64((1 << 63) - 1)

_ROWS_A_BLOCK = 32
"""Rows worked on together: at 300 dimensions the intermediate arrays stay in the cache."""


def uniform(random: Random) -> Floats:
    """Uniform numbers in (0, 1], float64, of any shape.

    All 64 bits are used, so small values keep full relative precision and -ln reaches 44.4: what
    is cut off has probability 2^-64 a number.
    """
    return (random.astype(np.float64) + 1.0) * 2.0**-64


def normal_pairs(radial: Random, angular: Random) -> Floats:
    """Standard normal numbers by Box-Muller, float64 [..., 2 k] from two uint64 [..., k].

    Largest value sqrt(2 * 64 * ln 2) = 9.42, beyond which a pair has probability 2^-64.
    """
    length = np.sqrt(-2.0 * np.log(uniform(radial)))
    angle = uniform(angular) * (2.0 * np.pi)
    pairs = np.empty((*radial.shape, 2))
    np.multiply(np.cos(angle), length, out=pairs[..., 0])
    np.multiply(np.sin(angle), length, out=pairs[..., 1])
    return pairs.reshape(*radial.shape[:-1], 2 * radial.shape[-1])


def laplace_draws(dimensions: int) -> int:
    """How many random numbers ``laplace`` uses for one vector."""
    return 2 * _pairs(dimensions) + _exponentials(dimensions)


def laplace(random: Random, dimensions: int, epsilon: float) -> Floats:
    """Multidimensional Laplace noise: density proportional to exp(-epsilon * |eta|).

    Its direction is uniform and its length Gamma(n, 1/epsilon) (Fernandes et al. 2019, section
    5.1, theorem 5; Feyisetan et al. 2020, algorithm 1). It is drawn as the Gaussian scale mixture
    eta = sqrt(V) G with V ~ Gamma((n+1)/2, rate epsilon^2/2) and G standard normal, which needs
    no rejection, so that a word uses a fixed count of random numbers. V is 2/epsilon^2 times
    a sum of exponentials, and for even n of half a squared normal more.

    Args:
      random: uint64 [B, laplace_draws(n)] or wider.
      dimensions: n.
      epsilon: inverse scale, in 1 / units of the embedding.

    Returns:
      float64 [B, n].
    """
    pairs, exponentials = _pairs(dimensions), _exponentials(dimensions)
    noise = np.empty((len(random), dimensions))
    for start in range(0, len(random), _ROWS_A_BLOCK):
        block = random[start : start + _ROWS_A_BLOCK]
        normals = normal_pairs(block[:, :pairs], block[:, pairs : 2 * pairs])
        rest = block[:, 2 * pairs : 2 * pairs + exponentials]
        gamma = -np.log(uniform(rest)).sum(axis=1)
        if dimensions % 2 == 0:
            gamma += 0.5 * normals[:, dimensions] ** 2
        scale = np.sqrt(2.0 * gamma) / epsilon
        noise[start : start + _ROWS_A_BLOCK] = normals[:, :dimensions] * scale[:, None]
    return noise


def gaussian_draws(dimensions: int) -> int:
    """How many random numbers ``gaussian`` uses for one vector."""
    return 2 * ((dimensions + 1) // 2)


def gaussian(random: Random, dimensions: int, sigma: float) -> Floats:
    """Independent normal coordinates of standard deviation sigma.

    Args:
      random: uint64 [B, gaussian_draws(n)] or wider.
      dimensions: n.
      sigma: in units of the embedding.

    Returns:
      float64 [B, n].
    """
    pairs = gaussian_draws(dimensions) // 2
    normals = normal_pairs(random[:, :pairs], random[:, pairs : 2 * pairs])
    noise: Floats = normals[:, :dimensions] * sigma
    return noise


def coordinate_laplace(
    random: Random, dimensions: int, rate: float, limit: float = np.inf
) -> Floats:
    """Independent coordinates of density proportional to exp(-rate |z|) on [-limit, limit].

    Args:
      random: uint64 [B, n] or wider; a bit is the sign, the others the size by the inverse
        distribution function.
      dimensions: n.
      rate: in 1 / units of the embedding.
      limit: in units of the embedding; by default there is none.

    Returns:
      float64 [B, n]. Without a limit the largest size is 63 ln 2 / rate, beyond which a coordinate
      has probability 2^-63.
    """
    used = random[:, :dimensions]
    unit = (used & _SIZE_BITS).astype(np.float64) * 2.0**-63
    if np.isfinite(limit):
        size = -np.log1p(unit * np.expm1(-rate * limit)) / rate
        np.minimum(size, limit, out=size)
    else:
        size = -np.log(unit + 2.0**-63) / rate
    return np.asarray(np.where(used >> np.uint64(63), -size, size))


def _pairs(dimensions: int) -> int:
    """Pairs of normals: n of them, and for even n one more, for V."""
    return dimensions // 2 + 1


def _exponentials(dimensions: int) -> int:
    return (dimensions + 1) // 2
