"""The documentation: links lead somewhere, pages are found, what is drawn and named is true."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import yaml

import dxbeam
from benchmarks import tables
from tests import test_architecture as architecture
from tests.support import calls

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
PAGES = sorted(DOCS.rglob("*.md"))
TEXTS = [*sorted(ROOT.glob("*.md")), *PAGES, *sorted((ROOT / "examples").glob("*.md"))]

_CODE = re.compile(r"^```.*?^```|^(?: {4}|\t).*?$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_NAMED_PATH = re.compile(
    r"(?<![\w/.-])((?:dxbeam|pipelines|tests|templates|benchmarks|docs|examples)/[\w./-]*[\w/])"
)


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def prose(path: Path) -> str:
    return _CODE.sub("", path.read_text("utf-8"))


def anchors(path: Path) -> set[str]:
    """The anchors of a page's headings, as repository hosts and the docs site make them."""
    titles = (re.sub(r"[^\w\- ]", "", title.lower()) for title in _HEADING.findall(prose(path)))
    return {title.strip().replace(" ", "-") for title in titles}


def links(path: Path) -> Iterator[tuple[Path, str]]:
    """Where a page's links within the repository lead: file and anchor."""
    for link in _LINK.findall(prose(path)):
        if "://" not in link and not link.startswith("mailto:"):
            target, _, anchor = link.partition("#")
            yield (path.parent / target).resolve() if target else path, anchor


@pytest.mark.parametrize("path", TEXTS, ids=name)
def test_links_lead_somewhere(path: Path) -> None:
    for target, anchor in links(path):
        assert target.exists(), f"{name(path)} links to {target}, which is not there"
        assert target.is_relative_to(ROOT)
        if anchor:
            assert anchor in anchors(target), f"{name(target)} has no heading #{anchor}"


@pytest.mark.parametrize("path", [p for p in TEXTS if p.name != "CHANGELOG.md"], ids=name)
def test_files_that_pages_name_are_there(path: Path) -> None:
    """But for ``pipelines/NAME.py`` and its like."""
    for named in _NAMED_PATH.findall(path.read_text("utf-8")):
        if "NAME" not in named:
            assert (ROOT / named).exists(), f"{name(path)} names {named}"


def test_pages_that_the_code_names_are_there() -> None:
    for folder in ("dxbeam", "pipelines", "benchmarks", "templates"):
        for path in (ROOT / folder).rglob("*.py"):
            for page in re.findall(r"\bdocs/[\w-]+\.md\b", path.read_text("utf-8")):
                assert (ROOT / page).exists(), f"{name(path)} names {page}"


def test_every_page_is_found_from_the_index() -> None:
    found, waiting = set[Path](), [DOCS / "index.md"]
    while waiting:
        page = waiting.pop()
        if page not in found and page.suffix == ".md":
            found.add(page)
            targets = [target for target, _ in links(page)]
            waiting += [target / "README.md" if target.is_dir() else target for target in targets]
    assert set(TEXTS) <= found


def test_the_readme_leads_to_the_index() -> None:
    assert DOCS / "index.md" in {target for target, _ in links(ROOT / "README.md")}


def test_every_page_is_in_the_navigation_of_the_site() -> None:
    text = (ROOT / "mkdocs.yml").read_text("utf-8")
    navigation = re.findall(r"^ +- [^:]+: (\S+\.md)$", text, re.MULTILINE)
    assert sorted(navigation) == [str(page.relative_to(DOCS)) for page in PAGES]


def drawn_house() -> str:
    """The rooms of the package, what each is for, and which others it imports from."""
    arrows = architecture._arrows()
    modules = architecture._modules()
    lines = ["| folder or file | what it is for | imports from |", "|---|---|---|"]
    for room in architecture.ROOMS:
        docstring = ast.get_docstring(architecture._tree(modules[room])) or ""
        purpose = " ".join(docstring.split("\n\n")[0].split())
        path = f"{room}/" if modules[room].name == "__init__.py" else f"{room}.py"
        others = ", ".join(other for other in architecture.ROOMS if (room, other) in arrows)
        lines.append(f"| `{path}` | {purpose} | {others} |")
    return "\n".join(lines)


def with_the_house_as_it_is(text: str) -> str:
    before, begin, rest = text.partition("<!-- house: begin -->\n")
    _, end, after = rest.partition("\n<!-- house: end -->")
    return before + begin + drawn_house() + end + after


