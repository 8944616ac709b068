"""Which of several spans are replaced, and what of a text is left."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dxbeam.text.detection import spans
from dxbeam.text.detection.spans import Span, divided, kind_of, windows, without_overlaps


def test_the_surest_then_the_longest_of_those_that_overlap_is_replaced() -> None:
    url, email = Span(5, 16, "URL", 0.5), Span(0, 16, "EMAIL", 1.0)
    short, long = Span(20, 25, "PHONE", 0.4), Span(18, 26, "IP", 0.4)
    assert without_overlaps([short, url, long, email], 30) == [email, long]
    assert without_overlaps([Span(3, 3, "URL", 1.0)], 5) == []


@st.composite
def _texts_and_spans(draw: st.DrawFn) -> tuple[str, list[Span]]:
    text = draw(st.text("ab \n<", max_size=60))
    places = st.integers(0, len(text))
    drawn = draw(st.lists(st.tuples(places, places, st.floats(0, 1)), max_size=9))
    return text, [Span(min(a, b), max(a, b), "X", score) for a, b, score in drawn]


@given(_texts_and_spans())
def test_parts_and_spans_are_the_text(case: tuple[str, list[Span]]) -> None:
    text, several = case
    chosen = without_overlaps(several, len(text))
    parts = list(divided(text, chosen))
    assert [placeholder for _, placeholder in parts] == [*["<X>"] * len(chosen), ""]
    taken = [text[span.start : span.end] for span in chosen]
    assert "".join(a + b for (a, _), b in zip(parts, [*taken, ""], strict=True)) == text


@given(st.text("ab \n", max_size=200))
def test_windows_are_the_text_and_end_between_words_where_they_can(text: str) -> None:
    before, spans.LONGEST_WINDOW = spans.LONGEST_WINDOW, 16
    try:
        pieces = list(windows(text))
    finally:
        spans.LONGEST_WINDOW = before
    assert "".join(piece for _, piece in pieces) == text
    for start, piece in pieces:
        assert text[start : start + len(piece)] == piece
        assert len(piece) <= 16
    for _, piece in pieces[:-1]:
        assert piece[-1] in " \n" or not set(piece.strip()) & {" ", "\n"}


def test_a_kind_is_one_word_in_capitals() -> None:
    assert [kind_of(label) for label in ("PERSON", "Work_of_Art", "é")] == [
        "PERSON", "WORKOFART", "OTHER",
    ]  # fmt: skip
