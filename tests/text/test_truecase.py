"""Capitals from public text only."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dxbeam
from dxbeam.text.tokenization import split
from dxbeam.text.truecase import truecased

FORMS = {"paris": "Paris", "i": "I", "nasa": "NASA", "mcdonald": "McDonald"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("she and i saw paris. it rained", "She and I saw Paris. It rained"),
        ("nasa! mcdonald's 3 men", "NASA! McDonald's 3 men"),
        ('he said: "no" (in paris)\nthen 3.14 x', 'He said: "no" (in Paris)\nThen 3.14 x'),
        ("<unk> saw <unk>. <unk> unk", "<unk> saw <unk>. <unk> unk"),
        ("kept PARIS and pARIS stay", "Kept PARIS and pARIS stay"),
        ("", ""),
        (" ... ", " ... "),
        ("ßa", "SSa"),
    ],
)
def test_words_are_written_as_in_public_text(text: str, expected: str) -> None:
    assert truecased(text, FORMS) == expected


@given(st.text())
def test_only_capitals_change(text: str) -> None:
    lower = text.lower()
    assert split(truecased(lower, FORMS))[0] == split(lower)[0]
    assert truecased(truecased(lower, FORMS), FORMS) == truecased(lower, FORMS)


def test_the_bundled_model_knows_names() -> None:
    model = dxbeam.open_language_model("demo", dxbeam.open_vocabulary("demo"))
    assert model.casings is not None
    text = truecased("on monday i flew from chicago to paris with john.", model.casings.forms)
    assert text == "On Monday I flew from Chicago to Paris with John."
