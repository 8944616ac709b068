"""What the README says is said on the pages too, and it is short."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
PARAGRAPHS = (ROOT / "docs" / "results" / "paragraphs.md").read_text("utf-8")


def test_the_readme_shows_sentences_of_that_page() -> None:
    [original] = re.findall(r"^> (.*)$", README, re.MULTILINE)
    assert f"> {original}" in PARAGRAPHS
    shown = re.findall(r"^\| (\d+) \| (.+?\.) \|", README, re.MULTILINE)
    assert len(shown) == 3
    for epsilon, released in shown:
        assert f"| {epsilon} | context | {released}" in PARAGRAPHS


def test_the_readme_is_short() -> None:
    assert len(README.split()) <= 700
