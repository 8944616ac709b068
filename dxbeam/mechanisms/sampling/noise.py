"""Samplers of vector noise: uint64 random numbers in, float64 noise out.

Each sampler uses a fixed count of random numbers per vector and works row by row, so a row's noise
depends only on that row's numbers.

Tails without an end. A uint64 number says in which of 2^64 equal parts of (0, 1] a uniform number
is. Where that part is among the first ones, more numbers say where in it: the tail numbers, 14
that are at the end of the row, which give u its full relative precision down to 2^-960. So -ln u,
of which all noise here is made, is cut off nowhere above a probability of 2^-900.

The tail numbers are shared by the draws of a row that have one role (the radii of the Gaussians,
the exponentials, the sizes of coordinates). Each draw by itself keeps its distribution, and two
draws differ from independent ones only in where they are within their parts. That moves both by
less than rounding does (2^-53) unless the numbers of both are below 2^11: for k draws per row a
probability of k^2 2^-106, and in the tail, where both are 0, k^2 2^-128.

How far the distribution is from the exact one. Noise is float64, each coordinate off by a share of
2^-47 at most (dxbeam/vectors/release.py), its sum y with a vector by 2^-53 |y| more, and a distance
r from y to a word by a share of 2^-49. So of two words that are s apart the wrong one is taken only
where y is within 2^-47 |noise| + 2^-53 |y| + 2^-48 r^2 / s of the border between them. How often
that is depends on the vocabulary: with the borders of the demo vocabulary at epsilon 5 and 10 once
in some 10^13 words (t = 2e-14 to 5e-14 in total variation; with float32 once in 10^5). Where words
are closer than 2^-48 r it is no longer rare: they are not told apart, and which of them comes out
is a public function of y, mostly the first one. (Vectors of 2e-20, 3e-20 and 4e-20 under noise of
the size of 0.1: nearly always the first.)

What that does to the promise. Seen as an approximate guarantee,
P(S | x) <= exp(epsilon d) P(S | x') + t (1 + exp(epsilon d)). Where exp(epsilon d) t is no small
number this says little, and what holds of every vocabulary is: the noisy vector is an exact one
moved by 2^-47 of the noise and 2^-53 of itself, and the rest is a function of it; so the factor
exp(epsilon d) holds for every set of words whose borders are moved by as much.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dxbeam.randomness import Random

Floats = npt.NDArray[np.float64]

NOISE_RULE = 2
"""The version of all that turns random numbers into what is released: uniform numbers, noise,
choice, rank resampling, the drawing of bags and the layout of the keystream. It enters the digest
that keys the noise. Increase it when a sampler changes: with one digest, the old and the new one
would be two functions of the same random numbers, and whoever holds both releases learns more than
either promises. tests/mechanisms/test_noise_rule.py fails where that was forgotten."""

ROUNDED_NOISE = (
    "The proof is for exact arithmetic. In 64-bit floating point no outcome with a probability "
    "above 2^-900 is cut off, and a noisy vector is off by less than 2^-46 of the size of vector "
    "and noise. Another word is released where that takes the vector over the border between two "
    "words: about once in 10^13 words with the demo vocabulary at epsilon 5 and 10, and more often "
    "where vectors lie closer together. Words closer than 2^-46 of the noise may not be told "
    "apart, and then the first of them is mostly released."
)
"""What a guarantee says of computed noise; the derivation is above."""

TAIL_DRAWS = 14
"""Further numbers for those draws of a row whose own number is small."""

_SMALL = 2.0**-20
"""Numbers below it, one in a million, are worth their tail. Beyond, it would change a number by a
share of 2^-43 at most."""

_SIZE_BITS = np.uint64((1 << 63) - 1)
_SIGN_BIT = np.uint64(63)

_NUMBERS_PER_BLOCK = 1 << 14
"""Numbers worked on together, a few rows of them: the intermediate arrays stay in the cache."""


def uniform(random: Random, tail: Random | None = None, bits: int = 64) -> Floats:
    """Uniform numbers in (0, 1], float64, of any shape.

    Args:
      random: uint64 [B] or [B, k], of which each says in which of 2^bits parts its number is.
      tail: uint64 [B, TAIL_DRAWS]: a row's further numbers, that say where in its part. Without
        them a part is represented by its end, and what is smaller than 2^-bits is cut off.
      bits: how many bits of ``random`` are used, its lowest.
    """
    numbers = (random.astype(np.float64) + 1.0) * 2.0**-bits
    if tail is not None and numbers.min(initial=1.0) < _SMALL:
        small = np.nonzero(numbers < _SMALL)
        share = np.full(len(small[0]), 0.5)
        for further in tail[small[0]].T[::-1]:
            share = (further + share) * 2.0**-64
        numbers[small] = (random[small] + share) * 2.0**-bits
    return numbers


def below(counts: npt.NDArray[np.int64] | int, random: Random) -> npt.NDArray[np.int64]:
    """Numbers in 0 … count - 1, each with probability 1/count but for 2^-64: uint64 -> int64 [B].

    Counts are at least 1 and below 2^32.
    """
    of = np.asarray(counts).astype(np.uint64)
    high = (random >> np.uint64(32)) * of
    low = ((random & np.uint64(0xFFFFFFFF)) * of) >> np.uint64(32)
    return np.asarray(((high + low) >> np.uint64(32)).astype(np.int64))


def normal_pairs(radial: Random, angular: Random, tail: Random | None = None) -> Floats:
    """Standard normal numbers by Box-Muller: uint64 [..., k] twice -> float64 [..., 2 k].

    ``tail`` is for ``uniform`` of [B, k]; without it no number is above sqrt(2 * 64 * ln 2) = 9.42,
    beyond which a pair has probability 2^-64.
    """
    length = np.sqrt(-2.0 * np.log(uniform(radial, tail)))
    angle = uniform(angular) * (2.0 * np.pi)
    pairs = np.empty((*radial.shape, 2))
    np.multiply(np.cos(angle), length, out=pairs[..., 0])
    np.multiply(np.sin(angle), length, out=pairs[..., 1])
    return pairs.reshape(*radial.shape[:-1], 2 * radial.shape[-1])


def laplace_draws(dimensions: int) -> int:
    """How many random numbers ``laplace`` uses for one vector."""
    return 2 * _pairs(dimensions) + _exponentials(dimensions) + 2 * TAIL_DRAWS


def laplace(random: Random, dimensions: int, epsilon: float) -> Floats:
    """Multidimensional Laplace noise: density proportional to exp(-epsilon * |eta|).

    Its direction is uniform and its length Gamma(n, 1/epsilon) (Fernandes et al. 2019, section 5.1,
    theorem 5; Feyisetan et al. 2020, algorithm 1). It is drawn as the Gaussian scale mixture eta =
    sqrt(V) G with V ~ Gamma((n+1)/2, rate epsilon^2/2) and G standard normal, which needs no
    rejection, so that a word uses a fixed count of random numbers. V is 2/epsilon^2 times a sum of
    exponentials, and for even n of half a squared normal more. uint64 [B, laplace_draws(n)] or
    wider -> float64 [B, n].
    """
    pairs, exponentials = _pairs(dimensions), _exponentials(dimensions)
    end = 2 * pairs + exponentials
    noise = np.empty((len(random), dimensions))
    rows = max(1, _NUMBERS_PER_BLOCK // end)
    for start in range(0, len(random), rows):
        block = random[start : start + rows]
        tail = block[:, end : end + TAIL_DRAWS]
        normals = normal_pairs(block[:, :pairs], block[:, pairs : 2 * pairs], tail)
        tail = block[:, end + TAIL_DRAWS : end + 2 * TAIL_DRAWS]
        gamma = -np.log(uniform(block[:, 2 * pairs : end], tail)).sum(axis=1)
        if dimensions % 2 == 0:
            gamma += 0.5 * normals[:, dimensions] ** 2
        scale = np.sqrt(2.0 * gamma) / epsilon
        noise[start : start + rows] = normals[:, :dimensions] * scale[:, None]
    return noise


def gaussian_draws(dimensions: int) -> int:
    """How many random numbers ``gaussian`` uses for one vector."""
    return 2 * ((dimensions + 1) // 2) + TAIL_DRAWS


def gaussian(random: Random, dimensions: int, sigma: float) -> Floats:
    """Normal coordinates of deviation sigma: uint64 [B, gaussian_draws(n)] -> float64 [B, n]."""
    pairs = (dimensions + 1) // 2
    tail = random[:, 2 * pairs : gaussian_draws(dimensions)]
    normals = normal_pairs(random[:, :pairs], random[:, pairs : 2 * pairs], tail)
    noise: Floats = normals[:, :dimensions] * sigma
    return noise


def coordinate_laplace_draws(dimensions: int) -> int:
    """How many random numbers ``coordinate_laplace`` uses for one vector."""
    return dimensions + TAIL_DRAWS


def coordinate_laplace(
    random: Random, dimensions: int, rate: float, limit: float = np.inf
) -> Floats:
    """Independent coordinates of density proportional to exp(-rate |z|) on [-limit, limit].

    A size is -ln(e + u (1 - e)) / rate, e = exp(-rate limit) and u uniform: the inverse
    distribution function from its far end, so that sizes near the limit are as dense as float64 has
    them, however large rate * limit is. uint64 [B, coordinate_laplace_draws(n)] or wider -> float64
    [B, n]; the highest bit of a coordinate's number is its sign, the others are u.
    """
    used = random[:, :dimensions]
    tail = random[:, dimensions : coordinate_laplace_draws(dimensions)]
    unit = uniform(used & _SIZE_BITS, tail, bits=63)
    beyond = np.exp(-rate * limit)
    size = -np.log(beyond - unit * np.expm1(-rate * limit)) / rate
    np.clip(size, 0.0, limit, out=size)
    return np.asarray(np.where(used >> _SIGN_BIT, -size, size))


def _pairs(dimensions: int) -> int:
    """Pairs of normals: n of them, and for even n one more, for V."""
    return dimensions // 2 + 1


def _exponentials(dimensions: int) -> int:
    return (dimensions + 1) // 2
