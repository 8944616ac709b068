"""What is a word and what passes through: a closed list that never changes unnoticed."""

from __future__ import annotations

import hashlib
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dxbeam.text.tokenization import PUNCTUATION, RULE, WHITE_SPACE, parts, split, words

PASSED = WHITE_SPACE + PUNCTUATION


def test_the_lists_are_those_that_the_rule_names() -> None:
    """Whoever changes a list must give the rule a new name: it is part of the configuration."""
    digest = hashlib.sha256(f"{WHITE_SPACE}|{PUNCTUATION}".encode()).hexdigest()
    assert (RULE, digest[:16]) == ("dxbeam-1", "da65425f0d2d343e")


def test_nothing_that_could_be_a_word_passes_through() -> None:
    assert len(set(PASSED)) == len(PASSED)
    assert all(character.isspace() for character in WHITE_SPACE)
    # Letters, marks, numbers and unassigned characters could carry private text.
    assert {unicodedata.category(character)[0] for character in PUNCTUATION} <= {"P", "S"}
    assert not any(character.isalnum() for character in PASSED)


@pytest.mark.parametrize("character", PASSED)
def test_what_passes_through_ends_a_word(character: str) -> None:
    assert split(f"a{character}b") == (["", character, ""], ["a", "b"])
    assert words(character * 3) == []


@pytest.mark.parametrize(
    "character", "\x00\x07\x1c\x7f\u1680\u200b\ufeff€©´·٪、。\U0001f600\U0010fffd"
)
def test_every_other_character_is_part_of_a_word(character: str) -> None:
    """Invisible characters too: passed through, they could carry a message."""
    assert words(f"a{character}b {character}") == [f"a{character}b", character]


@given(st.text(), st.sampled_from(PASSED), st.text())
def test_texts_can_be_cut_at_what_passes_through(left: str, cut: str, right: str) -> None:
    assert words(left + cut + right) == words(left) + words(right)


TEXTS = st.lists(st.sampled_from("ab \n,😀")).map("".join)


@given(TEXTS, st.integers(1, 9))
def test_parts_of_a_long_text_are_those_of_the_whole(text: str, size: int) -> None:
    *most, last = parts(text, size)
    assert all(len(gaps) == len(words) for gaps, words in most)
    assert len(last[0]) == len(last[1]) + 1
    gaps, words = zip(*most, last, strict=True)
    assert (sum(gaps, []), sum(words, [])) == split(text)  # noqa: RUF017 (a few short lists)


def test_a_long_text_is_split_a_part_at_a_time() -> None:
    found = list(parts("word, " * 100_000))
    assert len(found) > 5
    assert max(len(gaps) for gaps, _ in found) < 20_000
