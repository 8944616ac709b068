"""What the audit makes for each of its vocabularies, and mistakes with it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dxbeam.audit.fitted import Fitted, NumbersOfFile, OptimalBase
from dxbeam.audit.subject import SMALL, Subject
from dxbeam.mechanisms.public.base_measure import ListedBase
from dxbeam.mechanisms.santext import SanText
from dxbeam.mechanisms.tem import TEM
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.text.configuration import Configuration
from dxbeam.text.public.base_file import read_base
from tests.support import tiny
from tests.support.audits import failures

BASES = {
    "optimal": OptimalBase(0.5),
    "file": NumbersOfFile(ListedBase({"a": 5.0, "b": 0.1, "c": 1e-6})),
}
PARTS = {"line", "plane", "shared_vectors", "promises", "texts", "levels"}


@pytest.mark.parametrize("name", sorted(BASES))
@pytest.mark.parametrize("plain", [SanText(10.0), TEM(10.0, 0.2)], ids=["santext", "tem"])
def test_base_measures_that_are_made_pass(plain: Any, name: str) -> None:
    subject = Subject(Configuration(plain), SMALL, fitted=Fitted(base=BASES[name]))
    assert failures(subject, PARTS) == []


def test_with_the_constant_of_each_vocabulary_they_pass() -> None:
    fitted = Fitted(base=OptimalBase(), exact=True)
    assert failures(Subject(Configuration(SanText(10.0)), SMALL, fitted=fitted), PARTS) == []


@dataclass(frozen=True)
class _BaseForgotten(SanText):
    """Draws words as if all counted the same."""

    def release(self, ids: Any, random: Any, search: NeighborSearch) -> Any:
        return SanText(self.epsilon).release(ids, random, search)


@dataclass(frozen=True)
class _BaseTwice(SanText):
    """Counts the base measure twice."""

    def release(self, ids: Any, random: Any, search: NeighborSearch) -> Any:
        assert isinstance(self.base, ListedBase)
        twice = ListedBase(self.base.listed, 2 * self.base.exponent)
        return SanText(self.epsilon, base=twice).release(ids, random, search)


@dataclass(frozen=True)
class _BaseOfTheText(SanText):
    """Takes how frequent words are from the text: each word's share depends on what it hides."""

    def release(self, ids: Any, random: Any, search: NeighborSearch) -> Any:
        counts = np.bincount(ids[ids >= 0], minlength=len(search.vocabulary)) + 0.01
        base = ListedBase(dict(zip(search.vocabulary.words, counts.tolist(), strict=True)))
        return SanText(self.epsilon, base=base).release(ids, random, search)


@pytest.mark.parametrize("broken", [_BaseForgotten, _BaseTwice, _BaseOfTheText])
@pytest.mark.parametrize("name", sorted(BASES))
def test_mistakes_with_a_base_measure_are_found(broken: type[SanText], name: str) -> None:
    subject = Subject(Configuration(broken(10.0)), SMALL, fitted=Fitted(base=BASES[name]))
    assert failures(subject, {"line", "shared_vectors"})


def test_numbers_of_a_file_are_spread_over_words(tmp_path: Path) -> None:
    (tmp_path / "q.tsv").write_text("a\t1\nb\t4\nc\t2\nd\t3\n")
    base = read_base(str(tmp_path / "q.tsv"), 0.5)
    assert isinstance(base, ListedBase)
    made = NumbersOfFile(base)(None, tiny.vocabulary(7))
    assert list(made.listed.values()) == [4.0, 4.0, 3.0, 3.0, 2.0, 2.0, 1.0]
    assert (made.exponent, made.kind, made.file) == (0.5, base.kind, base.file)
    assert NumbersOfFile(base).as_dict()["kind"] == "file"
