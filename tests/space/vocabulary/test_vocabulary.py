"""Words, ids, vectors, and the public unknown word."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from dxbeam.errors import ConfigurationError
from dxbeam.space.artifact.artifact import open_vocabulary
from dxbeam.space.search.backends.approximate_index import build_index
from dxbeam.space.vocabulary.words import UNKNOWN, Vocabulary
from tests.support.vocabularies import of, random_vocabulary


@pytest.mark.parametrize(
    ("words", "vectors"),
    [
        (["a"], np.zeros((1, 2))),
        (["a"], np.zeros(2, np.float32)),
        (["a"], np.zeros((2, 2), np.float32)),
        (["a", "b"], np.zeros((1, 2), np.float32)),
        ([], np.zeros((0, 2), np.float32)),
    ],
    ids=["float64", "one vector alone", "too many vectors", "too few vectors", "no words"],
)
def test_words_and_vectors_must_fit(words: list[str], vectors: np.ndarray) -> None:
    with pytest.raises(ConfigurationError):
        Vocabulary(words, vectors)


def test_repeated_words_are_refused_before_any_is_looked_up() -> None:
    with pytest.raises(ConfigurationError, match="distinct"):
        Vocabulary(["a", "b", "a"], np.zeros((3, 2), np.float32)).id_of("b")


@pytest.mark.parametrize(
    "word", ["", "a\0", "\x85", "a\u2028b", "\u2029", "a\nb", "\r", "\v", "\f", "\x1c", "\ud800"]
)
def test_words_that_no_release_could_hold_are_refused_before_any_is_looked_up(word: str) -> None:
    with pytest.raises(ConfigurationError, match="words must be texts of one line"):
        Vocabulary(["a", word], np.zeros((2, 2), np.float32)).id_of("a")
    assert len(f"a{word}b".splitlines()) > 1 or word in ("", "a\0", "\ud800")


def test_a_words_position_is_its_id() -> None:
    vocabulary = random_vocabulary(50)
    assert vocabulary.ids_of(vocabulary.words).tolist() == list(range(50))
    assert (len(vocabulary), vocabulary.dimensions) == (50, 8)
    assert vocabulary.ids_of([]).tolist() == []
    assert vocabulary.ids_of(["w1", "", "W1", "w50"]).tolist() == [1, UNKNOWN, UNKNOWN, UNKNOWN]


def test_casing_is_dropped_only_where_the_vocabulary_has_none() -> None:
    plain, lower = of([[0.0], [1.0]]), of([[0.0], [1.0]], lowercase=True)
    assert [plain.id_of("W1"), lower.id_of("W1"), lower.id_of("w1")] == [UNKNOWN, 1, 1]


def test_every_unknown_word_is_at_the_mean_unless_another_place_is_given() -> None:
    vectors = np.array([[1, 2], [3, 5], [5, 11]], np.float32)
    assert of(vectors).vectors_of(np.array([UNKNOWN, 1])).tolist() == [[3, 6], [3, 5]]
    placed = Vocabulary(list("abc"), vectors, unknown_vector=np.array([9, 9], np.float32))
    assert placed.vectors_of(np.array([2, UNKNOWN])).tolist() == [[5, 11], [9, 9]]
    assert placed.vectors_of(np.array([UNKNOWN])).dtype == np.float64


def test_the_mean_of_a_million_equal_words_is_their_place() -> None:
    """Summed in float32 it would be off in the third digit."""
    mean = Vocabulary(range(10**6), np.full((10**6, 1), 0.1, np.float32)).unknown_vector  # type: ignore[arg-type]
    assert mean is not None
    assert mean.tolist() == [np.float32(0.1)]


def test_content_is_named_by_all_that_decides_a_release() -> None:
    words, vectors = ["a", "b"], np.array([[1, 2], [3, 4]], np.float32)
    made = [
        Vocabulary(words, vectors),
        Vocabulary(["a", "c"], vectors),
        Vocabulary(["b", "a"], vectors),
        Vocabulary(words, vectors + np.float32(1e-6)),
        Vocabulary(words, vectors, unknown_vector=np.array([0, 0], np.float32)),
        Vocabulary(words, vectors, lowercase=True),
        Vocabulary(words, vectors, neighbor_ids=np.array([[1], [0]], np.int32)),
        Vocabulary(words, vectors, orders=np.array([[0, 1]], np.int32)),
        Vocabulary(words, vectors, orders=np.array([[1, 0]], np.int32)),
        Vocabulary(words, vectors, orders=np.array([[0, 1], [1, 0]], np.int32)),
        Vocabulary(words, vectors, clusters=np.array([0, 0], np.int32)),
        Vocabulary(words, vectors, clusters=np.array([0, 1], np.int32)),
        Vocabulary(words, vectors, clusters=np.array([1, 0], np.int32)),
        Vocabulary(words, vectors, index=build_index(Vocabulary(words, vectors), "Flat")),
        Vocabulary(words, vectors, index=build_index(Vocabulary(words, vectors), "HNSW4")),
    ]
    assert len({vocabulary.content_digest for vocabulary in made}) == len(made)
    for one in made:
        given = dataclasses.replace(one, digest="given")
        assert given.content_digest == one.content_digest, "a digest is believed without a look"
    again = Vocabulary(tuple(words), np.asfortranarray(vectors))
    assert again.content_digest == made[0].content_digest


def test_what_was_made_in_memory_before_keeps_its_digest() -> None:
    """Without clusters, orders and tables it is that of words, vectors and casing, as ever."""
    plain = Vocabulary(["a", "b"], np.array([[1, 2], [3, 4]], np.float32))
    assert plain.content_digest.startswith("13200a1477bba44d8")


def test_an_opened_vocabulary_with_other_orders_is_another_one(uri: str) -> None:
    opened = open_vocabulary(uri)
    orders = np.arange(len(opened), dtype=np.int32)[None]
    other = dataclasses.replace(opened, orders=orders)
    again = dataclasses.replace(opened, orders=orders[:, ::-1])
    assert len({one.content_digest for one in (opened, other, again)}) == 3


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"clusters": np.array([0, 0, 1, 2, 2])}, "all of one size but for the last"),
        ({"clusters": np.array([0, 0, 1, 1, 2])}, "all of one size but for the last"),
        ({"clusters": np.array([0, 0, 2, 2, 2])}, "all of one size but for the last"),
        ({"clusters": np.array([1, 1, 2, 2, 2])}, "all of one size but for the last"),
        ({"clusters": np.array([0, 0, -1, -1, -1])}, "all of one size but for the last"),
        ({"clusters": np.array([0, 1, 1, 1, 1])}, "all of one size but for the last"),
        ({"clusters": np.array([0, 0, 1, 1])}, "one whole number for each of its 5 words"),
        ({"clusters": np.array([0, 0, 1, 1, 1.0])}, "one whole number for each of its 5 words"),
        ({"orders": np.array([[0, 1, 2, 3, 3]])}, "hold each word once"),
        ({"orders": np.array([[0, 1, 2, 3, 5]])}, "hold each word once"),
        ({"orders": np.array([0, 1, 2, 3, 4])}, "places for each of its 5 words"),
    ],
)
def test_clusters_and_orders_of_your_own_are_checked(given: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        Vocabulary(list("abcde"), np.ones((5, 2), np.float32), **given)
    Vocabulary(list("abcde"), np.ones((5, 2), np.float32), clusters=np.array([1, 0, 1, 0, 1]))


@pytest.mark.parametrize(
    ("vectors", "unknown", "says"),
    [
        (np.full((2, 3), np.nan, np.float32), None, "must be finite"),
        (np.ones((2, 3), np.float32), np.array([1, np.nan, 1], np.float32), "must be finite"),
        (np.ones((2, 3), np.float32), np.array([1, np.inf, 1], np.float32), "must be finite"),
        (np.ones((2, 3), np.float32), [1.0, 1.0, 1.0], "unknown word's vector is float32"),
        (np.ones((2, 3), np.float32), np.ones(3), "unknown word's vector is float32"),
        (np.ones((2, 0), np.float32), None, "at least one number"),
    ],
)
@pytest.mark.parametrize("digest", ["", "an artifact's"])
def test_vectors_that_are_none_are_refused_in_a_sentence(
    vectors: Any, unknown: Any, says: str, digest: str
) -> None:
    with pytest.raises(ConfigurationError, match=says):
        Vocabulary(["a", "b"], vectors, unknown_vector=unknown, digest=digest)


def test_the_longest_vector_is_found_among_the_unknown_words_too() -> None:
    vectors = np.array([[3, 4], [0, 0]], np.float32)
    assert Vocabulary(["a", "b"], vectors).longest == 5
    assert Vocabulary(["a", "b"], vectors, unknown_vector=vectors[0] * 2).longest == 10
