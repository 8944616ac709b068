"""Spans of a text that a placeholder replaces: which of several that overlap, and what is left."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

LONGEST_WINDOW = 20_000
"""Characters that are searched at once, so that no pattern takes long."""

_NEAR_END = 1_000
_LETTERS_ONLY = re.compile(r"(?<!\S)[^\W\d]+[.,;:!?]? (?=[^\W\d]+[ .,;:!?])")
_NO_LETTER = re.compile("[^A-Z0-9]")


class Span(NamedTuple):
    """A part of a text that something recognised.

    Attributes:
      start: where it begins.
      end: where it ends.
      kind: what it is, such as "EMAIL"; the placeholder is this in angle brackets.
      score: how sure the recogniser is, from 0 to 1.
    """

    start: int
    end: int
    kind: str
    score: float


def kind_of(label: str) -> str:
    """A label as one word in capitals, as it is in a placeholder."""
    return _NO_LETTER.sub("", label.upper()) or "OTHER"


def placeholder(kind: str) -> str:
    """What replaces a span of this kind."""
    return f"<{kind}>"


def windows(text: str) -> Iterator[tuple[int, str]]:
    """A text in pieces that are searched by themselves, and where each begins.

    A piece ends behind the last line break that it can hold; where there is none, between the last
    two words of letters only, so not within a number; or else behind the last space, or anywhere.
    """
    start = 0
    while len(text) - start > LONGEST_WINDOW:
        piece = text[start : start + LONGEST_WINDOW]
        cut = piece.rfind("\n") + 1 or _between_words(piece) or piece.rfind(" ") + 1
        yield start, piece[: cut or LONGEST_WINDOW]
        start += cut or LONGEST_WINDOW
    yield start, text[start:]


def _between_words(piece: str) -> int:
    """Where a cut parts two words of letters only, near the end; 0 for nowhere."""
    near_end = max(0, len(piece) - _NEAR_END)
    return max((match.end() for match in _LETTERS_ONLY.finditer(piece, near_end)), default=0)


def without_overlaps(spans: Iterable[Span], length: int) -> list[Span]:
    """The spans of a piece that are replaced, in order; the surest, then the longest wins."""
    chosen, taken = [], bytearray(length)
    for span in sorted(spans, key=lambda span: (-span.score, span.start - span.end, *span)):
        if span.end > span.start and not any(taken[span.start : span.end]):
            taken[span.start : span.end] = bytes([1]) * (span.end - span.start)
            chosen.append(span)
    return sorted(chosen)


def divided(text: str, spans: Iterable[Span]) -> Iterator[tuple[str, str]]:
    """What is before each span, and its placeholder; at last what is behind all, and ""."""
    start = 0
    for span in spans:
        yield text[start : span.start], placeholder(span.kind)
        start = span.end
    yield text[start:], ""
