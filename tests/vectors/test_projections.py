"""Projections: public, repeatable, and of the kind that their name says."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import stats

from dxbeam.errors import ConfigurationError
from dxbeam.vectors.projections import KINDS, Projection, make_projection
from tests.support import vocabularies

VOCABULARY = vocabularies.random_vocabulary(words=300, n=12)


def _make(kind: str, m: int = 5, seed: str = "a", n: int = 12) -> Projection:
    return make_projection(kind, n, m, seed, VOCABULARY)


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_arguments_give_the_same_projection(kind: str) -> None:
    first, second = _make(kind), _make(kind)
    assert first.digest == second.digest
    assert first.as_dict() == second.as_dict()
    restored = pickle.loads(pickle.dumps(first))
    assert restored.digest == first.digest
    x = np.arange(12.0)
    assert (restored.apply(x) == first.apply(x)).all()


@pytest.mark.parametrize("kind", ["gaussian", "orthogonal"])
def test_the_seed_the_kind_and_the_shape_each_give_another_one(kind: str) -> None:
    made = [_make(kind), _make(kind, seed="b"), _make(kind, m=6), _make("pca")]
    assert len({projection.digest for projection in made}) == len(made)
    assert made[0].as_dict()["seed"] == "a"
    assert made[-1].as_dict()["seed"] is None


def test_a_seed_gives_this_projection_for_ever() -> None:
    """Pins the rule: whoever has the manifest only can draw the projection again."""
    matrix = make_projection("gaussian", 4, 2, "dxbeam").matrix
    assert matrix is not None
    expected = [
        [0.62189233, 0.58607739, 0.046569437, -0.75520217],
        [-0.15896368, 0.46179232, -0.070312075, -0.90359211],
    ]
    assert np.allclose(matrix, expected, rtol=1e-6)


def test_gaussian_entries_are_normal_with_variance_1_over_m() -> None:
    matrix = make_projection("gaussian", 301, 40, "a").matrix
    assert matrix is not None
    assert matrix.shape == (40, 301)
    assert stats.kstest(matrix.ravel() * np.sqrt(40), "norm").pvalue > 1e-6
    assert abs(np.corrcoef(matrix)[0, 1]) < 0.3


def test_orthogonal_rows_are_orthogonal_and_keep_lengths_on_average() -> None:
    matrix = make_projection("orthogonal", 40, 10, "a").matrix
    assert matrix is not None
    assert np.allclose(matrix @ matrix.T, 4 * np.eye(10), atol=1e-5)
    # Uniform over rotations: the first row's coordinates are those of a random direction.
    entries = [
        make_projection("orthogonal", 3, 1, str(seed)).matrix[0, 0]  # type: ignore[index]
        for seed in range(500)
    ]
    assert stats.kstest(np.array(entries) / np.sqrt(3), stats.uniform(-1, 2).cdf).pvalue > 1e-6


def test_pca_takes_the_directions_of_most_variance() -> None:
    generator = np.random.default_rng(0)
    rotation = np.linalg.qr(generator.normal(size=(6, 6)))[0]
    vectors = generator.normal(size=(2000, 6)) * [9, 6, 4, 1, 0.5, 0.1] @ rotation + 3
    found = make_projection("pca", 6, 2, vocabulary=vocabularies.of(vectors)).matrix
    assert found is not None
    overlap = np.abs(found @ rotation[:2].T)
    assert np.allclose(overlap, np.eye(2), atol=0.1)
    assert (found[np.arange(2), np.abs(found).argmax(axis=1)] > 0).all()


def test_no_projection_leaves_vectors_as_they_are() -> None:
    projection = _make("none")
    x = np.random.default_rng(0).normal(size=12)
    assert (projection.apply(x) == x).all()
    assert (projection.apply_all(x[None]) == x).all()
    assert projection.projected == 12


def test_one_vector_or_many() -> None:
    x = np.random.default_rng(0).normal(size=(7, 12))
    projection = _make("gaussian")
    assert np.allclose(projection.apply_all(x), [projection.apply(row) for row in x], rtol=1e-12)


@pytest.mark.parametrize(
    ("kind", "m", "says"),
    [
        ("jl", 5, "`projection` jl: choose from none"),
        ("gaussian", 0, "0: .*has 1 to 12"),
        ("orthogonal", 13, "13: .*has 1 to 12"),
        ("pca", None, "None: .*has 1 to 12"),
    ],
)
def test_what_cannot_be(kind: str, m: int | None, says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        make_projection(kind, 12, m, vocabulary=VOCABULARY)


def test_pca_needs_a_public_vocabulary() -> None:
    with pytest.raises(ConfigurationError, match="`projection` pca needs a public `vocabulary`"):
        make_projection("pca", 12, 5)
