"""Plain English: docs, and the sentences that code shows to users, avoid words that read oddly.

CONTRIBUTING.md says what to write instead.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
CODE = sorted(path for folder in ("dxbeam", "pipelines") for path in (ROOT / folder).rglob("*.py"))

ODD = {
    "alone": r"\balone\b",
    "lies": r"\blies\b",
    "so many": r"\bso many\b",
    "told": r"\btold\b(?! apart)",
    "that is none": r"\bthat is none\b",
    "stands more than once": r"\bstands? more than once\b",
    "of NVIDIA's": r"\bof NVIDIA's\b",
    "beside": r"\bbeside\b",
    "from elsewhere": r"\bneeds nothing from elsewhere\b",
    "of its own": r"\bof (?:its|their|his|our|your) own\b(?! \w)",
    "mended": r"\bmend(?:ed|s)?\b",
}
"""What is avoided, by its name in CONTRIBUTING.md."""

ALLOWED = {
    "docs/results/paragraphs.md": "released text",
    "docs/results/broken-copies.md": "names of tests",
    "docs/reference/audit-parts.md": "one word is alone",
    "CONTRIBUTING.md": "the list itself",
}
"""Pages that need such a word, and why."""

RECORDED = (
    "alone, one for one, the exponents add up",
    "alone: words are drawn with the nominal epsilon",
    "with its epsilon alone, and with one key",
    "beside the factor.",
    "sanitized text alone",
    "Answer with the rewritten text alone.",
)
"""In sentences of release.json, which ``verify`` compares: they stay within a version."""

_CODE = re.compile(r"^```.*?^```|^(?: {4}|\t).*?$|`[^`]*`", re.MULTILINE | re.DOTALL)


def odd_words(text: str) -> list[str]:
    return [name for name, pattern in ODD.items() if re.search(pattern, " ".join(text.split()))]


def shown(path: Path) -> Iterator[str]:
    """The strings of a module that users may read: no docstrings, but the manual of a command."""
    tree = ast.parse(path.read_text("utf-8"))
    said = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
            yield node.value
    if path.parent.name == "pipelines":
        yield ast.get_docstring(tree) or ""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_are_in_plain_words(page: Path) -> None:
    if str(page.relative_to(ROOT)) not in ALLOWED:
        assert not odd_words(_CODE.sub("", page.read_text("utf-8")))


def test_sentences_shown_are_in_plain_words() -> None:
    odd = {
        f"{path.relative_to(ROOT)}: {text[:60]}": words
        for path in CODE
        for text in shown(path)
        if " " in text
        and path.name != "function_words.py"  # a list of words
        and not any(sentence in " ".join(text.split()) for sentence in RECORDED)
        and (words := odd_words(text))
    }
    assert not odd
