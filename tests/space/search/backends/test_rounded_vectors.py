"""The integers of an artifact: those that a process would compute, and the same answers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dxbeam.space.artifact import artifact
from dxbeam.space.search.backends.float32_search import Float32Search
from dxbeam.space.search.backends.integer_search import IntegerSearch
from dxbeam.space.search.backends.rounded_vectors import open_rounded, round_vectors, write_rounded
from dxbeam.space.search.backends.rounded_words import RoundedWords
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.space.vocabulary.words import Vocabulary
from tests.support import tiny
from tests.support.products import BITS, plain


def _vocabulary(words: int, dimensions: int, seed: int = 0) -> Vocabulary:
    vectors = np.random.default_rng(seed).normal(1, 2, (words, dimensions)).astype(np.float32)
    return Vocabulary([f"w{i}" for i in range(words)], vectors)


SHAPES = [(2, 1), (300, 8), (2047, 3), (2048, 3), (2049, 3), (5000, 17)]


@pytest.mark.parametrize(("words", "dimensions"), SHAPES)
def test_files_hold_what_is_computed(tmp_path: Path, words: int, dimensions: int) -> None:
    vectors = _vocabulary(words, dimensions).vectors
    centre = vectors.mean(axis=0, dtype=np.float64)
    assert write_rounded(tmp_path, vectors, centre)
    computed, opened = round_vectors(vectors, centre), open_rounded(tmp_path, words, centre)
    for one, other in zip(computed, opened, strict=True):
        assert one.dtype == other.dtype
        assert np.array_equal(one, other)
    blocks = opened.blocks()
    assert sum(block.shape[1] for block in blocks) == words
    assert all(block.flags.c_contiguous for block in blocks)
    back = np.concatenate(blocks, axis=1).T * opened.scales[:, None].astype(np.float64)
    errors = np.linalg.norm(vectors - centre - back, axis=1)
    assert np.allclose(errors, opened.bounds[2])
    assert (errors <= dimensions**0.5 * opened.scales * 0.5001).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_an_artifact_holds_the_integers_of_its_vectors_as_they_are_stored(
    tmp_path: Path, dtype: type
) -> None:
    made = _vocabulary(2500, 6)
    shape = artifact.write_words_and_vectors(
        [(list(made.words[i : i + 999]), made.vectors[i : i + 999]) for i in range(0, 2500, 999)],
        tmp_path,
        dtype,
    )
    artifact.write_manifest(str(tmp_path), shape, False, {"name": "tiny"}, table=False)
    opened = artifact.open_vocabulary(str(tmp_path))
    assert opened.unknown_vector is not None
    assert opened.rounded is not None
    computed = round_vectors(opened.vectors, opened.unknown_vector.astype(np.float64))
    for one, other in zip(computed, opened.rounded, strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("bits", BITS)
def test_a_search_by_stored_integers_answers_as_one_that_makes_its_own(
    tmp_path: Path, bits: int
) -> None:
    made = _vocabulary(5000, 12)
    new = artifact.open_vocabulary(tiny.write_artifact(tmp_path / "2", made))
    old = artifact.open_vocabulary(tiny.write_version_1(tmp_path / "1", made))
    assert old.rounded is None
    assert new.rounded is not None
    float32 = Float32Search(made.vectors)
    searches = [
        IntegerSearch(RoundedWords(vocabulary.vectors, plain, bits, vocabulary.rounded), float32)
        for vocabulary in (old, new)
    ]
    queries = np.random.default_rng(1).normal(1, 4, (2000, 12))
    for count in (1, 2):
        of_old, of_new = (search.nearest_by_integers(queries, count) for search in searches)
        assert of_old is not None
        assert of_new is not None
        assert np.array_equal(of_old[0], of_new[0])
        assert np.array_equal(of_old[1], of_new[1])


def test_stored_integers_are_used_and_not_copied(tmp_path: Path) -> None:
    opened = artifact.open_vocabulary(tiny.write_artifact(tmp_path, _vocabulary(5000, 4)))
    assert opened.rounded is not None
    words = RoundedWords(opened.vectors, plain, 8, opened.rounded)
    assert all(np.shares_memory(block, opened.rounded.integers) for block in words.blocks[:-1])
    for array in (words.half_squares, words.rounded_lengths, words.residuals):
        assert np.shares_memory(array, opened.rounded.bounds)
    assert np.shares_memory(words.scales, opened.rounded.scales)


def test_a_neighbour_table_is_made_with_the_integers_that_were_written(tmp_path: Path) -> None:
    made = _vocabulary(5000, 6)
    shape = artifact.write_words_and_vectors([(list(made.words), made.vectors)], tmp_path)
    draft = artifact.open_draft(str(tmp_path), shape.digest)
    assert draft.rounded is not None
    ids = np.arange(0, 5000, 10)
    tables = [NeighborSearch(words).neighbor_table(ids, 20) for words in (made, draft)]
    assert np.array_equal(tables[0][0], tables[1][0])
    assert np.array_equal(tables[0][1], tables[1][1])
