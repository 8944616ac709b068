"""Words in files: the same ids and words as a list and a dictionary would give."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from zlib import crc32

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dxbeam.space.artifact.word_files import WORDS, open_words, word_index, write_words
from dxbeam.space.vocabulary.stored_words import StoredWords
from dxbeam.space.vocabulary.words import REMEMBERED, UNKNOWN, Vocabulary

WORD = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
QUERY = st.text(st.characters(exclude_categories=[]), max_size=8)  # halves of pairs, too


def _in_memory(words: Sequence[str]) -> StoredWords:
    array = pa.array(words, pa.large_string())
    return StoredWords(array, word_index(array))


@given(words=st.lists(WORD, min_size=1, unique=True), others=st.lists(QUERY))
@settings(deadline=None)
def test_any_string_has_the_id_that_a_dictionary_gives(words: list[str], others: list[str]) -> None:
    stored, ids = _in_memory(words), {word: i for i, word in enumerate(words)}
    assert [stored.find(word) for word in words] == list(range(len(words)))
    assert [stored.find(word) for word in others] == [ids.get(word, -1) for word in others]
    assert [word in stored for word in others] == [word in ids for word in others]


@given(words=st.lists(WORD, min_size=1, unique=True))
@settings(deadline=None, max_examples=30)
def test_what_comes_back_from_files_are_the_words(words: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        write_words([pa.array([word]) for word in words], Path(folder))
        stored = open_words(Path(folder))
        assert list(stored) == words
        assert stored.checked_text() == "".join(words)
        assert [stored[i] for i in range(-len(words), len(words))] == words + words
        assert stored[1:7:2] == words[1:7:2]
        assert stored[::-1] == words[::-1]
        ids = np.arange(len(words))[::-1]
        assert stored.of(ids) == words[::-1]


def _with_one_place(count: int, place: int, places: int) -> list[str]:
    """Words that all belong in one place of an index of this many."""
    found: list[str] = []
    number = 0
    while len(found) < count:
        word = f"word{number}"
        number += 1
        if crc32(word.encode()) % places == place:
            found.append(word)
    return found


@pytest.mark.parametrize("place", [0, 100, 255])
def test_words_that_want_the_same_place_are_told_apart(place: int) -> None:
    """At the end of the index, too, where they go on at its beginning."""
    *words, absent, other = _with_one_place(130, place, 256)
    stored = _in_memory(words)
    assert len(word_index(pa.array(words, pa.large_string()))) == 256
    assert [stored.find(word) for word in words] == list(range(128))
    assert [stored.find(absent), stored.find(other)] == [-1, -1]


@pytest.mark.parametrize("hashes", [lambda _: 7, lambda word: len(word) % 3])
def test_words_of_one_hash_are_told_apart(
    monkeypatch: pytest.MonkeyPatch, hashes: Callable[[bytes], int]
) -> None:
    for module in ("vocabulary.stored_words", "artifact.word_files"):
        monkeypatch.setattr(f"dxbeam.space.{module}.crc32", hashes)
    words = [f"w{i}" for i in range(200)]
    stored = _in_memory(words)
    assert [stored.find(word) for word in words] == list(range(200))
    assert [stored.find(word) for word in ("w200", "x1", "")] == [-1] * 3
    with pytest.raises(ValueError, match="repeated"):
        _in_memory([*words, "w17"])


def test_repeated_words_are_refused() -> None:
    with pytest.raises(ValueError, match="repeated"):
        _in_memory(["a", "b", "c", "b"])


@pytest.mark.parametrize("place", [3, -4, 1000])
def test_there_is_no_word_beyond_the_last(place: int) -> None:
    with pytest.raises(IndexError, match="there are 3 words"):
        _in_memory(["a", "b", "c"])[place]


def test_a_file_says_what_it_is_to_other_programs(tmp_path: Path) -> None:
    write_words([pa.array(["pear", "plum"]), pa.array(["apple"])], tmp_path)
    table = pa.ipc.open_file(tmp_path / WORDS).read_all()
    assert table.to_pydict() == {"word": ["pear", "plum", "apple"]}


@pytest.mark.parametrize("lowercase", [False, True])
def test_a_vocabulary_gives_the_same_ids_whether_its_words_are_stored_or_not(
    lowercase: bool,
) -> None:
    """Also of more words than it remembers, and whether it met them before or not."""
    words = ["apple", "ärger", "İ", "i̇", "straße", "Pear", "w1", "w2"]
    others = [f"other{number}" for number in range(REMEMBERED)]
    vectors = np.zeros((len(words) + len(others), 1), np.float32)
    stored = Vocabulary(_in_memory([*words, *others]), vectors, lowercase)
    plain = Vocabulary([*words, *others], vectors, lowercase)
    looked_up = [*words, *map(str.upper, words), "", "plum", "\ud800", "w1", "W2"]
    for each in (looked_up, looked_up, others, looked_up):
        assert stored.ids_of(each).tolist() == plain.ids_of(each).tolist()
    ids = np.array([7, 0, 7, 3])
    assert stored.words_of(ids) == plain.words_of(ids) == ["w2", "apple", "w2", "i̇"]
    assert stored.id_of("plum") == UNKNOWN


def test_words_of_a_text_that_are_not_the_vocabularys_are_not_kept() -> None:
    """A process that looks up private words holds none of them longer than it must."""
    vocabulary = Vocabulary(_in_memory(["apple", "pear"]), np.eye(2, dtype=np.float32))
    vocabulary.ids_of(["pear", "secret", "private"])
    assert "secret" not in repr(vars(vocabulary))
    assert vocabulary._ids == {"pear": 1}
