"""Words found again in a release, place by place."""

from __future__ import annotations

import pytest

from dxbeam.text.tokenization import split, words
from dxbeam.transforms.reading.paired_release import words_in_place
from tests.support import before_and_after


def _gaps(text: str) -> list[str]:
    return split(text)[0]


@pytest.mark.parametrize(
    ("original", "released", "found"),
    [
        ("One two, three.", "a b, c.", ["a", "b", "c"]),
        ("(One) two", "(a) b", ["a", "b"]),
        ("", "", []),
        (" ... ", " ... ", []),
        ("one", "e-mail", ["e-mail"]),
        ("one two!", "e-mail <unk>!", ["e-mail", "<unk>"]),
        ("one, two", "o'clock, p.m.", ["o'clock", "p.m."]),
        ("one two", "a", None),
        ("one two", "a, b", ["a,", "b"]),
        ("one. two", "a! b", None),
        ("one", "", None),
        ("...", "..", None),
        ("one two", "a ", None),
    ],
)
def test_a_word_is_what_stands_between_two_gaps(
    original: str, released: str, found: list[str] | None
) -> None:
    assert words_in_place(_gaps(original), released) == found


def test_where_no_word_holds_punctuation_they_are_the_words() -> None:
    for original, released in before_and_after.texts(100):
        assert words_in_place(_gaps(original), released) == words(released)
