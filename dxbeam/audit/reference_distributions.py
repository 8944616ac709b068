"""What each mechanism should do, by formulas of the audit's own.

Nothing here calls a mechanism's code: a distribution is written down a second time, from the paper,
so that a mistake must be made twice to go unseen. ``REFERENCES`` has a row for each mechanism by
its name.

The noise's distribution is given as a map that turns it into independent standard normal numbers,
so that one battery of tests serves every distribution. The distribution of the released word is
exact on words that lie on a line, where the noise's part along the line alone decides.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import optimize, special, stats

from dxbeam.space.vocabulary import Vocabulary
from dxbeam.text.configuration import Configuration

Floats = npt.NDArray[np.float64]
Tail = Callable[[Floats], Floats]
"""z >= 0 -> P(Z > z), for Z symmetric about 0."""


@dataclass(frozen=True)
class Reference:
    """What one mechanism should do over one vocabulary.

    Attributes:
      loss: (x, x'), float64 [n] each -> the claimed loss between words at these places in nats;
        infinite where nothing is claimed.
      delta: additive slack of the claim.
      normal: noise float64 [B, n] -> float64 [B, n], independent standard normal numbers if the
        noise has its distribution; None for a mechanism without noise.
      released: a word's id and place [n] -> the distribution of the released word [N]; None where
        it is not known.
      tolerance: how far a probability of ``released`` may be from the exact one.
      slack: differences between noisy vectors' centres, float64 [k, n] -> the exact delta at the
        claimed loss, [k]; None for a mechanism without one.
      longest: length of the longest difference for which ``delta`` is claimed.
      centre: a word's place [n] -> the point that noise is added to, [n], where what is released
        is the word nearest to the sum, or the second nearest; None for other mechanisms.
      second: distances of the nearest and the second nearest word to the sum, each [B] -> the
        probability that the second is released, [B]; None where it never is.
    """

    loss: Callable[[Floats, Floats], float]
    delta: float = 0.0
    normal: Callable[[Floats], Floats] | None = None
    released: Callable[[int, Floats], Floats] | None = None
    tolerance: float = 1e-12
    slack: Callable[[Floats], Floats] | None = None
    longest: float = math.inf
    centre: Callable[[Floats], Floats] | None = None
    second: Callable[[Floats, Floats], Floats] | None = None


@dataclass(frozen=True)
class Row:
    """A mechanism in the table.

    Attributes:
      reference: (mechanism, vocabulary) -> what it should do there.
      parameters: those with which ``--mechanism all`` audits it.
      spread: (mechanism, n) -> roughly the noise's standard deviation along a direction in R^n, in
        units of the embedding; the audit places words that far apart.
    """

    reference: Callable[[Any, Vocabulary], Reference]
    parameters: Mapping[str, float] = field(default_factory=lambda: {"epsilon": 10.0})
    spread: Callable[[Any, int], float] = lambda mechanism, n: math.sqrt(n + 1) / mechanism.epsilon


def euclidean(x: Floats, y: Floats) -> float:
    """The distance of most claims."""
    return float(np.linalg.norm(x - y))


# --- The parts of distributions.
# --------------------------------------------------------------------------


def laplace_tail(n: int, epsilon: float) -> Tail:
    """P(Z > z) of multidimensional Laplace noise along a direction.

    Given v ~ Gamma((n+1)/2, 1), epsilon Z is normal with variance 2 v, so that P(epsilon Z > x) =
    E[erfc(x / (2 sqrt(v))) / 2], by the trapezoid rule in ln v: errors below 1e-15.
    """
    a = (n + 1) / 2
    steps = np.arange(-400, 400) * (0.25 / math.sqrt(a))
    steps = steps[steps < 6]
    log_weights = a * (steps - np.expm1(steps))
    steps, log_weights = steps[log_weights > -42], log_weights[log_weights > -42]
    weights = np.exp(log_weights)
    weights /= weights.sum()
    roots = 2 * np.sqrt(a * np.exp(steps))
    return lambda z: 0.5 * special.erfc(epsilon * z[:, None] / roots) @ weights


def spherical_laplace(epsilon: float) -> Callable[[Floats], Floats]:
    """Uniform direction and length R ~ Gamma(n, 1/epsilon), as normal numbers."""

    def normal(noise: Floats) -> Floats:
        n = noise.shape[1]
        lengths = np.linalg.norm(noise, axis=1)
        below = special.gammainc(n, epsilon * lengths)
        above = special.gammaincc(n, epsilon * lengths)
        chi = np.sqrt(
            2
            * np.where(
                below < 0.5,
                special.gammaincinv(n / 2, below),
                special.gammainccinv(n / 2, above),
            )
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(noise * (chi / lengths)[:, None])

    return normal


def from_two_sided_tail(tail: Tail) -> Callable[[Floats], Floats]:
    """Independent coordinates with P(|Z| > z) = tail(z), as normal numbers."""

    def normal(noise: Floats) -> Floats:
        sizes = -special.ndtri(0.5 * tail(np.abs(noise)))
        return np.asarray(np.copysign(sizes, noise))

    return normal


def on_a_line(vocabulary: Vocabulary) -> bool:
    """Whether all words lie on a line along the first axis."""
    return bool((vocabulary.vectors[:, 1:] == vocabulary.vectors[:1, 1:]).all())


def shortened(place: Floats, radius: float | None) -> Floats:
    """The nearest point of a ball around the origin."""
    length = float(np.linalg.norm(place))
    return place if radius is None or length <= radius else np.asarray(place * (radius / length))


def nearest_on_a_line(
    vocabulary: Vocabulary, tail: Tail, clip: float | None = None
) -> Callable[[int, Floats], Floats] | None:
    """The distribution of the word nearest to x + noise, from the noise's part along the line.

    None for a vocabulary that does not lie on the first axis.
    """
    if not on_a_line(vocabulary):
        return None
    # Of words at one place the first is released: np.unique gives the lowest id.
    places, ids = np.unique(vocabulary.vectors[:, 0].astype(np.float64), return_index=True)
    borders = (places[1:] + places[:-1]) / 2

    def distribution(_word: int, start: Floats) -> Floats:
        z = borders - shortened(start, clip)[0]
        half = tail(np.abs(z))
        above = np.concatenate([[1.0], np.where(z >= 0, half, 1 - half), [0.0]])
        result = np.zeros(len(vocabulary))
        result[ids] = -np.diff(above)
        return result

    return distribution


# --- The mechanisms. -----------------------------------------------------------------------------


def laplace(mechanism: Any, vocabulary: Vocabulary) -> Reference:
    """Multidimensional Laplace noise, then the nearest word."""
    n, epsilon = vocabulary.dimensions, mechanism.epsilon
    return Reference(
        loss=lambda x, y: epsilon * euclidean(x, y),
        normal=spherical_laplace(epsilon),
        released=nearest_on_a_line(vocabulary, laplace_tail(n, epsilon)),
        centre=lambda place: place,
    )


def mahalanobis(mechanism: Any, vocabulary: Vocabulary) -> Reference:
    """The noise times the inverse root of the regularized covariance is Laplace noise.

    On a line the scaled covariance has one entry, n, so the noise along it is 1 - l + l n times
    as wide, in variance, as Laplace noise.
    """
    n, epsilon, weight = vocabulary.dimensions, mechanism.epsilon, mechanism.covariance_weight
    covariance = np.atleast_2d(np.cov(vocabulary.vectors.astype(np.float64), rowvar=False))
    shape = (1 - weight) * np.eye(n) + weight * covariance / (np.trace(covariance) / n)
    values, axes = np.linalg.eigh(shape)
    inverse_root = (axes / np.sqrt(values)) @ axes.T
    unstretched, tail = spherical_laplace(epsilon), laplace_tail(n, epsilon)
    width = math.sqrt(1 - weight + weight * n)
    return Reference(
        loss=lambda x, y: epsilon * float(np.linalg.norm(inverse_root @ (x - y))),
        normal=lambda noise: unstretched(noise @ inverse_root),
        released=nearest_on_a_line(vocabulary, lambda z: tail(z / width)),
        tolerance=1e-9,  # the root of a matrix
        centre=lambda place: place,
    )


def vickrey(mechanism: Any, vocabulary: Vocabulary) -> Reference:
    """Laplace noise, then the first or second nearest word; the distribution is known on R^1."""
    epsilon, t = mechanism.epsilon, mechanism.t
    words = len(vocabulary)
    places, ids, counts = np.unique(
        vocabulary.vectors[:, 0].astype(np.float64), return_index=True, return_counts=True
    )
    ordered = np.argsort(vocabulary.vectors[:, 0], kind="stable")
    others = ordered[np.minimum(np.cumsum(counts) - counts + 1, words - 1)]
    nodes, weights = np.polynomial.legendre.leggauss(40)

    def distribution(_word: int, start: Floats) -> Floats:
        """Integrates between all points where the two nearest words or the density change."""
        middles = [(places[i:] + places[: len(places) - i]) / 2 for i in range(3)]
        ends = [start[0] + width / epsilon for width in (-50, -12, -4, -1, 1, 4, 12, 50)]
        borders = np.unique(np.concatenate([*middles, ends, start[:1]]))
        borders = borders[np.abs(borders - start[0]) <= 50 / epsilon * (1 + 1e-9)]
        half = np.diff(borders) / 2
        z = (((borders[1:] + borders[:-1]) / 2)[:, None] + half[:, None] * nodes).ravel()
        mass = (half[:, None] * weights).ravel() * epsilon / 2
        mass *= np.exp(-epsilon * np.abs(z - start[0]))
        nearest = np.searchsorted(middles[1], z)
        beside = np.stack([np.maximum(nearest - 1, 0), np.minimum(nearest + 1, len(places) - 1)])
        apart = np.where(beside == nearest, np.inf, np.abs(z - places[beside]))
        next_ = np.where(apart[0] <= apart[1], beside[0], beside[1])
        near = np.abs(z - places[nearest])
        # Of words at one place the first two are the two nearest.
        far = np.where(counts[nearest] > 1, near, apart.min(axis=0))
        second = np.where(counts[nearest] > 1, others[nearest], ids[next_])
        share = (1 - t) * far / (t * near + (1 - t) * far)
        result = np.bincount(ids[nearest], mass * share, words)
        return np.asarray(result + np.bincount(second, mass * (1 - share), words))

    return Reference(
        loss=lambda x, y: epsilon * euclidean(x, y),
        normal=spherical_laplace(epsilon),
        released=distribution if vocabulary.dimensions == 1 else None,
        tolerance=1e-9,  # the quadrature
        centre=lambda place: place,
        second=lambda near, far: t * near / (t * near + (1 - t) * far),
    )


def gaussian(mechanism: Any, vocabulary: Vocabulary) -> Reference:
    """Normal noise whose loss exceeds epsilon d with probability delta at d = T."""
    epsilon, delta, longest = mechanism.epsilon, mechanism.delta, mechanism.distance

    def excess(sigma: float) -> float:
        return float(stats.norm.logsf(epsilon * sigma - longest / (2 * sigma))) - math.log(delta)

    sigma = optimize.brentq(excess, 1e-9 / epsilon, 1e9 / epsilon, xtol=1e-15, rtol=1e-15)

    def slack(differences: Floats) -> Floats:
        """Balle and Wang 2018, theorem 8."""
        lengths = np.linalg.norm(differences, axis=1)
        middle, loss = lengths / (2 * sigma), epsilon * lengths
        shift = epsilon * sigma
        above = np.exp(loss + special.log_ndtr(-middle - shift))
        return np.asarray(special.ndtr(middle - shift) - above)

    return Reference(
        loss=lambda x, y: epsilon * euclidean(x, y) if euclidean(x, y) <= longest else math.inf,
        delta=delta,
        normal=lambda noise: noise / sigma,
        released=nearest_on_a_line(vocabulary, lambda z: special.ndtr(-z / sigma)),
        slack=slack,
        longest=longest,
        centre=lambda place: place,
    )


def coordinate_laplace(mechanism: Any, vocabulary: Vocabulary) -> Reference:
    """Independent Laplace coordinates of rate epsilon / sqrt(n), on a clipped vector."""
    rate, clip = mechanism.epsilon / math.sqrt(vocabulary.dimensions), mechanism.clip
    return Reference(
        loss=lambda x, y: rate * float(np.abs(shortened(x, clip) - shortened(y, clip)).sum()),
        normal=from_two_sided_tail(lambda z: np.asarray(np.exp(-rate * z))),
        released=nearest_on_a_line(vocabulary, lambda z: np.asarray(np.exp(-rate * z) / 2), clip),
        centre=lambda place: shortened(place, clip),
    )


def _truncated(mechanism: Any, vocabulary: Vocabulary, limit: float, claims: bool) -> Reference:
    """Truncated Laplace coordinates on a clipped vector."""
    rate, clip = mechanism.epsilon / math.sqrt(vocabulary.dimensions), mechanism.clip
    whole = -math.expm1(-rate * limit)

    def two_sided(z: Floats) -> Floats:
        left = np.where(z <= limit, -np.expm1(-rate * (limit - z)), 0.0)
        return np.asarray(np.exp(-rate * z) * left / whole)

    def slack(differences: Floats) -> Floats:
        """The probability to leave the other's support in some coordinate."""
        moved = np.abs(differences)
        out = np.where(moved < limit, two_sided(np.abs(limit - moved)) / 2, 0.0)
        beyond = 1 - two_sided(np.abs(moved - limit)) / 2
        out = np.where(moved >= limit, beyond, out)
        with np.errstate(divide="ignore"):  # where a coordinate leaves for certain
            return np.asarray(-np.expm1(np.log1p(-out).sum(axis=1)))

    return Reference(
        loss=lambda x, y: (
            mechanism.epsilon * euclidean(shortened(x, clip), shortened(y, clip))
            if claims
            else math.inf
        ),
        delta=mechanism.delta if claims else 1.0,
        normal=from_two_sided_tail(two_sided),
        released=nearest_on_a_line(vocabulary, lambda z: two_sided(z) / 2, clip),
        slack=slack,
        longest=2 * clip,
        centre=lambda place: shortened(place, clip),
    )


def trlaplace(mechanism: Any, vocabulary: Vocabulary) -> Reference:
    """The limit A is the mechanism's own: what it must fulfil is ``slack``, which is tested."""
    return _truncated(mechanism, vocabulary, mechanism.limit(vocabulary.dimensions), claims=True)


def trlaplace_published(mechanism: Any, vocabulary: Vocabulary) -> Reference:
    """The claim is delta = (C / B)^n, B = (1 - e^{-a A}) / a, solved for A."""
    n = vocabulary.dimensions
    rate, share = mechanism.epsilon / math.sqrt(n), mechanism.delta ** (1 / n)
    limit = math.log(share / (share - rate * mechanism.clip)) / rate
    return _truncated(mechanism, vocabulary, limit, claims=False)


def _softmax(scores: Floats) -> Floats:
    return np.asarray(special.softmax(scores))


def _lengths(vocabulary: Vocabulary, start: Floats) -> Floats:
    return np.asarray(np.linalg.norm(vocabulary.vectors.astype(np.float64) - start, axis=1))


def santext(mechanism: Any, vocabulary: Vocabulary) -> Reference:
    """Proportional to exp(-epsilon d / 2)."""
    epsilon = mechanism.epsilon
    return Reference(
        loss=lambda x, y: epsilon * euclidean(x, y),
        released=lambda _, start: _softmax(-epsilon / 2 * _lengths(vocabulary, start)),
    )


def santext_plus(mechanism: Any, vocabulary: Vocabulary) -> Reference:
    """The same over sensitive words; a common word is kept with probability 1 - p."""
    epsilon, words = mechanism.epsilon, len(vocabulary)
    first = min(round(words * (1 - mechanism.sensitive)), words - 1)

    def distribution(word: int, start: Floats) -> Floats:
        result = np.zeros(words)
        result[first:] = _softmax(-epsilon / 2 * _lengths(vocabulary, start)[first:])
        if 0 <= word < first:
            result *= mechanism.p
            result[word] = 1 - mechanism.p
        return result

    def is_common(place: Floats) -> bool:
        return bool((vocabulary.vectors[:first] == place).all(axis=1).any())

    return Reference(
        loss=lambda x, y: math.inf if is_common(x) or is_common(y) else epsilon * euclidean(x, y),
        released=distribution,
    )


def tem(mechanism: Any, vocabulary: Vocabulary) -> Reference:
    """Algorithm 1: words within gamma compete with one candidate for all others."""
    epsilon, beta, words = mechanism.epsilon, mechanism.beta, len(vocabulary)
    gamma = 2 / epsilon * math.log((1 - beta) * (words - 1) / beta)

    def distribution(_word: int, start: Floats) -> Floats:
        lengths = _lengths(vocabulary, start)
        within = lengths <= gamma
        others = words - int(within.sum())
        scores = -epsilon / 2 * lengths[within]
        if others:
            scores = np.append(scores, -epsilon / 2 * gamma + math.log(others))
        shares = _softmax(scores)
        result = np.zeros(words)
        result[within] = shares[: words - others]
        if others:
            result[~within] = shares[-1] / others
        return result

    return Reference(loss=lambda x, y: epsilon * min(euclidean(x, y), gamma), released=distribution)


def truncated_gumbel(mechanism: Any, vocabulary: Vocabulary) -> Reference:
    """A Poisson number of candidates, the nearest ones; nothing is claimed."""
    words = len(vocabulary)
    chances = stats.poisson.pmf(np.arange(1, words + 1), math.log(words))
    chances /= chances.sum()

    def distribution(word: int, start: Floats) -> Floats:
        lengths = _lengths(vocabulary, start)
        keys = np.where(np.arange(words) == word, -1.0, lengths)
        order = np.argsort(keys, kind="stable")
        result = np.zeros(words)
        for k in np.flatnonzero(chances > 1e-18) + 1:
            chance = chances[k - 1]
            result[order[:k]] += chance * _softmax(-mechanism.epsilon / 2 * lengths[order[:k]])
        return result

    return Reference(loss=lambda *_: math.inf, released=distribution, tolerance=1e-10)


def after_resampling(
    configuration: Configuration, vocabulary: Vocabulary, distributions: Floats
) -> tuple[Floats, float]:
    """What rank resampling makes of distributions of released words, by enumeration of all ranks.

    Args:
      configuration: says whether and how.
      vocabulary: N words.
      distributions: float64 [k, N].

    Returns:
      float64 [k, N], and a probability that the result may be too small by: words that hardly
      ever come out are left out.
    """
    if configuration.resampling is None:
        return distributions, 0.0
    words = len(vocabulary)
    weights = np.exp(
        -configuration.mechanism.epsilon * configuration.resampling.c * np.arange(words)
    )
    weights /= weights.sum()
    result, frequent = (
        np.zeros_like(distributions),
        np.flatnonzero(distributions.max(axis=0) > 1e-12),
    )
    for word in frequent:
        gaps = _lengths(vocabulary, vocabulary.vectors[word].astype(np.float64))
        gaps[word] = -1.0
        result[:, np.argsort(gaps, kind="stable")] += distributions[:, word : word + 1] * weights
    return result, (words - len(frequent)) * 1e-12


def _euclidean_claim(mechanism: Any, _: Vocabulary) -> Reference:
    """For a mechanism without a row: what it claims of Euclidean distance, and nothing else."""
    claim = mechanism.guarantee()
    epsilon = math.inf if claim.euclidean_epsilon is None else claim.euclidean_epsilon
    longest = math.inf if claim.longest is None else claim.longest
    return Reference(
        lambda x, y: epsilon * euclidean(x, y) if euclidean(x, y) <= longest else math.inf,
        claim.delta,
    )


def _of_coordinates(mechanism: Any, n: int) -> float:
    """Standard deviation of Laplace noise of rate epsilon / sqrt(n)."""
    return math.sqrt(2 * n) / float(mechanism.epsilon)


def _of_distances(mechanism: Any, _: int) -> float:
    """Where words are drawn by distance: that over which probabilities fall by a factor of e^2."""
    return float(4 / mechanism.epsilon)


_PUBLISHED = {"epsilon": 0.3, "delta": 0.4, "clip": 1.0}  # defined in every dimension

REFERENCES: dict[str, Row] = {
    "laplace": Row(laplace),
    "mahalanobis": Row(
        mahalanobis,
        spread=lambda made, n: (
            math.sqrt((n + 1) * (1 - made.covariance_weight + made.covariance_weight * n))
            / made.epsilon
        ),
    ),
    "vickrey": Row(vickrey),
    "gaussian": Row(gaussian, spread=lambda made, _: 2.5 / math.sqrt(made.epsilon)),
    "coordinate_laplace": Row(coordinate_laplace, spread=_of_coordinates),
    "trlaplace": Row(trlaplace, spread=_of_coordinates),
    "trlaplace_published": Row(trlaplace_published, _PUBLISHED, lambda *_: 0.6),
    "santext": Row(santext, spread=_of_distances),
    "santext_plus": Row(
        santext_plus, {"epsilon": 10.0, "p": 0.3, "sensitive": 0.6}, spread=_of_distances
    ),
    "tem": Row(tem, {"epsilon": 10.0, "beta": 0.2}, spread=_of_distances),
    "truncated_gumbel": Row(truncated_gumbel, spread=_of_distances),
}
"""What mechanisms should do, by name."""

UNLISTED = Row(_euclidean_claim)
"""What is assumed of a mechanism without a row."""
