"""Names, numbers and spans that stay as they were."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dxbeam.analysis.evaluate.language_scores import sentence_begins
from dxbeam.analysis.exposure import survival
from dxbeam.analysis.exposure.survival import Counted, Span, spans_of, survived
from dxbeam.errors import CorpusError
from dxbeam.text.public.function_words import ENGLISH
from dxbeam.text.tokenization import split

TEXT = "Then I met Ms Smith of Leeds. She had 2 flats, A4 paper and IBM shares."


def test_names_have_a_capital_inside_a_sentence() -> None:
    gaps, words = split(TEXT)
    classes = survival.classes_of_words(words, sentence_begins(gaps), frozenset(ENGLISH))
    of = {name: [w for w, inside in zip(words, mask) if inside] for name, mask in classes.items()}  # noqa: B905
    assert of["names"] == ["Ms", "Smith", "Leeds", "IBM"]
    assert of["numbers"] == ["2", "A4"]
    assert of["all words"] == words


def test_what_stays_is_counted_by_class() -> None:
    unchanged = np.array([True, False, True])
    classes = {"all": np.ones(3, bool), "few": np.array([False, True, True]), "none": ~unchanged}
    classes["none"][:] = False
    assert dict(survival.counted_words(unchanged, classes)) == {
        "all unchanged": Counted(2, 3),
        "few unchanged": Counted(1, 2),
    }


def test_spans_are_counted_by_word_and_as_a_whole() -> None:
    gaps, words = split("Ann Lee met Bob, ...")
    unchanged = np.array([True, False, True, True])
    spans = [Span(0, 7, "person"), Span(12, 15, "person"), Span(5, 9, "cut"), Span(15, 20, "gap")]
    assert dict(survival.counted_spans(unchanged, spans, gaps, words)) == {
        "person: words unchanged": Counted(2, 3),
        "person: whole spans unchanged": Counted(1, 2),
        "cut: words unchanged": Counted(1, 2),
        "cut: whole spans unchanged": Counted(0, 1),
    }


@pytest.mark.parametrize(
    ("value", "spans"),
    [
        (None, []),
        ("", []),
        ("[]", []),
        ("[[0, 4]]", [Span(0, 4, "span")]),
        ('[[0, 4, "name"], [5, 9]]', [Span(0, 4, "name"), Span(5, 9, "span")]),
    ],
)
def test_spans_are_read(value: Any, spans: list[Span]) -> None:
    assert spans_of(value, "spans", 9) == spans


@pytest.mark.parametrize(
    "value",
    [
        "qzx",
        7,
        "7",
        "[7]",
        '[["qzx", 4]]',
        "[[0, 10]]",
        "[[4, 4]]",
        "[[-1, 2]]",
        "[[0, 4, 7]]",
        '{"qzx": 1}',
        "[" * 200_000,
    ],
)
def test_other_values_are_refused_unseen(value: Any) -> None:
    with pytest.raises(CorpusError, match="`entities` spans: ") as refused:
        spans_of(value, "spans", 9)
    assert "qzx" not in str(refused.value)


def test_uniform_words_stay_as_often_as_chance_says() -> None:
    """The interval is at 95 %; this seed is one of those for which it holds."""
    words, documents = 50, 200
    random = np.random.default_rng(0)
    total = survival.no_text()
    for _ in range(documents):
        unchanged = random.integers(0, words, 30) == random.integers(0, words, 30)
        total = survival.plus(total, Counted(int(unchanged.sum()), 30).sums())
    row = survived("all words unchanged", total, words)
    assert row.n == documents * 30
    assert row.chance == 1 / words
    assert row.low <= 1 / words <= row.high


def test_chance_is_what_whoever_sees_no_word_guesses() -> None:
    stayed, guessed = Counted(6, 10).sums(), Counted(2, 10).sums()
    assert survived("all words unchanged", stayed, 50, guessed).chance == 0.2
    assert survived("all words unchanged", stayed, None, guessed).chance == 0.2
    assert survived("name: whole spans unchanged", stayed, 50).chance is None
    assert survived("name: whole spans unchanged", stayed, 50, guessed).chance == 0.2
