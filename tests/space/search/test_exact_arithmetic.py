"""Exponentials and logarithms that are the same on every processor."""

from __future__ import annotations

import math

import numpy as np

from dxbeam.space.search.exact_arithmetic import exp, log


def test_exponentials_are_right_to_the_last_places() -> None:
    x = np.concatenate([np.linspace(-707.9, 0, 20_001), [-1e-300, 0.0, 1.0, 700.0]])
    right = np.array([math.exp(value) for value in x])
    np.testing.assert_allclose(exp(x), right, rtol=1e-15)
    assert exp(np.array([0.0]))[0] == 1


def test_what_is_too_small_is_zero() -> None:
    assert exp(np.array([-709.0, -1e5, -np.inf])).tolist() == [0, 0, 0]


def test_logarithms_are_right_to_the_last_places() -> None:
    x = np.concatenate([np.logspace(-300, 0, 20_001), np.linspace(0.4, 2.1, 10_001)])
    right = np.array([math.log(value) for value in x])
    np.testing.assert_allclose(log(x), right, rtol=1e-15, atol=2e-16)
    assert log(np.array([1.0]))[0] == 0


def test_bits_are_those_of_plain_python() -> None:
    """Python's floats have no vector instructions, so equal bits mean that none matter."""
    x = -np.random.default_rng(1).uniform(0, 50, 2000)
    assert exp(x).tobytes() == np.array([float(exp(np.array([value]))[0]) for value in x]).tobytes()
    assert exp(x).tobytes() == exp(x[::-1].copy())[::-1].tobytes()