@pytest.mark.slow
def test_the_house_is_drawn_as_it_is() -> None:
    text = CONTRIBUTING.read_text("utf-8")
    assert text == with_the_house_as_it_is(text), "draw it again: python -m tests.test_docs"


@pytest.mark.parametrize("path", sorted((DOCS / "results").glob("*.md")), ids=name)
def test_tables_are_drawn_from_what_was_measured(path: Path) -> None:
    page = path.read_text("utf-8")
    assert tables.redrawn(page) == page, "run python -m benchmarks.tables"


def test_the_citation_is_of_this_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert citation["version"] == dxbeam.__version__
    assert all(paper["authors"] and paper["title"] for paper in citation["references"])


def test_commits_are_checked_as_make_lint_checks() -> None:
    [local] = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))["repos"]
    assert local["repo"] == "local", "other repositories would be fetched"
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for hook in local["hooks"]:
        assert f"$(VENV)/bin/{hook['name']}" in makefile


def test_what_quick_tests_leave_out_is_there() -> None:
    text = (ROOT / "Makefile").read_text("utf-8")
    [folders] = re.findall(r"^LONG_TESTS := (.+)$", text, re.MULTILINE)
    for folder in folders.split():
        assert (ROOT / "tests" / folder).is_dir(), f"tests/{folder} is not there any more"


def _generated_pages() -> ModuleType:
    return calls.module_at(DOCS / "generated_pages.py")


def test_links_are_rewritten_for_the_site() -> None:
    pytest.importorskip("mkdocs", reason="the docs site needs mkdocs: pip install '.[docs]'")
    rewritten = _generated_pages().with_links_of_the_site
    readme, page = ROOT / "README.md", DOCS / "guides" / "ledger.md"
    assert rewritten("[a](docs/guides/x.md)", readme, "readme.md") == "a", "there is no such page"
    assert rewritten("[a](docs/guides/ledger.md#x)", readme, "readme.md") == (
        "[a](guides/ledger.md#x)"
    )
    in_guides = "guides/ledger.md"
    assert rewritten("[a](../../SECURITY.md)", page, in_guides) == "[a](../security.md)"
    assert rewritten("[a](../../Makefile) [b](https://c.org)", page, in_guides) == (
        "a [b](https://c.org)"
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The docs site, built as ``make docs`` builds it, with a network in which nothing answers."""
    pytest.importorskip("mkdocs", reason="the docs site needs mkdocs: pip install '.[docs]'")
    pytest.importorskip("mkdocstrings", reason="the docs site needs mkdocstrings")
    folder = tmp_path_factory.mktemp("site")
    nowhere = dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), "http://127.0.0.1:1")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env=os.environ | nowhere | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    return folder


@pytest.mark.slow
def test_the_site_is_built_from_every_page(site: Path) -> None:
    for page in PAGES:
        assert (site / page.relative_to(DOCS).with_suffix(".html")).exists()
    commands = (site / "reference" / "command-line.html").read_text("utf-8")
    for launcher in (ROOT / "pipelines").glob("[!_]*.py"):
        assert f'id="pipelines.{launcher.stem}"' in commands


@pytest.mark.slow
def test_the_reference_has_every_module_and_public_name(site: Path) -> None:
    pages = _generated_pages()
    described = "".join(path.read_text("utf-8") for path in (site / "api").glob("*.html"))
    for modules in pages.modules_by_page().values():
        for module in modules:
            assert f'id="{module}"' in described, module
    public = {n for n in getattr(dxbeam, "__all__", ()) if not n.startswith("__")}
    index = (site / "api" / "index.html").read_text("utf-8")
    assert public <= set(re.findall(r"<code>dxbeam\.(\w+)</code>", index))
    for defined, summary in pages.public_names().values():
        assert summary
        assert f'id="{defined}"' in described, f"{defined} has no docstring"


@pytest.mark.slow
def test_the_site_loads_nothing_from_elsewhere(site: Path) -> None:
    for path in site.rglob("*.html"):
        text = path.read_text("utf-8")
        loaded = re.findall(r"<(?:script|img|iframe|link)\b[^>]*(?:src|href)=[\"']([^\"']+)", text)
        assert loaded
        assert not [url for url in loaded if url.startswith(("http:", "https:", "//"))], path
    for path in site.rglob("*.css"):
        assert not re.search(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//", path.read_text("utf-8"))


if __name__ == "__main__":
    CONTRIBUTING.write_text(with_the_house_as_it_is(CONTRIBUTING.read_text("utf-8")), "utf-8")
