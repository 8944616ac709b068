"""A guarantee as a sentence and as JSON."""

from __future__ import annotations

import dataclasses
import json

import pytest

from dxbeam.guarantees import Guarantee
from dxbeam.mechanisms.laplace import Laplace

PURE = Laplace(10.0).guarantee()


def test_the_sentence_says_how_much_for_what_in_which_distance() -> None:
    assert PURE.sentence == (
        "Whoever sees one released word can tell any two original words x and x' apart by a "
        "likelihood ratio of at most exp(10 * d(x, x')), where d is the Euclidean distance "
        "between the words' vectors in the vocabulary."
    )
    assert "up to a probability of 1e-06" in dataclasses.replace(PURE, delta=1e-6).sentence


def test_nothing_is_promised_where_nothing_is_guaranteed() -> None:
    nothing = dataclasses.replace(PURE, epsilon=float("inf"))
    assert nothing.sentence == "Nothing is guaranteed for a word."
    assert json.loads(json.dumps(nothing.as_dict(), allow_nan=False))["epsilon"] is None


def test_caveats_are_added_and_none_is_lost() -> None:
    more = PURE.with_caveats("One.").with_caveats("Two.", "Three.")
    assert more.caveats == (*PURE.caveats, "One.", "Two.", "Three.")
    assert more.as_dict()["caveats"] == list(more.caveats)
    assert dataclasses.replace(more, caveats=PURE.caveats) == PURE


def test_all_of_it_is_written() -> None:
    written = json.loads(json.dumps(PURE.as_dict(), allow_nan=False))
    assert set(written) == {field.name for field in dataclasses.fields(Guarantee)} | {"sentence"}
    assert written["epsilon"] == 10.0


def test_a_guarantee_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        PURE.epsilon = 1.0  # type: ignore[misc]
