"""The Python that README.md and docs/ show is executed, block by block, as a reader would do it.

A block that needs what a test does not have, such as a cluster, stands below a comment

    <!-- not executed: it needs … -->
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
_BLOCK = re.compile(
    r"^(?:<!-- not executed: (?P<reason>.+?) -->\n\s*)?```python\n(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
MOST_NOT_EXECUTED = 2


class Snippet(NamedTuple):
    """A block of Python: where it begins, its code, and why it is not executed, if so."""

    line: int
    code: str
    reason: str | None


def snippets(page: Path) -> list[Snippet]:
    """The blocks of a page, in order."""
    text = page.read_text("utf-8")
    return [
        Snippet(text.count("\n", 0, block.start("code")), block["code"], block["reason"])
        for block in _BLOCK.finditer(text)
    ]


PAGES = {
    str(page.relative_to(ROOT)): found
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if (found := snippets(page))
}


@pytest.mark.parametrize("page", PAGES)
def test_the_python_of_a_page_runs(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In order, in one namespace, as in a notebook; what they write is in a separate folder."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    for snippet in PAGES[page]:
        if snippet.reason is None:
            code = "\n" * snippet.line + snippet.code  # so that errors name the page's own lines
            exec(compile(code, str(ROOT / page), "exec"), names)


def test_every_block_of_python_is_found() -> None:
    for page, found in PAGES.items():
        assert len(found) == (ROOT / page).read_text("utf-8").count("```python"), page
    assert PAGES["README.md"]
    assert len(PAGES["docs/start/in-python.md"]) >= 3


def test_few_blocks_are_not_executed() -> None:
    skipped = [snippet for found in PAGES.values() for snippet in found if snippet.reason]
    assert len(skipped) <= MOST_NOT_EXECUTED


def test_what_needs_no_beam_runs_without_it(tmp_path: Path) -> None:
    without = [
        snippet.code
        for page in ("README.md", "docs/start/in-python.md")
        for snippet in PAGES[page]
        if "apache_beam" not in snippet.code
    ]
    program = 'import sys\nsys.modules["apache_beam"] = None\n' + "\n".join(without)
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True, timeout=120)
