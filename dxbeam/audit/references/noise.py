"""What mechanisms that add noise to a word's vector should do, from their papers."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
from scipy import optimize, special, stats

from dxbeam.audit.references.distributions import (
    Floats,
    Reference,
    euclidean,
    from_two_sided_tail,
    laplace_tail,
    nearest_on_a_line,
    shortened,
    spherical_laplace,
)
from dxbeam.space.vocabulary.words import Vocabulary


def laplace(mechanism: Any, vocabulary: Vocabulary) -> Reference:
    """Multidimensional Laplace noise, then the nearest word."""
    n, epsilon = vocabulary.dimensions, mechanism.epsilon
    return Reference(
        loss=lambda x, y: epsilon * euclidean(x, y),
        normal=spherical_laplace(epsilon),
        released=nearest_on_a_line(vocabulary, laplace_tail(n, epsilon)),
        centre=lambda place: place,
    )


def scaled_noise_published(mechanism: Any, vocabulary: Vocabulary) -> Reference:
    """Laplace noise of one of two rates, by the word; nothing is claimed."""
    n, words = vocabulary.dimensions, len(vocabulary)
    rates = [mechanism.epsilon, mechanism.epsilon * mechanism.ratio]
    frequent = round(words * mechanism.frequent)
    laws = [nearest_on_a_line(vocabulary, laplace_tail(n, rate)) for rate in rates]

    def distribution(word: int, start: Floats) -> Floats:
        law = laws[0 <= word < frequent]
        assert law is not None
        shares: Floats = law(word, start)
        return shares

    return Reference(loss=lambda *_: math.inf, released=None if laws[0] is None else distribution)


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


def mahalanobis_published(mechanism: Any, vocabulary: Vocabulary) -> Reference:
    """The direction of the noise above and the length of Laplace noise; nothing is claimed.

    In one dimension that is Laplace noise. In more what is released is not known.
    """
    n, epsilon, weight = vocabulary.dimensions, mechanism.epsilon, mechanism.covariance_weight
    covariance = np.atleast_2d(np.cov(vocabulary.vectors.astype(np.float64), rowvar=False))
    shape = (1 - weight) * np.eye(n) + weight * covariance / (np.trace(covariance) / n)
    values, axes = np.linalg.eigh(shape)
    inverse_root = (axes / np.sqrt(values)) @ axes.T
    of_laplace = spherical_laplace(epsilon)

    def normal(noise: Floats) -> Floats:
        lengths = np.linalg.norm(noise, axis=1, keepdims=True)
        unstretched = noise @ inverse_root
        unstretched *= lengths / np.linalg.norm(unstretched, axis=1, keepdims=True)
        return of_laplace(unstretched)

    tail = laplace_tail(n, epsilon)
    return Reference(
        loss=lambda *_: math.inf,
        normal=normal,
        released=nearest_on_a_line(vocabulary, tail) if n == 1 else None,
        centre=lambda place: place,
    )


def vickrey(mechanism: Any, vocabulary: Vocabulary) -> Reference:
    """Noise, then the first or second nearest word; the distribution is known on R^1."""
    source, t = mechanism.source, mechanism.t
    noisy = _NOISES[source.name](source, vocabulary)
    clip = getattr(source, "clip", None)
    # In one dimension all but normal noise is Laplace noise.
    normal = source.name == "gaussian"
    unit = _deviation(source) if normal else 1 / source.epsilon

    def density(z: Floats) -> Floats:
        if normal:
            return np.asarray(stats.norm.pdf(z, scale=unit))
        return np.asarray(stats.laplace.pdf(z, scale=unit))

    words = len(vocabulary)
    places, ids, counts = np.unique(
        vocabulary.vectors[:, 0].astype(np.float64), return_index=True, return_counts=True
    )
    ordered = np.argsort(vocabulary.vectors[:, 0], kind="stable")
    others = ordered[np.minimum(np.cumsum(counts) - counts + 1, words - 1)]
    nodes, weights = np.polynomial.legendre.leggauss(40)

    def distribution(_word: int, start: Floats) -> Floats:
        """Integrates between all points where the two nearest words or the density change."""
        centre = float(shortened(start, clip)[0])
        middles = [(places[i:] + places[: len(places) - i]) / 2 for i in range(3)]
        ends = [centre + width * unit for width in (-50, -12, -4, -1, 0, 1, 4, 12, 50)]
        borders = np.unique(np.concatenate([*middles, ends]))
        borders = borders[np.abs(borders - centre) <= 50 * unit * (1 + 1e-9)]
        half = np.diff(borders) / 2
        z = (((borders[1:] + borders[:-1]) / 2)[:, None] + half[:, None] * nodes).ravel()
        mass = (half[:, None] * weights).ravel() * density(z - centre)
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

    return dataclasses.replace(
        noisy,
        released=distribution if vocabulary.dimensions == 1 else None,
        tolerance=1e-9,  # the quadrature
        second=lambda near, far: t * near / (t * near + (1 - t) * far),
    )


def gaussian(mechanism: Any, vocabulary: Vocabulary) -> Reference:
    """Normal noise whose loss exceeds epsilon d with probability delta at d = T.

    On clipped vectors its exact slack at d = 2 C is delta.
    """
    epsilon, delta, clip = mechanism.epsilon, mechanism.delta, mechanism.clip
    longest, sigma = mechanism.distance if clip is None else 2 * clip, _deviation(mechanism)

    def loss(x: Floats, y: Floats) -> float:
        if clip is not None:
            x, y = shortened(x, clip), shortened(y, clip)
        apart = euclidean(x, y)
        reached = clip is not None or apart <= longest
        return float(epsilon * apart) if reached else math.inf

    return Reference(
        loss=loss,
        delta=delta,
        normal=lambda noise: noise / sigma,
        released=nearest_on_a_line(vocabulary, lambda z: special.ndtr(-z / sigma), clip),
        slack=lambda differences: _slack(epsilon, np.linalg.norm(differences, axis=1), sigma),
        longest=longest,
        centre=lambda place: shortened(place, clip),
    )


def _deviation(mechanism: Any) -> float:
    """The standard deviation at which normal noise has the claimed slack."""
    epsilon, delta, clip = mechanism.epsilon, mechanism.delta, mechanism.clip
    longest = mechanism.distance if clip is None else 2 * clip

    def excess(sigma: float) -> float:
        """Of the slack; on the safe side of rounding, where the slack is computed exactly."""
        if clip is not None:
            return float(_slack(epsilon, np.array([longest]), sigma)[0] - delta * (1 - 1e-9))
        return float(stats.norm.logsf(epsilon * sigma - longest / (2 * sigma))) - math.log(delta)

    return float(optimize.brentq(excess, 1e-9 / epsilon, 1e9 / epsilon, xtol=1e-15, rtol=1e-15))


def _slack(epsilon: float, lengths: Floats, sigma: float) -> Floats:
    """Of normal noise: Balle and Wang 2018, theorem 8."""
    middle, shift = lengths / (2 * sigma), epsilon * sigma
    above = np.exp(epsilon * lengths + special.log_ndtr(-middle - shift))
    return np.asarray(special.ndtr(middle - shift) - above)


def coordinate_laplace(mechanism: Any, vocabulary: Vocabulary) -> Reference:
    """Independent Laplace coordinates of rate epsilon / sqrt(n), on a clipped vector."""
    rate, clip = mechanism.epsilon / math.sqrt(vocabulary.dimensions), mechanism.clip
    return Reference(
        loss=lambda x, y: rate * float(np.abs(shortened(x, clip) - shortened(y, clip)).sum()),
        normal=from_two_sided_tail(lambda z: np.asarray(np.exp(-rate * z))),
        released=nearest_on_a_line(vocabulary, lambda z: np.asarray(np.exp(-rate * z) / 2), clip),
        centre=lambda place: shortened(place, clip),
    )


_NOISES = {
    "laplace": laplace,
    "mahalanobis": mahalanobis,
    "gaussian": gaussian,
    "coordinate_laplace": coordinate_laplace,
}
"""What vickrey adds."""


def _truncated(mechanism: Any, vocabulary: Vocabulary, limit: float, *, claims: bool) -> Reference:
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
