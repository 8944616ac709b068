"""Laplace noise on one whole number: what epsilon does where nothing else gets in the way.

A number, far from the end of its scale, gets noise of density proportional to exp(-epsilon |eta|)
and is rounded. It comes out as itself (*original*), at most 100 away (*close*), or farther off
(*distant*). Most numbers come out close over a range of epsilon whose ends differ by a factor of
200; words in many dimensions have no such range. This is Figure 1 of "d_X-Privacy for Text and the
Curse of Dimensionality" (arXiv 2411.13784), which adds noise to 400,000. Cutting the scale off at
1, as there, changes no share: what is cut off is distant either way.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dxbeam.analysis.theory.intervals import count_interval
from dxbeam.mechanisms.sampling.noise import laplace, laplace_draws

LIMIT = 100
"""A number is close if it is at most this far from the original."""

EPSILONS = tuple(float(f"{10 ** (step / 10 - 3):.3g}") for step in range(41))
"""From 0.001 to 10, ten to a factor of ten."""

CLOSE_FROM = math.log(2) / LIMIT
"""The epsilon from which on close numbers are commoner than distant ones: 0.0069."""

ORIGINAL_FROM = 2 * math.log(2)
"""The epsilon from which on original numbers are commoner than close ones: 1.386, where distant
ones have probability 3e-61."""


class OneDimension(NamedTuple):
    """The three shares at one epsilon, as probabilities."""

    original: float
    close: float
    distant: float


class DrawnOneDimension(NamedTuple):
    """The three shares at one epsilon, counted.

    Attributes:
      epsilon: inverse scale of the noise.
      draws: how many numbers got noise.
      original, close, distant: (share, low, high) with Clopper-Pearson intervals at 95 %.
    """

    epsilon: float
    draws: int
    original: tuple[float, float, float]
    close: tuple[float, float, float]
    distant: tuple[float, float, float]


def shares(epsilon: float) -> OneDimension:
    """The shares in closed form: P(|eta| > t) = exp(-epsilon t) at t = 1/2 and at t = 100.5.

    Each is accurate to some 1e-13 of itself, however small.

    Args:
      epsilon: inverse scale of the noise, above 0.
    """
    beyond_half = math.exp(-epsilon / 2)
    return OneDimension(
        -math.expm1(-epsilon / 2),
        -beyond_half * math.expm1(-epsilon * LIMIT),
        math.exp(-epsilon * (LIMIT + 0.5)),
    )


def drawn_shares(epsilons: Sequence[float], draws: int, seed: int) -> list[DrawnOneDimension]:
    """The shares among draws of the mechanisms' own noise, new ones at every epsilon.

    Args:
      epsilons: inverse scales of the noise.
      draws: how many at each.
      seed: of the noise, which falls on no word and protects nothing.
    """
    generator = np.random.default_rng(seed)
    shares = []
    for epsilon in epsilons:
        random = generator.integers(0, 2**64, (draws, laplace_draws(1)), dtype=np.uint64)
        moved = np.abs(np.rint(laplace(random, 1, epsilon)[:, 0]))
        original = int(np.count_nonzero(moved == 0))
        distant = int(np.count_nonzero(moved > LIMIT))
        counts = original, draws - original - distant, distant
        shares.append(
            DrawnOneDimension(epsilon, draws, *(count_interval(count, draws) for count in counts))
        )
    return shares
