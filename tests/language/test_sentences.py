"""Where sentences end."""

from __future__ import annotations

import pytest

from dxbeam.language.sentences import sentence_ends


@pytest.mark.parametrize("gap", [". ", "! ", "? ", "… ", '." ', " . ", ".\n", "\n", ") \n(", ".) "])
def test_a_sentence_ends(gap: str) -> None:
    assert sentence_ends(gap)


@pytest.mark.parametrize("gap", ["", " ", ", ", ".", "-", "'", ": ", "; ", ' "', " ."])
def test_a_sentence_goes_on(gap: str) -> None:
    assert not sentence_ends(gap)
