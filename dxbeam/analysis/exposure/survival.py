"""What stays as it was: names, numbers, rare words and spans that the corpus names.

The attacker believes the release: it takes each released word for the original one. A word counts
as a name if it begins with a capital inside a sentence and is no function word ("I"), as a number
if it holds a digit. Sums over documents add up, and intervals are over documents.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dxbeam.analysis.exposure.attack import Attack
from dxbeam.analysis.theory.intervals import TextSums, share_of_words_interval
from dxbeam.errors import CorpusError

Mask = npt.NDArray[np.bool_]

EVERY, NAMES, NUMBERS, RARE = "all words", "names", "numbers", "rare words"

SPAN = "span"
"""The class of a span that has none."""

_NO_TEXT = TextSums(0, 0.0, 0.0, 0.0, 0.0, 0.0)


class Span(NamedTuple):
    """A part of a text, in characters, and its class."""

    start: int
    end: int
    label: str


class Counted(NamedTuple):
    """Of a class in one document: how many stayed as they were, of how many."""

    unchanged: int
    of: int

    def sums(self) -> TextSums:
        """As sums over one text."""
        stayed, total = float(self.unchanged), float(self.of)
        return TextSums(1, stayed, total, stayed**2, stayed * total, total**2)


def classes_of_words(
    words: Sequence[str], begins: Mask, function_words: frozenset[str]
) -> dict[str, Mask]:
    """Which words are of which class: T words and where sentences begin -> bool [T] for each."""
    capital = np.array([word[:1].isupper() for word in words], bool)
    common = np.array([word.lower() in function_words for word in words], bool)
    digits = np.array([any(map(str.isdigit, word)) for word in words], bool)
    return {
        EVERY: np.ones(len(words), bool),
        NAMES: capital & ~begins & ~common & ~digits,
        NUMBERS: digits,
    }


def counted_words(unchanged: Mask, classes: Mapping[str, Mask]) -> Iterator[tuple[str, Counted]]:
    """Of each class that the document has, how many words stayed."""
    for name, inside in classes.items():
        if inside.any():
            yield f"{name} unchanged", Counted(int(unchanged[inside].sum()), int(inside.sum()))


def counted_spans(
    unchanged: Mask, spans: Sequence[Span], gaps: Sequence[str], words: Sequence[str]
) -> Iterator[tuple[str, Counted]]:
    """Of each class of spans, how many of their words stayed, and how many spans as a whole.

    Args:
      unchanged: bool [T].
      spans: of the original; one without a word counts for nothing.
      gaps: what is before, between and behind its words, T + 1.
      words: its words, T.
    """
    sums: dict[str, list[int]] = {}
    for span in spans:
        inside = unchanged[within(span, gaps, words)]
        if len(inside):
            for name, stayed, of in (
                (f"{span.label}: words unchanged", int(inside.sum()), len(inside)),
                (f"{span.label}: whole spans unchanged", int(inside.all()), 1),
            ):
                sums[name] = [a + b for a, b in zip(sums.get(name, [0, 0]), (stayed, of))]  # noqa: B905
    for name, (stayed, of) in sums.items():
        yield name, Counted(stayed, of)


def within(span: Span, gaps: Sequence[str], words: Sequence[str]) -> Mask:
    """Which words a span touches: bool [T]; gaps and words as ``counted_spans`` has them."""
    lengths = np.array([len(word) for word in words], np.int64)
    starts = np.cumsum([len(gap) for gap in gaps[:-1]], dtype=np.int64)
    starts += np.cumsum(lengths) - lengths
    return np.asarray((starts < span.end) & (starts + lengths > span.start))


def spans_of(value: Any, field: str, length: int) -> list[Span]:
    """The spans that a field of a document holds.

    Args:
      value: JSON, a list of [start, end] or [start, end, class]; "" or None for no spans.
      field: its name.
      length: of the text, in characters.

    Raises:
      CorpusError: it is something else; the message does not say what.
    """
    try:
        entries = [] if value in (None, "") else json.loads(value)
        spans = [_span(*entry) for entry in entries]
    except (TypeError, ValueError, RecursionError):
        spans = None
    if spans is None or not all(0 <= span.start < span.end <= length for span in spans):
        raise CorpusError(
            f"`entities` {field}: a document's value is not the JSON of a list of [start, end] or "
            "[start, end, class] with places in its text, counted in characters; correct the field"
        )
    return spans


def _span(start: int, end: int, label: str = SPAN) -> Span:
    if not (type(start) is int and type(end) is int and isinstance(label, str)):
        raise TypeError
    return Span(start, end, label)


def plus(one: TextSums, other: TextSums) -> TextSums:
    """The sums over the texts of both."""
    first, second = TextSums(*one), TextSums(*other)
    return TextSums(
        first.texts + second.texts,
        *(a + b for a, b in zip(first[1:], second[1:], strict=True)),
    )


def no_text() -> TextSums:
    """The sums over no text."""
    return _NO_TEXT


def survived(
    measure: str, sums: TextSums, vocabulary: int | None, blind: TextSums = _NO_TEXT
) -> Attack:
    """The row of a class.

    Args:
      measure: what was counted.
      sums: over documents.
      vocabulary: how many words a mechanism chooses from, which makes the chance of a uniform
        guess; None if not known.
      blind: the same sums for whoever guesses the commonest word of public text everywhere, which
        lengths and gaps are enough for; over no text where that word is not known.
    """
    chance = 1 / vocabulary if vocabulary and "spans" not in measure.partition(": ")[2] else None
    if blind.words:
        chance = blind.counted / blind.words
    share = share_of_words_interval(sums)
    return Attack(
        "believes the release", "released words", "nothing", measure, *share, chance,
        int(sums.words),
    )  # fmt: skip
