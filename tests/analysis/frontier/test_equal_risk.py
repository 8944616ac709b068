"""Curves read off at equal recovery of rare words."""

from __future__ import annotations

import pytest

from dxbeam.analysis.frontier.compute import Estimate, Point
from dxbeam.analysis.frontier.equal_risk import read_off


def _around(value: float, width: float = 0.02) -> Estimate:
    return Estimate(value, value - width, value + width)


def _point(name: str, epsilon: float, risk: float, noisy: float = 0.0) -> Point:
    shares = (_around(epsilon / 10), _around(epsilon / 20), _around(risk))
    documents = {"context_rare": _around(risk), "noisy_context_rare": _around(noisy)}
    return Point(name, "", None, epsilon, 500, *shares, None, documents)


def test_values_lie_between_those_of_the_neighbouring_epsilons() -> None:
    points = [_point("laplace", 4, 0.3), _point("laplace", 2, 0.1), _point("santext", 2, 0.1)]
    [row] = read_off(points, 0.2)
    assert row.point.mechanism == "laplace"
    assert row.epsilon == pytest.approx(3)
    assert row.values["useful"] == pytest.approx((0.3, 0.26, 0.34))  # of epsilons 2.8 to 3.2
    assert set(row.values) == {"useful", "unchanged"}


def test_an_interval_holds_every_epsilon_that_it_may_be() -> None:
    risks, useful = (0.05, 0.15, 0.19, 0.22, 0.3), (0.3, 0.5, 0.5, 0.9, 0.5)
    points = [
        _point("laplace", epsilon, risk)
        ._replace(useful=_around(value, 0.01))
        .with_documents(context_rare=_around(risk, 0.05))
        for epsilon, (risk, value) in enumerate(zip(risks, useful, strict=True), 1)
    ]
    [row] = read_off(points, 0.2)
    low, high = row.values["useful"][1:]
    assert low <= 0.49
    assert high == pytest.approx(0.91)  # at epsilon 4, between two ends


def test_the_noisy_vectors_of_decoded_text_count_as_read() -> None:
    decoded = {"parameters": "decode=context"}
    points = [_point("laplace", 2, 0.0, 0.1), _point("laplace", 4, 0.1, 0.3)]
    assert read_off(points, 0.2) == []
    [row] = read_off([point._replace(**decoded) for point in points], 0.2)
    assert row.epsilon == pytest.approx(3)
