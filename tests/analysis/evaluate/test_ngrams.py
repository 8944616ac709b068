"""N-grams in common, against counting them one by one; and counts that are broken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest

from dxbeam.analysis.evaluate.ngrams import NGrams


def _counted(one: Sequence[object], other: Sequence[object], n: int) -> int:
    of_one, of_other = (
        Counter(tuple(each[i : i + n]) for i in range(len(each) - n + 1)) for each in (one, other)
    )
    return (of_one & of_other).total()


def test_they_are_those_that_counting_finds() -> None:
    generator = np.random.default_rng(0)
    for _ in range(100):
        one, other = (
            generator.integers(0, 4, generator.integers(0, 30)).tolist() for _ in range(2)
        )
        other = [7 if element == 3 else element for element in other]  # which the one lacks
        expected = [_counted(one, other, n) for n in range(1, 7)]
        assert NGrams(one, 6).in_common(other) == expected


def test_a_sequence_has_all_of_its_own_in_common_with_itself() -> None:
    text = "to be or not to be"
    assert NGrams(text, 3).in_common(text) == [18, 17, 16]


@pytest.mark.parametrize("other", ["", "xyz"])
def test_nothing_in_common(other: str) -> None:
    assert NGrams("abc", 2).in_common(other) == [0, 0]
    assert NGrams("", 2).in_common(other) == [0, 0]


def test_elements_are_never_taken_for_one_another_however_many_there_are() -> None:
    """Characters of every script in one text: 6 of them would not fit into 64 bits."""
    text = "".join(map(chr, range(0x4E00, 0x4E00 + 5000)))
    assert NGrams(text, 6).in_common(text[::-1]) == [5000, 0, 0, 0, 0, 0]
    assert NGrams(text, 6).in_common(text) == [5000 - n for n in range(6)]
