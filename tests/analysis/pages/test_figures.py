"""Figures are SVG that is self-contained, fits any ground, and can be read aloud."""

from __future__ import annotations

import re
from collections.abc import Callable
from xml.etree import ElementTree

import numpy as np
import pytest

from dxbeam.analysis.pages import figures, noise_figures
from dxbeam.analysis.theory import noise_shape, one_dimension
from dxbeam.analysis.theory.geometry import Nearer

ROWS = [
    {"epsilon": float(epsilon)}
    | {
        f"{name}{end}": share + shift
        for name, share in zip(("original", "close", "distant"), (0.2, 0.3, 0.5), strict=True)
        for end, shift in (("", 0.0), ("_low", -0.1), ("_high", 0.1))
    }
    for epsilon in (1, 2, 3)
]
POINTS = [
    Nearer(pair, float(epsilon), 0.8, 0.7)
    for pair in ("z(w, x1)", "z(x1, x2)")
    for epsilon in (1, 2, 3)
]
DRAWN = one_dimension.drawn_shares(one_dimension.EPSILONS, 1_000, seed=0)
TWO = noise_shape.draw(2, 1.0, 10_000, seed=0)
MANY = noise_shape.draw(300, 10.0, 1_000, seed=0)

FIGURES: dict[str, tuple[Callable[[], str], list[str]]] = {
    "shares": (lambda: figures.shares_figure(ROWS), ["original", "close", "distant", "epsilon"]),
    "nearer": (lambda: figures.nearer_figure(POINTS), ["z(w, x1)", "z(x1, x2)", "epsilon"]),
    "one dimension": (
        lambda: noise_figures.one_dimension_figure(DRAWN),
        ["original", "close", "distant", "mostly close", "epsilon", "share of draws"],
    ),
    "lengths": (
        lambda: noise_figures.lengths_figure(MANY),
        ["drawn noise", "promised density", "length of the noise"],
    ),
    "directions": (lambda: noise_figures.directions_figure(TWO), ["first coordinate"]),
    "cloud": (lambda: noise_figures.cloud_figure(TWO), ["first coordinate", "second coordinate"]),
}

WORDS: dict[str, tuple[str, list[str]]] = {
    "one dimension": (
        noise_figures.one_dimension_in_words(DRAWN),
        ["epsilon = 0.0069", "to 1.4", "of their 123 intervals"],
    ),
    "lengths": (
        noise_figures.lengths_in_words(MANY),
        ["300 dimensions", "epsilon = 10", "mean of 30"],
    ),
    "directions": (noise_figures.directions_in_words(TWO), ["10,000 directions"]),
    "cloud": (noise_figures.cloud_in_words(TWO), ["10,000 dots", "epsilon = 1", "within 1.7"]),
}


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_valid_and_needs_nothing_from_elsewhere(name: str) -> None:
    text = FIGURES[name][0]()
    root = ElementTree.fromstring(text)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    for element in root.iter():
        for attribute, value in element.attrib.items():
            if attribute.endswith("href"):
                assert value.startswith(("#", "data:image/png;base64,")), value[:80]
            assert not re.search(r"url\((?!#)", value)
    assert not re.search(r"@import|<script|<foreignObject", text)


@pytest.mark.parametrize("name", FIGURES)
def test_series_and_axes_are_labelled_in_text(name: str) -> None:
    make, labels = FIGURES[name]
    found = {text.strip() for text in ElementTree.fromstring(make()).itertext()}
    assert set(labels) <= found


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_has_the_ground_and_ink_of_its_page(name: str) -> None:
    text = FIGURES[name][0]()
    assert not re.search(r"fill: (#fff|white)", text)
    assert not re.search(r"(?:fill|stroke): (#000|black)", text)
    colours = set(re.findall(r"#[0-9a-f]{6}\b", re.sub(r'href="[^"]*"', "", text)))
    assert colours <= {colour for colour, _ in figures.SERIES.values()}
    assert "currentColor" in text


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_small_and_comes_out_the_same_again(name: str) -> None:
    make, _ = FIGURES[name]
    text = make()
    assert len(text) < 150_000
    assert make() == text


def test_shares_can_be_told_apart_without_colour() -> None:
    text = noise_figures.one_dimension_figure(DRAWN)
    dashes = set(re.findall(r"stroke-dasharray: ([\d. ,]+)", text))
    assert len(dashes) == 2  # and the third is solid


@pytest.mark.parametrize("name", WORDS)
def test_a_sentence_says_what_is_seen_in_numbers(name: str) -> None:
    sentence, expected = WORDS[name]
    for part in expected:
        assert part in sentence


def test_the_sentences_follow_the_samples() -> None:
    beside = TWO._replace(vectors=np.abs(TWO.vectors), p_value=1e-9)
    assert "hold 0.0% to 100.0%" in noise_figures.directions_in_words(beside)
    assert "0.0% would lie as far" in noise_figures.lengths_in_words(beside)


def _releases(turns: dict[str, float | None], stays: set[str]) -> list[dict[str, object]]:
    return [
        {"word": word, "epsilon": epsilon, "repeats": 10, "n_w": 10.0 * (word in stays), "s_w": 1.0}
        | {"transition_epsilon": turn}
        for word, turn in turns.items()
        for epsilon in (1.0, 9.0)
    ]


def test_words_that_turn_outside_the_epsilons_count() -> None:
    """Of ten words four turn beyond the last epsilon: they are above the median, not left out."""
    turns: dict[str, float | None] = {f"w{turn}": float(turn) for turn in range(2, 8)}
    said = figures.words_in_words(_releases(turns | dict.fromkeys("abcd"), set()))
    assert "from epsilon = 6 on (median)" in said
    assert "below 2, for a tenth above 9" in said
    said = figures.words_in_words(_releases(turns | dict.fromkeys("abcd"), set("abcd")))
    assert "from epsilon = 2 on (median)" in said
    assert "below 1, for a tenth above 6" in said
    assert "most words turn outside" in figures.words_in_words(
        _releases({"a": 2.0, "b": None, "c": None}, set())
    )
