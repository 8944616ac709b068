"""Counts that can be added in any order, as Beam does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dxbeam.text.tally import Tally, total

TALLIES = st.builds(Tally, *[st.integers(0, 10**12)] * len(Tally._fields))


@given(TALLIES, TALLIES, TALLIES)
def test_order_and_grouping_have_no_influence(a: Tally, b: Tally, c: Tally) -> None:
    assert a.merge(b) == b.merge(a)
    assert a.merge(b).merge(c) == a.merge(b.merge(c)) == total([c, b, a])
    assert a.merge(Tally()) == a
    assert total([]) == Tally()


@given(TALLIES, TALLIES)
def test_each_count_is_added_to_its_own_kind(a: Tally, b: Tally) -> None:
    merged = a.merge(b)._asdict()
    assert merged == {name: a._asdict()[name] + b._asdict()[name] for name in Tally._fields}


def test_shares_are_of_all_words_and_of_those_in_the_vocabulary() -> None:
    tally = Tally(
        documents=3, tokens=10, original=4, close=3, distant=2, unknown=1, unchanged=5
    ).as_dict()
    shares = {name: value for name, value in tally.items() if name.startswith("share_")}
    known = {name: value for name, value in shares.items() if name.endswith("_of_known")}
    assert {name: shares[name] for name in shares if name not in known} == {
        "share_original": 0.4, "share_close": 0.3, "share_distant": 0.2, "share_unknown": 0.1
    }  # fmt: skip
    assert known == {
        "share_original_of_known": pytest.approx(4 / 9),
        "share_close_of_known": pytest.approx(3 / 9),
        "share_distant_of_known": pytest.approx(2 / 9),
    }
    assert sum(known.values()) == pytest.approx(1)
    assert tally["n_w"] == 0.5


def test_without_words_there_are_no_shares() -> None:
    shares = Tally(documents=2).as_dict()
    assert [shares[name] for name in shares if name.startswith(("share_", "n_w"))] == [None] * 8
