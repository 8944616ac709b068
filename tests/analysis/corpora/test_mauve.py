"""MAUVE by its definition: 1 for the same shares, near 0 for others, and what others compute."""

from __future__ import annotations

import numpy as np
import pytest

from dxbeam.analysis.corpora.encoded import similarities
from dxbeam.analysis.corpora.mauve import area_of_curve, grouped, mauve
from dxbeam.analysis.corpora.texts import weights_of

WEIGHTS = weights_of(range(200))


def _vectors(shift: float, seed: int) -> np.ndarray:
    """Texts of four kinds; a shift turns them away."""
    generator = np.random.default_rng(seed)
    centres = 3 * np.eye(8)[np.arange(200) % 4] + shift * np.eye(8)[4 + np.arange(200) % 4]
    return (centres + generator.normal(0, 0.3, (200, 8))).astype(np.float32)


def test_the_same_vectors_have_one_and_others_nothing() -> None:
    [same] = mauve(_vectors(0, 0), _vectors(0, 0), WEIGHTS)
    assert same[1:4] == pytest.approx((1, 1, 1))
    [alike] = mauve(_vectors(0, 0), _vectors(0, 1), WEIGHTS)
    assert alike.value > 0.8
    assert alike.low < alike.value < alike.high <= 1
    [other] = mauve(_vectors(0, 0), _vectors(9, 1), WEIGHTS)
    assert other.high < 0.05


def test_the_area_is_that_of_the_definition() -> None:
    """The curve by hand for two groups: KL(P | R) and KL(Q | R) at 25 mixtures."""
    one, other = np.array([0.8, 0.2]), np.array([0.3, 0.7])
    x, y = [0.0], [1.0]
    for share in np.linspace(1, 0, 25):
        mixed = share * one + (1 - share) * other
        x.append(float(np.exp(-5 * (other * np.log(other / mixed)).sum())))
        y.append(float(np.exp(-5 * (one * np.log(one / mixed)).sum())))
    expected = np.trapezoid([*y, 0.0], [*x, 1.0])
    assert area_of_curve(one, other) == pytest.approx(expected)
    assert area_of_curve(one, one) == pytest.approx(1)
    assert area_of_curve(np.array([1.0, 0.0]), np.array([0.0, 1.0])) < 0.05


def test_what_mauve_text_computes() -> None:
    """Version 0.4.0 of mauve-text (not installed, as it is under GPL 3) on two histograms."""
    one = np.array([0.1, 0.2, 0.3, 0.4, 0.0])
    other = np.array([0.3, 0.1, 0.2, 0.3, 0.1])
    assert area_of_curve(one, other) == pytest.approx(0.758222, abs=1e-4)


def test_few_documents_have_none_and_groups_are_as_many_as_a_tenth() -> None:
    assert not list(mauve(_vectors(0, 0)[:19], _vectors(0, 1)[:19], WEIGHTS[:, :19]))
    groups = grouped(np.concatenate([_vectors(0, 0), _vectors(0, 1)]), 200)
    assert len(np.unique(groups)) == 20


def test_similarities_are_cosines() -> None:
    originals = np.array([[1, 0], [0, 2], [0, 0]], np.float32)
    released = np.array([[3, 0], [1, 1], [1, 0]], np.float32)
    own, strangers = similarities(originals, released)
    assert own.value == pytest.approx((1 + np.sqrt(0.5) + 0) / 3)
    assert strangers.value == pytest.approx((0 + np.sqrt(0.5) + 0) / 3)
    assert own.low <= own.value <= own.high
