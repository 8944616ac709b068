"""PrivEmb's bounds hold, and its errors are those that its noise must make."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import privemb as private_embeddings
from benchmarks.privemb import PrivateEmbedding, pair_errors
from dxbeam.vectors.projections import make_projection
from dxbeam.vectors.sensitivity import published_beta

EPSILON, DELTA = 5.0, 1e-6


@pytest.fixture(scope="module")
def vectors() -> np.ndarray:
    """Two hundred vectors of 300 dimensions, as long as those of words."""
    return np.random.default_rng(0).normal(0, 0.35, (200, 300))


def _embedding(m: int) -> PrivateEmbedding:
    if m == 300:
        return PrivateEmbedding(make_projection("none", 300), 1.0)
    return PrivateEmbedding(make_projection("gaussian", 300, m), 1 + published_beta(m, 300, DELTA))


def test_the_dimensions_of_a_beta() -> None:
    """Within 0.8 % of PrivEmb's Appendix A, which prints 0.93, 0.66 and 0.468 for 50, 100, 200."""
    found = [private_embeddings.projected_dimensions(b, 300, DELTA) for b in (0.5, 0.7, 0.9)]
    assert found == [174, 89, 54]
    for beta in (0.468, 0.66, 0.93):
        m = private_embeddings.projected_dimensions(beta, 300, DELTA)
        assert published_beta(m, 300, DELTA) <= beta < published_beta(m - 1, 300, DELTA)


def test_the_published_bounds_have_the_published_values() -> None:
    at = {"m": 89, "vectors": 200, "longest": 12.7, "beta": 0.7, "epsilon": 5.0, "delta": DELTA}
    assert private_embeddings.distance_bound(**at) == pytest.approx(1_748, rel=1e-3)
    assert private_embeddings.inner_product_bound(**at) == pytest.approx(792_075, rel=1e-3)


@pytest.mark.parametrize("m", [300, 89])
def test_errors_are_as_large_as_the_noise(m: int, vectors: np.ndarray) -> None:
    """The mean distance of noise is known; that of words is added at right angles, about."""
    embedding = _embedding(m)
    errors = pair_errors(vectors[:100], vectors[100:], embedding, EPSILON, 4, seed=1)
    expected = private_embeddings.expected_noise_distance(m, embedding.sensitivity, EPSILON)
    typical = np.sqrt(2 * 300) * 0.35
    assert errors.distances.mean() == pytest.approx(np.hypot(expected, typical) - typical, rel=0.05)


@pytest.mark.parametrize("m", [300, 89])
def test_measured_errors_lie_below_the_bounds(m: int, vectors: np.ndarray) -> None:
    embedding = _embedding(m)
    errors = pair_errors(vectors[:100], vectors[100:], embedding, EPSILON, 4, seed=2)
    at = {
        "m": m,
        "vectors": 200,
        "longest": float(np.linalg.norm(vectors, axis=1).max()),
        "beta": embedding.sensitivity - 1,
        "epsilon": EPSILON,
        "delta": DELTA,
    }
    assert errors.largest_distance < private_embeddings.distance_bound(**at)
    assert errors.largest_inner_product < private_embeddings.inner_product_bound(**at)


def test_noise_is_no_longer_than_claim_six_says(vectors: np.ndarray) -> None:
    embedding = _embedding(89)
    released = embedding.released(vectors, EPSILON, np.random.default_rng(3))
    lengths = np.linalg.norm(released - embedding.projection.apply_all(vectors), axis=1)
    beta = embedding.sensitivity - 1
    bound = private_embeddings.noise_length_bound(89, beta, EPSILON, 0.05)
    assert lengths.max() < bound
    assert bound > 7 * lengths.mean()  # and is far from what happens


def test_the_risk_of_a_linear_model_grows_by_less_than_its_bound(vectors: np.ndarray) -> None:
    embedding = _embedding(89)
    generator = np.random.default_rng(4)
    weights = generator.normal(size=300)
    labels = np.sign(vectors @ weights)
    released = embedding.released(vectors, EPSILON, generator)
    projected = embedding.projection.apply_all(weights[None])[0]

    def hinge(x: np.ndarray, w: np.ndarray) -> float:
        return float(np.maximum(0, 1 - labels * (x @ w)).mean())

    grown = hinge(released, projected) - hinge(vectors, weights)
    bound = private_embeddings.risk_bound(
        89, 200, float(np.linalg.norm(vectors, axis=1).max()), embedding.sensitivity - 1,
        EPSILON, DELTA, 1.0, float(np.linalg.norm(weights)),
    )  # fmt: skip
    assert 0 < grown < bound
