"""The largest ratio of a mechanism's distance to the Euclidean one, against all pairs."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dxbeam.mechanisms import make_mechanism
from dxbeam.mechanisms.constants.metric_ratio import metric_ratio
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.space.vocabulary.words import UNKNOWN
from tests.support import tiny


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("mahalanobis", {}),
        ("mahalanobis", {"covariance_weight": 0.99}),
        ("coordinate_laplace", {}),
        ("coordinate_laplace", {"clip": 1.0}),
    ],
)
def test_no_pair_has_a_larger_ratio_and_one_reaches_it(
    name: str, parameters: dict[str, float]
) -> None:
    vocabulary = tiny.vocabulary(600, 5)
    mechanism = make_mechanism(name, epsilon=2.0, **parameters)
    density = mechanism.density(NeighborSearch(vocabulary))  # type: ignore[attr-defined]
    vectors = vocabulary.vectors_of(np.append(np.arange(600), UNKNOWN))
    starts = density.starts(vectors)
    moved = starts[:, None] - starts[None]
    if density.whiten is not None:
        moved = moved @ density.whiten
    if density.absolute:
        own = np.abs(moved).sum(axis=2) / math.sqrt(5)
    else:
        own = np.linalg.norm(moved, axis=2)
    apart = np.linalg.norm(vectors[:, None] - vectors[None], axis=2)
    ratios = np.divide(own, apart, out=np.zeros_like(own), where=apart > 0)
    found = metric_ratio(density, vocabulary, threads=2)
    assert ratios.max() <= found.ratio <= ratios.max() * (1 + 1e-9)
    assert found.pair is not None
    assert ratios[found.pair] == pytest.approx(found.ratio)  # -1 is the last row
    worst = mechanism.guarantee().euclidean_epsilon
    assert worst is not None
    assert found.ratio <= worst / 2 * (1 + 1e-9)
