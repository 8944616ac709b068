"""What the audit knows of a mechanism, and the distributions of which references are made.

Nothing here calls a mechanism's code: a distribution is written down a second time, from the paper,
so that a mistake must be made twice to go unseen. table.py has an entry for each mechanism.

The noise's distribution is given as a map that turns it into independent standard normal numbers,
so that the same tests serve every distribution. The distribution of the released word is exact on
words that are on a line, where only the noise's part along the line decides.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from dxbeam.space.vocabulary.words import Vocabulary

Floats = npt.NDArray[np.float64]
Tail = Callable[[Floats], Floats]
"""z >= 0 -> P(Z > z), for Z symmetric about 0."""


def euclidean(x: Floats, y: Floats) -> float:
    """The distance of most claims."""
    return float(np.linalg.norm(x - y))


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
      apart: two places -> the distance of which the claimed loss is so much a unit.
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
    apart: Callable[[Floats, Floats], float] = euclidean


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
    """Whether all words are on a line along the first axis."""
    return bool((vocabulary.vectors[:, 1:] == vocabulary.vectors[:1, 1:]).all())


def shortened(place: Floats, radius: float | None) -> Floats:
    """The nearest point of a ball around the origin."""
    length = float(np.linalg.norm(place))
    return place if radius is None or length <= radius else np.asarray(place * (radius / length))


def nearest_on_a_line(
    vocabulary: Vocabulary, tail: Tail, clip: float | None = None
) -> Callable[[int, Floats], Floats] | None:
    """The distribution of the word nearest to x + noise, from the noise's part along the line.

    None for a vocabulary that is not on the first axis.
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


def distances_from(start: Floats, vocabulary: Vocabulary) -> Floats:
    """Distances of all words from a place: [n] -> float64 [N]."""
    return np.asarray(np.linalg.norm(vocabulary.vectors.astype(np.float64) - start, axis=1))
