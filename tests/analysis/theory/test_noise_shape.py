"""Lengths of the noise against their density, and its directions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate, stats

from dxbeam.analysis.theory import noise_shape


@pytest.mark.parametrize("n", [1, 2, 3, 50, 300])
def test_lengths_are_of_the_promised_distribution(n: int) -> None:
    """A correct sampler fails with probability 1e-6."""
    sample = noise_shape.draw(n, 2.5, 10_000, seed=n)
    assert sample.lengths == pytest.approx(np.sqrt(np.square(sample.vectors).sum(axis=1)))
    assert sample.p_value > 1e-6


def test_noise_that_is_too_long_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """By five per cent; 10,000 lengths that pass by chance: far below 1e-6."""
    right = noise_shape.laplace
    monkeypatch.setattr(noise_shape, "laplace", lambda *given: 1.05 * right(*given))
    assert noise_shape.draw(2, 1.0, 10_000, seed=0).p_value < 1e-3
    assert noise_shape.draw(50, 1.0, 10_000, seed=0).p_value < 1e-6


def test_no_direction_is_preferred() -> None:
    """A correct sampler fails with probability 1e-6."""
    directions = noise_shape.draw(2, 1.0, 10_000, seed=0).directions
    assert np.linalg.norm(directions, axis=1) == pytest.approx(1)
    angles = np.arctan2(directions[:, 1], directions[:, 0])
    assert stats.kstest(angles / (2 * math.pi) + 0.5, "uniform").pvalue > 1e-6


def test_the_density_is_that_of_the_definition() -> None:
    r, n, epsilon = 0.7, 4, 3.0
    expected = epsilon**n * r ** (n - 1) * math.exp(-epsilon * r) / math.factorial(n - 1)
    assert float(noise_shape.length_density(r, n, epsilon)) == pytest.approx(expected, rel=1e-12)
    whole, _ = integrate.quad(noise_shape.length_density, 0, math.inf, args=(300, 10.0), limit=200)
    assert whole == pytest.approx(1, abs=1e-6)


def test_the_same_seed_draws_the_same() -> None:
    first, again, other = (noise_shape.draw(2, 1.0, 20, seed) for seed in (1, 1, 2))
    assert np.array_equal(first.vectors, again.vectors)
    assert not np.array_equal(first.vectors, other.vectors)
