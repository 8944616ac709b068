"""The bounds on what a projection stretches: above every pair, and no further than promised."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dxbeam.errors import ConfigurationError
from dxbeam.space.vocabulary.words import Vocabulary
from dxbeam.vectors import sensitivity
from dxbeam.vectors.projections import Projection, make_projection
from dxbeam.vectors.sensitivity import LargestRatio, PairScan
from tests.support import vocabularies


def _widest(vocabulary: Vocabulary, projection: Projection) -> float:
    """By all differences, in float64."""
    vectors = np.concatenate([vocabulary.vectors, np.asarray(vocabulary.unknown_vector)[None]])
    vectors = vectors.astype(np.float64)
    i, j = np.triu_indices(len(vectors), 1)
    differences = vectors[i] - vectors[j]
    lengths = np.linalg.norm(differences, axis=1)
    stretched = np.linalg.norm(projection.apply_all(differences), axis=1)
    return float((stretched[lengths > 0] / lengths[lengths > 0]).max(initial=0.0))


def _agrees(vocabulary: Vocabulary, projection: Projection) -> sensitivity.Sensitivity:
    found = sensitivity.exact(vocabulary, projection)
    widest = _widest(vocabulary, projection)
    assert widest <= found.value <= widest * (1 + 2e-6) + 2e-6
    assert found.value <= sensitivity.spectral(projection).value
    assert found.delta == 0
    return found


@pytest.mark.slow
@pytest.mark.parametrize("words", [1, 2, 511, 512, 1500])
def test_exact_is_the_largest_over_all_pairs(words: int) -> None:
    vocabulary = vocabularies.random_vocabulary(words=words, n=20, seed=words)
    found = _agrees(vocabulary, make_projection("gaussian", 20, 4))
    assert found.pair is not None
    if words > 2:
        names = dict.fromkeys(vocabulary.words)
        assert {name in names or name == "(unknown word)" for name in found.pair} == {True}


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    words=st.integers(1, 40),
    scale=st.sampled_from([1e-25, 1e-12, 1e-3, 1.0, 1e4, 1e7]),
    offset=st.sampled_from([0.0, 1.0, 1e3]),
    repeats=st.booleans(),
    kind=st.sampled_from(["gaussian", "orthogonal", "pca"]),
)
def test_exact_wherever_the_words_lie(
    seed: int, words: int, scale: float, offset: float, repeats: bool, kind: str
) -> None:
    """Words so near to one another, for their distance from 0, that float32 sees no distance."""
    vectors = np.random.default_rng(seed).normal(size=(words, 6)) * scale + offset
    if repeats:
        vectors = np.repeat(vectors, 2, axis=0)
    vectors[0] *= 1e6
    vocabulary = vocabularies.of(vectors)
    projection = make_projection(kind, 6, 3, vocabulary=vocabulary)
    found, widest = sensitivity.exact(vocabulary, projection), _widest(vocabulary, projection)
    assert widest <= found.value <= widest * (1 + 2e-6) + 2e-6


def test_the_unknown_word_counts() -> None:
    vectors = np.random.default_rng(0).normal(size=(50, 6)).astype(np.float32)
    projection = make_projection("gaussian", 6, 2)
    assert projection.matrix is not None
    # Along the direction that is stretched most.
    direction = np.linalg.svd(projection.matrix)[2][0].astype(np.float32)
    words = [f"w{i}" for i in range(50)]
    plain = Vocabulary(words, vectors)
    odd = Vocabulary(words, vectors, unknown_vector=vectors[7] + 30 * direction)
    found = sensitivity.exact(odd, projection)
    assert found.pair == ("w7", "(unknown word)")
    assert found.value > sensitivity.exact(plain, projection).value
    _agrees(odd, projection)


def test_what_is_not_settled_keeps_its_bound() -> None:
    vocabulary = vocabularies.random_vocabulary(words=600, n=20, seed=3)
    projection = make_projection("orthogonal", 20, 19)
    widest = _widest(vocabulary, projection)
    scan = PairScan(vocabulary, projection, settled=1)
    for start in scan.blocks():
        found = scan.scan(start)  # with nothing known before
        assert found.bound >= found.ratio
    parts = [scan.scan(start) for start in scan.blocks()]
    value = sensitivity.sensitivity_of_scan(parts, vocabulary, projection).value
    assert widest <= value <= widest * 1.001


def test_blocks_in_any_order_give_the_same() -> None:
    vocabulary = vocabularies.random_vocabulary(words=500, n=12, seed=4)
    projection = make_projection("gaussian", 12, 3)
    scan = PairScan(vocabulary, projection, rows=64, columns=100)
    alone = [scan.scan(start) for start in scan.blocks()]
    following, found = [], LargestRatio()
    for start in reversed(scan.blocks()):
        found = scan.scan(start, found)
        following.append(found)
    values = {
        sensitivity.sensitivity_of_scan(parts, vocabulary, projection)
        for parts in (alone, alone[::-1], following)
    }
    assert len(values) == 1
    _agrees(vocabulary, projection)


def test_a_square_orthogonal_map_stretches_nothing() -> None:
    vocabulary = vocabularies.random_vocabulary(words=700, n=8)
    projection = make_projection("orthogonal", 8, 8)
    assert sensitivity.exact(vocabulary, projection).value == pytest.approx(1, abs=3e-6)
    assert sensitivity.spectral(projection).value == pytest.approx(1, abs=3e-6)


def test_no_projection_stretches_nothing() -> None:
    projection = make_projection("none", 8)
    assert sensitivity.spectral(projection).value == 1
    assert sensitivity.exact(vocabularies.random_vocabulary(n=8), projection).value == 1


@pytest.mark.parametrize("kind", ["gaussian", "orthogonal", "pca"])
def test_spectral_covers_every_vector(kind: str) -> None:
    vocabulary = vocabularies.random_vocabulary(words=300, n=30)
    projection = make_projection(kind, 30, 7, vocabulary=vocabulary)
    assert projection.matrix is not None
    bound = sensitivity.spectral(projection).value
    vectors = np.random.default_rng(0).normal(size=(5000, 30))
    worst = np.linalg.svd(projection.matrix.astype(np.float64))[2][0]
    both: npt.NDArray[np.float64] = np.concatenate([vectors, worst[None]])
    ratios = np.linalg.norm(projection.apply_all(both), axis=1) / np.linalg.norm(both, axis=1)
    assert ratios.max() <= bound <= ratios.max() * (1 + 3e-6)
    if kind == "pca":
        assert bound == pytest.approx(1, abs=3e-6)


@pytest.mark.parametrize(("m", "beta"), [(50, 0.93), (100, 0.66), (200, 0.468)])
def test_the_published_calibration(m: int, beta: float) -> None:
    assert sensitivity.published_beta(m, 300, 1e-6) == pytest.approx(beta, abs=0.003)
    found = sensitivity.published(make_projection("gaussian", 300, m), 1e-6)
    assert found.value == pytest.approx(1 + beta, abs=0.003)
    assert found.delta == 1e-6


@pytest.mark.parametrize("delta", [0.0, 1.0, -1.0, float("nan")])
def test_delta_is_a_probability(delta: float) -> None:
    with pytest.raises(ConfigurationError, match="between 0 and 1"):
        sensitivity.published(make_projection("gaussian", 300, 50), delta)


def test_published_is_for_what_was_published() -> None:
    with pytest.raises(ConfigurationError, match="`projection` gaussian, not orthogonal"):
        sensitivity.published(make_projection("orthogonal", 300, 50), 1e-6)


@given(st.floats(0, 1e3))
def test_values_are_rounded_up(value: float) -> None:
    assert value <= sensitivity.rounded_up(value) <= value * (1 + 2e-6) + 2e-6
