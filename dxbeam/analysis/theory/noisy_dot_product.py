"""The noisy dot product Z = <eta, u>: the multidimensional Laplace noise along a unit direction u.

Which word a noisy vector is nearest to depends on the noise only through such dot products: of two
words a and b, the noisy vector x + eta is nearer to a exactly where Z, taken along b - a, is at
most the ``threshold`` of the pair. This is the theory of sections 4 to 6 of the seed paper,
"d_X-Privacy for Text and the Curse of Dimensionality" (arXiv 2411.13784). Equations are cited where
their numbers are known to us; the other results are derived here.

The noise has a uniform direction and the length R ~ Gamma(n, rate epsilon), so Z = R K with K
the cosine of the angle between the direction and u. Everything depends only on (n, epsilon z),
and functions take ``z`` as an array of any shape and return float64 of the same shape.

The noise is also a Gaussian scale mixture (see ``dxbeam.mechanisms.sampling.noise``), so that with
v ~ Gamma((n+1)/2, 1), given v, epsilon Z is normal with variance 2 v. Hence Z is a symmetric
variance-gamma variable, the difference of two independent Gamma((n+1)/2, rate epsilon), and its
distribution is a smooth integral over v, which the trapezoid rule in ln v takes to the last digit.

What else the paper says of Z is in ``benchmarks/noisy_dot_product.py``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy import special

Floats = npt.NDArray[np.float64]

_VALUES_PER_BLOCK = 1024
_STEPS_TO_THE_LEFT, _STEPS_TO_THE_RIGHT = 36, 40


def cdf(z: npt.ArrayLike, n: int, epsilon: float) -> Floats:
    """F_Z(z) = P(Z <= z) = 1 - E[erfc(epsilon z / (2 sqrt(v))) / 2], v ~ Gamma((n+1)/2, 1), n >= 1.

    Eq. 11 of the seed paper is an integral over R > |z| only. It is this for z <= 0; for z > 0 it
    lacks P(R < z), where Z <= z for certain: at n = 2, epsilon = 1, z = 3 it gives .156 in place of
    .957. From n = 25 on, up to one standard deviation of Z, less than 1e-9 is lacking. The
    trapezoid rule in ln v, with nodes that serve every z, is off by at most 1e-15 (1,200 reference
    values, n from 2 to 1,000), at about a microsecond a value. For the relative accuracy of small
    tails see ``survival``.
    """
    roots, weights = mixture_nodes(n)
    return blockwise(z, epsilon, lambda x: 1 - special.erfc(x / (2 * roots)) @ (0.5 * weights))


def survival(z: npt.ArrayLike, n: int, epsilon: float) -> Floats:
    """P(Z > z), as ``cdf`` but with nodes around the peak of the integrand for each z.

    So tails keep their relative accuracy: 1e-13 down to 1e-62 against the reference values.
    """
    a = (n + 1) / 2
    count = math.ceil(_STEPS_TO_THE_LEFT + 40 / (0.25 * math.sqrt(a)))
    offsets = np.arange(-count, _STEPS_TO_THE_RIGHT + 1) * 0.25
    log_norm = _log_norm(n)

    def tail(x: Floats) -> Floats:
        # a t - e^t - x^2 e^-t / 4 is largest at e^t = peak = v, where minus its second derivative
        # is v + x^2 / (4 v).
        positive = np.abs(x)
        peak = (a + np.hypot(a, positive)) / 2
        width = 1 / np.sqrt(peak + positive**2 / (4 * peak))
        steps = np.log(peak / a) + width * offsets
        ratio = np.exp(steps)  # v / a
        log_weights = a * (steps - (ratio - 1)) - log_norm
        upper = special.erfc(positive / (2 * np.sqrt(a * ratio)))
        half = 0.25 * width[:, 0] * (0.5 * upper * np.exp(log_weights)).sum(axis=1)
        return np.asarray(np.where(x[:, 0] >= 0, half, 1 - half))

    return blockwise(z, epsilon, tail)


def blockwise(z: npt.ArrayLike, epsilon: float, function: Callable[[Floats], Floats]) -> Floats:
    """Applies a function of [B, 1] -> [B] to epsilon z, a cacheful at a time."""
    z = np.asarray(z, np.float64)
    x = (epsilon * z).reshape(-1, 1)
    result = np.empty(len(x))
    for start in range(0, len(x), _VALUES_PER_BLOCK):
        result[start : start + _VALUES_PER_BLOCK] = function(x[start : start + _VALUES_PER_BLOCK])
    return result.reshape(z.shape)


@lru_cache(maxsize=64)
def mixture_nodes(n: int) -> tuple[Floats, Floats]:
    """sqrt(v) and weights of the trapezoid rule in t = ln v for v ~ Gamma((n+1)/2, 1).

    t has the density exp(a t - e^t) / Gamma(a), a = (n+1)/2, with its peak at ln a and a width of
    1/sqrt(a), so the step is a fraction of that width. Beyond the nodes is less than 1e-17.
    """
    if n < 1:
        raise ValueError(f"a space has at least one dimension, not {n}")
    a = (n + 1) / 2
    steps = np.arange(-400, 400) * ((0.3 if n >= 25 else 0.25) / math.sqrt(a))
    steps = steps[steps < 6]
    log_weights = a * (steps - np.expm1(steps))  # ln of the density over its peak
    kept = log_weights > -42
    weights = np.exp(log_weights[kept])
    return np.exp(0.5 * (math.log(a) + steps[kept])), weights / weights.sum()


@lru_cache(maxsize=64)
def _log_norm(n: int) -> float:
    """The logarithm of the integral of exp(a (t - (e^t - 1))) over t, a = (n+1)/2.

    It is ln Gamma(a) - a ln a + a, which lgamma would give with an error that grows with a.
    """
    a = (n + 1) / 2
    step = 0.2 / math.sqrt(a)
    steps = np.arange(-1000, 1000) * step
    steps = steps[steps < 6]
    return math.log(step * np.exp(a * (steps - np.expm1(steps))).sum())


def threshold(x: npt.ArrayLike, a: npt.ArrayLike, b: npt.ArrayLike) -> Floats:
    """The z such that x + eta is nearer to a than to b exactly where Z < z, [..., n] -> [...].

    |x + eta - a|^2 < |x + eta - b|^2 says 2 <eta, b - a> < |b - x|^2 - |a - x|^2, so with
    Z = <eta, b - a> / |b - a| the threshold is (|b - x|^2 - |a - x|^2) / (2 |b - a|). For a = x,
    whether the original beats b, it is half their distance. Not a number where a = b.
    """
    x, a, b = (np.asarray(vector, np.float64) for vector in (x, a, b))
    with np.errstate(invalid="ignore"):
        # Of the difference of squares, in the form that does not cancel.
        along = ((b - a) * (a + b - 2 * x)).sum(axis=-1)
        result = along / (2 * np.linalg.norm(b - a, axis=-1))
    return np.asarray(result, np.float64)


def least_threshold(words: npt.ArrayLike, i: int) -> float:
    """The least threshold(w, x_i, x_j) over j, [k, n] -> float; infinite for a single word.

    Args:
      words: distinct vectors, that of the original w first.
      i: which of them is to be released.
    """
    words = np.asarray(words, np.float64)
    to_beat = np.delete(words, i, axis=0)
    return float(threshold(words[0], words[i], to_beat).min(initial=np.inf))
