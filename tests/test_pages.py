"""Pages are short: how long a guide may be, and how far a reader goes without a heading."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted(DOCS.rglob("*.md")),
]
MOST_WORDS_OF_A_GUIDE = 800
LONG = {"attackers.md": 900, "choosing-a-mechanism.md": 900}
"""Guides that are still to be divided, and the most words they may have."""
MOST_WORDS_WITHOUT_A_HEADING = 200
LONGEST_LINE = 120

_CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def name(page: Path) -> str:
    return str(page.relative_to(DOCS if page.is_relative_to(DOCS) else ROOT))


def is_prose(line: str) -> bool:
    """Neither a row of a table nor indented code."""
    return not line.startswith(("|", "    "))


@pytest.mark.parametrize("page", sorted((DOCS / "guides").glob("*.md")), ids=name)
def test_a_guide_is_short(page: Path) -> None:
    assert len(page.read_text("utf-8").split()) <= LONG.get(page.name, MOST_WORDS_OF_A_GUIDE)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_headings_are_near(page: Path) -> None:
    """Words of tables and code are not counted."""
    for part in re.split(r"^#+ ", _CODE.sub("", page.read_text("utf-8")), flags=re.MULTILINE):
        words = sum(len(line.split()) for line in part.splitlines() if is_prose(line))
        assert words <= MOST_WORDS_WITHOUT_A_HEADING, part.splitlines()[0]


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_lines_are_short(page: Path) -> None:
    """But for tables, code, and lines that are one link."""
    for line in _CODE.sub("", page.read_text("utf-8")).splitlines():
        if is_prose(line) and not line.startswith(("![", "<")):
            assert len(line) <= LONGEST_LINE, line
