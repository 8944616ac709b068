"""No measured number is stated on two pages: one page has it, others link to it.

What counts as a measured number, in README.md and docs/, code left out:

* four significant digits or more, with a comma or a point: 13,289 or 0.9486, not 10,000 or 2019;
* three significant digits with a unit: 28.7 %, 242 µs.

A number within the text of a link is a quotation, and free. So is what ``EVERYWHERE`` lists.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

EVERYWHERE = {
    "33,849": "words of G33",
    "33,860": "rows of the file of G33",
    "1,033,893": "words of the Brown corpus",
    "1,336,859": "words of movie_reviews",
    "206,306": "words of MR",
    "2,196,017": "words of GloVe 840B",
    "10,662": "sentences of MR",
    "65,536": "2^16",
    "2,048": "2^11, the words of a tile",
}
"""Sizes that identify what was measured, by what they are the size of."""

COINCIDENCES = {
    "10.43": "what ε = 10 of mahalanobis is; the loss of a model that knows nothing",
    "28.7 %": "words that an attacker gets; words that come out close",
    "4,141": "an error of inner products; queries a second",
    "90.5 %": "words that come out close; words without a neighbour within γ",
}
"""Numbers that are equal by chance, by what they are."""

_UNIT = r"(?:%|µs|ms|s|seconds|minutes|hours|MB|MiB|GB|GiB|KB|nats|points)\b|%"
_LEFT_OUT = re.compile(
    r"^```.*?^```|^(?: {4}|\t).*?$|`[^`]*`|\[[^\]]*\]\([^)]*\)", re.MULTILINE | re.DOTALL
)
_NUMBER = re.compile(
    rf"(?<![\w.,^-])(\d{{1,3}}(?:,\d{{3}})+|\d*\.\d+|\d+)(?![\w,.]*\d)(?:\s({_UNIT}))?"
)


def significant(number: str) -> int:
    """How many significant digits: those of 0.0350 are three, those of 10,000 one."""
    digits = re.sub(r"\D", "", number).lstrip("0")
    return len(digits if "." in number else digits.rstrip("0"))


def measured(text: str) -> Iterator[str]:
    """The measured numbers of a page, with their units."""
    for match in _NUMBER.finditer(_LEFT_OUT.sub(" ", text)):
        number, unit = match[1], match[2]
        if significant(number) >= 4 and re.search(r"[,.]", number):
            yield number
        elif unit and significant(number) >= 3:
            yield f"{number} {unit}"


def test_no_number_is_stated_on_two_pages() -> None:
    pages = defaultdict(set)
    for page in PAGES:
        for number in measured(page.read_text("utf-8")):
            pages[number].add(str(page.relative_to(ROOT)))
    twice = {
        number: sorted(names)
        for number, names in sorted(pages.items())
        if len(names) > 1 and number not in EVERYWHERE | COINCIDENCES
    }
    assert not twice, "state it once, and link to it with the number as the link's text"


def test_what_is_a_measured_number() -> None:
    text = "In 2019, 10,000 of 13,289 words: 28.7 % (23.6), [0.9486](x.md), `1.2345`."
    assert list(measured(text)) == ["13,289", "28.7 %"]
