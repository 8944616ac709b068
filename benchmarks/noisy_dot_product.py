"""The rest of the seed paper on the noisy dot product: bounds, moments and closed forms.

Its distribution itself is ``dxbeam.analysis.theory.noisy_dot_product``; this is what else is in
sections 4 to 6 of "d_X-Privacy for Text and the Curse of Dimensionality" (arXiv 2411.13784), each
bound next to the exact value. ``tests/analysis/theory/test_noisy_dot_product.py`` compares them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import optimize, special

from dxbeam.analysis.theory.noisy_dot_product import (
    Floats,
    blockwise,
    cdf,
    least_threshold,
    mixture_nodes,
    survival,
    threshold,
)


def cosine_density(k: npt.ArrayLike, n: int) -> Floats:
    """f_K(k) = Gamma(n/2) / (sqrt(pi) Gamma((n-1)/2)) (1 - k^2)^((n-3)/2) for |k| < 1, n >= 2.

    It is the density of one coordinate of a uniform unit vector.
    """
    squared = np.square(np.asarray(k, np.float64))
    constant = special.gammaln(n / 2) - special.gammaln((n - 1) / 2) - 0.5 * math.log(math.pi)
    with np.errstate(divide="ignore"):
        inside = np.exp(constant + 0.5 * (n - 3) * np.log1p(-np.minimum(squared, 1.0)))
    return np.asarray(np.where(squared < 1, inside, 0.0))


def cosine_survival(k: npt.ArrayLike, n: int) -> Floats:
    """P(K > k) = I_{1-k^2}((n-1)/2, 1/2) / 2 for k >= 0, and by symmetry elsewhere."""
    k = np.asarray(k, np.float64)
    upper = 0.5 * special.betainc((n - 1) / 2, 0.5, 1 - np.square(np.clip(k, -1, 1)))
    return np.asarray(np.where(k >= 0, upper, 1 - upper))


def cosine_moment(j: int, n: int) -> float:
    """E K^j: 0 for odd j, else Gamma((j+1)/2) Gamma(n/2) / (sqrt(pi) Gamma((n+j)/2))."""
    if j % 2:
        return 0.0
    return math.exp(
        math.lgamma((j + 1) / 2) + math.lgamma(n / 2) - math.lgamma((n + j) / 2)
    ) / math.sqrt(math.pi)


def cosine_mgf(s: npt.ArrayLike, n: int) -> Floats:
    """E e^(s K) = Gamma(n/2) (2/s)^(n/2-1) I_(n/2-1)(s), n >= 2; 1 at s = 0.

    It is the hypergeometric function 0F1(n/2; s^2/4), a sum of positive terms, which has no
    cancellation and no limit at s = 0. Theorem 6 of the seed paper: at most ``cosine_mgf_bound``.
    """
    quarter = np.square(np.asarray(s, np.float64)) / 4
    total = term = np.ones_like(quarter)
    k = 0
    while (term > 1e-17 * total).any():
        with np.errstate(over="ignore"):
            term = term * quarter / ((k + 1) * (n / 2 + k))
            total = total + term
        k += 1
    return np.asarray(total)


def cosine_mgf_bound(s: npt.ArrayLike, n: int) -> Floats:
    """A bound on E e^(s K) for every s: e^(s^2 / (2n)), so K is sub-Gaussian (Theorem 6)."""
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(np.square(np.asarray(s, np.float64)) / (2 * n)))


def moment(j: int, n: int, epsilon: float) -> float:
    """E Z^j = E R^j E K^j; E Z^2 = (n+1)/epsilon^2 and E Z^4 = 3 (n+1)(n+3)/epsilon^4."""
    length = math.exp(math.lgamma(n + j) - math.lgamma(n) - j * math.log(epsilon))
    return length * cosine_moment(j, n)


def density(z: npt.ArrayLike, n: int, epsilon: float) -> Floats:
    """f_Z(z) = epsilon E[exp(-(epsilon z)^2 / (4 v)) / sqrt(4 pi v)], v as in ``survival``."""
    roots, weights = mixture_nodes(n)
    scaled = weights * epsilon / (2 * math.sqrt(math.pi) * roots)
    return blockwise(z, epsilon, lambda x: np.exp(-np.square(x / (2 * roots))) @ scaled)


def quantile(probability: float, n: int, epsilon: float) -> float:
    """The z with F_Z(z) = probability, by bisection and interpolation; 0 < probability < 1."""
    if not 0 < probability < 1:
        raise ValueError(f"a probability is between 0 and 1, not {probability}")
    tail = min(probability, 1 - probability)
    if tail == 0.5:
        return 0.0
    # Chernoff's bound is above the tail, so its root is beyond the quantile.
    widest = 1.0
    while chernoff_bound(widest, n, 1.0) > tail:
        widest *= 2

    def excess(x: float) -> float:
        return float(survival(x, n, 1.0)) - tail

    root = float(optimize.brentq(excess, 0.0, widest, xtol=1e-14 * widest, rtol=1e-14))
    return math.copysign(root / epsilon, probability - 0.5)


def half_width(probability: float, n: int, epsilon: float) -> float:
    """The w with P(|Z| <= w) = probability, exactly; compare ``TheoremEight``."""
    return quantile((1 + probability) / 2, n, epsilon)


def density_closed_form(z: npt.ArrayLike, n: int, epsilon: float) -> Floats:
    """f_Z(z) = epsilon (x/2)^nu K_nu(x) / (sqrt(pi) Gamma(nu + 1/2)), x = epsilon |z|, nu = n/2.

    K_nu is the modified Bessel function of the second kind. In float64 it overflows for large n
    and small x, where the result is NaN; ``density`` knows no such limit.
    """
    x, nu = epsilon * np.abs(np.asarray(z, np.float64)), n / 2
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        bessel = special.kve(nu, x)
        logarithm = nu * np.log(x / 2) + np.log(bessel) - x
        result = epsilon * np.exp(logarithm - math.lgamma(nu + 0.5)) / math.sqrt(math.pi)
        peak = epsilon * math.exp(math.lgamma(nu) - math.lgamma(nu + 0.5))
    result = np.where(x == 0, peak / (2 * math.sqrt(math.pi)), result)
    return np.where(np.isfinite(result), result, np.nan)


def cdf_closed_form(z: npt.ArrayLike, n: int, epsilon: float) -> Floats:
    """F_Z(z) = 1/2 + (x/2) [K_nu(x) L_{nu-1}(x) + K_{nu-1}(x) L_nu(x)] for z >= 0, x = epsilon z.

    nu = n/2, and L is the modified Struve function; the seed paper has the integral only. In
    float64 the factors overflow for large n and small x, or large x, where the result is NaN, and
    scipy's L is off by up to 1e-11 here and there; ``cdf`` is faster and knows no such limit.
    """
    z = np.asarray(z, np.float64)
    x, nu = epsilon * np.abs(z), n / 2
    with np.errstate(invalid="ignore", over="ignore"):
        first = special.kv(nu, x) * special.modstruve(nu - 1, x)
        second = special.kv(nu - 1, x) * special.modstruve(nu, x)
        half = 0.5 * x * (first + second)
    half = np.where(x == 0, 0.0, half)
    half = np.where((half >= 0) & (half <= 0.5), half, np.nan)
    return np.asarray(0.5 + np.copysign(half, z))


def cosine_tail_bound(c: float) -> float:
    """A bound on P(K > c / sqrt(n)), c >= 0: exp(-c^2 / 2); exactly ``cosine_survival``.

    A spherical cap is smaller than a Gaussian tail of the same scale (Ball 1997, lemma 2.2). The
    seed paper states its Theorem 5 and Corollary 1 for every c. They are false for c < 0 (at
    c = -1, n = 300 they claim at most .607, and it is .841), where the bound here is 1.
    """
    return math.exp(-0.5 * c * c) if c > 0 else 1.0


def length_tail_bound(c: float, n: int) -> float:
    """Chernoff's bound on P(R > c n / epsilon), c >= 1, for Gamma lengths R: (c e^(1-c))^n.

    For c < 1 the same expression bounds P(R < c n / epsilon).
    """
    return math.exp(-n * (c - 1 - math.log(c)))


def length_survival(r: npt.ArrayLike, n: int, epsilon: float) -> Floats:
    """P(R > r), exactly: the regularised incomplete gamma function Q(n, epsilon r)."""
    return np.asarray(special.gammaincc(n, epsilon * np.asarray(r, np.float64)), np.float64)


def chernoff_bound(z: float, n: int, epsilon: float) -> float:
    """A bound on P(Z > z), z >= 0: the least e^(-s z) E e^(s Z) over s; exactly ``survival``.

    E e^(s Z) = (1 - (s/epsilon)^2)^(-(n+1)/2). With x = epsilon z and a = (n+1)/2 the best
    s/epsilon is (sqrt(a^2 + x^2) - a) / x.
    """
    if z <= 0:
        return 1.0
    x, a = epsilon * z, (n + 1) / 2
    s = x / (math.hypot(a, x) + a)
    return math.exp(-s * x - a * math.log1p(-s * s))


def mean_tail_bound(delta: float, m: int, n: int, epsilon: float) -> float:
    """A bound on P(|mean of m independent Z| > delta), delta > 0: (n+1) / (m epsilon^2 delta^2).

    Chebyshev's inequality (Corollary 2 of the seed paper), 1 where it says nothing; exactly
    ``mean_survival``.
    """
    return min(1.0, (n + 1) / (m * epsilon**2 * delta**2))


def mean_survival(delta: float, m: int, n: int, epsilon: float) -> float:
    """P(|mean of m independent Z| > delta), exactly, delta >= 0.

    A sum of m is a difference of two Gamma(m (n+1)/2, rate epsilon) variables, so the mean is a Z
    again, in m (n+1) - 1 dimensions at m epsilon.
    """
    return 2 * float(survival(delta, m * (n + 1) - 1, m * epsilon))


class TheoremEight(NamedTuple):
    """Theorem 8 of the seed paper: |Z| <= c1 c2 sqrt(n) / epsilon with at least this probability.

    K <= c1/sqrt(n) and R <= c2 n/epsilon imply Z <= c1 c2 sqrt(n)/epsilon, but only for c1 > 0:
    with a negative bound on K, a short R makes Z larger, so the theorem needs c1 > 0. The paper
    states it for every c1, where it would claim any probability for |Z| below a negative number.

    Attributes:
      c1: bounds the cosine, see ``cosine_tail_bound``.
      c2: bounds the length, see ``length_tail_bound``.
      probability: 2 (1 - e^(-c1^2/2)) (1 - (c2 e^(1-c2))^n) - 1, from both one-sided events.
    """

    c1: float
    c2: float
    probability: float


def theorem_eight(n: int, c1: float, c2: float) -> TheoremEight:
    """The theorem for these constants.

    Raises:
      ValueError: c1 <= 0 or c2 <= 1, for which it does not hold or says nothing.
    """
    if not (c1 > 0 and c2 > 1):
        raise ValueError(f"Theorem 8 needs c1 > 0 and c2 > 1, not {c1} and {c2}")
    one_sided = (1 - cosine_tail_bound(c1)) * (1 - length_tail_bound(c2, n))
    return TheoremEight(c1, c2, 2 * one_sided - 1)


def theorem_eight_constants(n: int, probability: float) -> TheoremEight:
    """The constants that give this probability with equal shares for the cosine and the length."""
    tail = 1 - math.sqrt((1 + probability) / 2)
    c1 = math.sqrt(-2 * math.log(tail))
    widest = 2.0
    while length_tail_bound(widest, n) > tail:
        widest *= 2

    def excess(c: float) -> float:
        return length_tail_bound(c, n) - tail

    c2 = float(optimize.brentq(excess, 1.0, widest, xtol=1e-15, rtol=1e-14))
    return theorem_eight(n, c1, c2)


def nearer_probability(
    x: npt.ArrayLike, a: npt.ArrayLike, b: npt.ArrayLike, epsilon: float
) -> Floats:
    """P(x + eta is nearer to a than to b) = F_Z(threshold(x, a, b)), [..., n] -> [...]."""
    return cdf(threshold(x, a, b), np.asarray(x).shape[-1], epsilon)


def expected_score(w: npt.ArrayLike, x: npt.ArrayLike) -> Floats:
    """E L(x) = |w - x|^2 of the score L(x) = |w - x|^2 - 2 <x, eta>, [..., n] -> [...].

    The word released for w is the one of the least score, as |w + eta - x|^2 differs from L(x) by
    what is equal for all x. A nearer word so has the lesser expected score, and the lesser score
    with probability above 1/2 (Eq. 16 and Theorem 10); exactly ``nearer_probability``.
    """
    difference = np.asarray(w, np.float64) - np.asarray(x, np.float64)
    return np.asarray(np.square(difference).sum(axis=-1))


def release_bounds(words: npt.ArrayLike, epsilon: float) -> Floats:
    """Upper bounds on the probability of releasing each word for the first, [k, n] -> [k].

    A word that is released beat every other one, so its probability is at most the least
    probability of beating one of them: min over j of F_Z(threshold(w, x_i, x_j)). For j = 0 that is
    Eq. 20 of the seed paper, 1 - F_Z(|w - x_i| / 2); for the others it is Eq. 21. The bounds hold
    whatever further words a vocabulary has. They add up to more than 1, much more in high
    dimensions, and are 1 for a single word.

    Args:
      words: distinct vectors, that of the original w first.
      epsilon: of the mechanism.
    """
    words = np.asarray(words, np.float64)
    least = np.array([least_threshold(words, i) for i in range(len(words))])
    # F_Z(z) = P(Z > -z), which keeps its relative accuracy where it is small.
    bounds = np.ones(len(words))
    bounds[np.isfinite(least)] = survival(-least[np.isfinite(least)], words.shape[1], epsilon)
    return bounds
