"""The reachability attack: it finds the word of a released float, and nothing of a grid point."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.released_vectors import words_left
from dxbeam.audit.reachability import add, add_on_grid, reachable
from dxbeam.documents import Document
from dxbeam.space.embeddings.reader import read_embeddings
from dxbeam.vectors import sensitivity
from dxbeam.vectors.configuration import VectorConfiguration
from dxbeam.vectors.projections import make_projection
from dxbeam.vectors.release import VectorReleaser
from tests.support import tiny

N, DIMENSIONS = 5000, 300
TARGETS = np.arange(0, N, 250)


@pytest.fixture(scope="module")
def words() -> np.ndarray:
    """Vectors as long as GloVe's, float32 as an embedding file holds them."""
    drawn = np.random.default_rng(0).normal(0, 6.6 / np.sqrt(DIMENSIONS), (N, DIMENSIONS))
    return drawn.astype(np.float32).astype(np.float64)


@pytest.mark.parametrize(("dtype", "epsilon"), [(np.float32, 5.0), (np.float64, 10.0)])
def test_one_word_is_left_of_a_released_float(
    words: np.ndarray, dtype: type[np.floating], epsilon: float
) -> None:
    left = words_left(words, epsilon, dtype, add, TARGETS, tiny.KEY)
    assert np.median(left) == 1


@pytest.mark.parametrize("epsilon", [1.0, 5.0, 10.0, 50.0])
def test_every_word_is_left_of_a_grid_point(words: np.ndarray, epsilon: float) -> None:
    projection = make_projection("none", DIMENSIONS)
    settings = VectorConfiguration("word", epsilon, projection, sensitivity.spectral(projection))
    release = add_on_grid(settings.step)
    left = words_left(words, 1 / settings.scale, np.float64, release, TARGETS[:4], tiny.KEY)
    assert left.min() >= 0.99 * N


def test_every_word_is_left_of_what_is_really_released() -> None:
    vocabulary = tiny.vocabulary()
    projection = make_projection("gaussian", 8, 3)
    settings = VectorConfiguration("word", 50.0, projection, sensitivity.spectral(projection))
    releaser = VectorReleaser(vocabulary, settings, tiny.KEY)
    words = projection.apply_all(vocabulary.vectors)
    for number in range(20):
        released = releaser.release_one(Document(str(number), f"w{number}"))
        left = reachable(released, words, add_on_grid(settings.step))
        assert left.tolist() == list(range(len(vocabulary)))


def test_a_grid_that_is_too_fine_hides_nothing(words: np.ndarray) -> None:
    def release(word: np.ndarray, noise: np.ndarray) -> np.ndarray:
        return np.rint((word + noise) * 2.0**56) / 2.0**56

    left = words_left(words, 10.0, np.float64, release, TARGETS, tiny.KEY)
    assert np.median(left) == 1


def test_words_that_cannot_be_told_apart_stay_together(words: np.ndarray) -> None:
    both = np.concatenate([words[:10], words[:10]])
    left = words_left(both, 50.0, np.float32, add, np.array([3, 13]), tiny.KEY)
    assert (left >= 2).all()


def test_a_word_is_left_exactly_if_some_noise_leads_there() -> None:
    """Against all float16 noises there are."""
    every = np.arange(2**16, dtype=np.uint16).view(np.float16)
    every = every[np.isfinite(every)]
    generator = np.random.default_rng(0)
    words = generator.normal(size=(40, 1)).astype(np.float16)
    for goal in (generator.normal(size=(30, 1)) * 0.1).astype(np.float16):
        with np.errstate(over="ignore"):
            some = [bool((word + every == goal).any()) for word in words]
        assert reachable(goal, words, add).tolist() == np.flatnonzero(some).tolist()
    assert not all(some)


def test_real_words(real_data: Path) -> None:
    path = real_data / "embeddings" / "glove.840B.300d.33k.w2v.txt.gz"
    chunks = list(read_embeddings(str(path), max_words=4000))
    words = np.concatenate([chunk.vectors for chunk in chunks]).astype(np.float64)
    targets = np.arange(0, 4000, 200)
    assert np.median(words_left(words, 5.0, np.float32, add, targets, tiny.KEY)) == 1
    assert np.median(words_left(words, 10.0, np.float64, add, targets, tiny.KEY)) == 1
    on_grid = words_left(words, 10.0, np.float64, add_on_grid(2.0**-4), targets[:3], tiny.KEY)
    assert on_grid.min() >= 0.99 * 4000
