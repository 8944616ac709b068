"""Pages of the docs site that are no files in ``docs/``: a hook of mkdocs, see ``mkdocs.yml``.

The Python API has a page for each folder of the package, so a new module is there without being
listed. ``README.md``, ``CONTRIBUTING.md`` and their like are where people and repository hosts
look for them.
"""

from __future__ import annotations

import importlib
import inspect
import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PROJECT_PAGES = {
    "readme.md": ("README", "README.md"),
    "contributing.md": ("Contributing", "CONTRIBUTING.md"),
    "security.md": ("Security", "SECURITY.md"),
    "changelog.md": ("Changelog", "CHANGELOG.md"),
    "examples.md": ("Examples", "examples/README.md"),
}
"""Pages outside ``docs/`` by their place in the site, each with its title in the navigation."""

_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)#:\s]+)(#[^)\s]*)?\)")
"""A link within the repository: text, path, anchor. Those with a colon lead elsewhere."""


def modules_by_page() -> dict[str, list[str]]:
    """The modules described on each page of the API: those of a folder, or of the top level."""
    pages: dict[str, list[str]] = {}
    for path in sorted((ROOT / "dxbeam").rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        module = ".".join(part for part in parts if part != "__init__")
        page = parts[1] if len(parts) > 2 else "dxbeam"
        if module != "dxbeam" and (path.stem == "__init__" or not path.stem.startswith("_")):
            pages.setdefault(page, []).append(module)
    return pages


def public_names() -> dict[str, tuple[str, str]]:
    """Where each name of ``dxbeam.__all__`` is defined, and the first sentence of its docstring."""
    package = importlib.import_module("dxbeam")
    found = {}
    for name in getattr(package, "__all__", ()):
        value = getattr(package, name)
        if hasattr(value, "__qualname__"):  # a class or function, not a value such as the version
            summary = " ".join((inspect.getdoc(value) or "").split("\n\n")[0].split())
            found[name] = f"{value.__module__}.{value.__qualname__}", summary
    return found


def api_pages() -> dict[str, str]:
    """The text of every page of the API by its path in the site."""
    rows = [
        f"| [`dxbeam.{name}`][{where}] | {summary} | `{where.rpartition('.')[0]}` |"
        for name, (where, summary) in public_names().items()
    ]
    index = [
        "# Public names",
        "What `import dxbeam` offers, and the module in which each name is defined. Everything else"
        " is described by folder, in the pages that follow.",
        "\n".join(["| name | what it is | module |", "|---|---|---|", *rows]),
    ]
    pages = {"api/index.md": "\n\n".join(index)}
    for page, modules in modules_by_page().items():
        title = "dxbeam/*.py" if page == "dxbeam" else f"dxbeam/{page}/"
        pages[f"api/{page}.md"] = "\n\n".join([f"# {title}", *(f"::: {m}" for m in modules)])
    return pages


def manuals_of_commands() -> str:
    """What the launchers in ``pipelines/`` say of themselves; each is a command."""
    names = sorted(path.stem for path in (ROOT / "pipelines").glob("[!_]*.py"))
    blocks = [f"::: pipelines.{name}\n    options:\n      members: []" for name in names]
    return "\n\n".join(["", *blocks])


def with_links_of_the_site(text: str, source: Path, page: str) -> str:
    """The text of the file ``source`` with its links as they are in the site, on ``page``.

    Of what is outside ``docs/`` only the pages above are in the site: links to anything else become
    plain text.
    """

    def rewritten(link: re.Match[str]) -> str:
        label, path, anchor = link[1], link[2], link[3] or ""
        target = (source.parent / path).resolve()
        pages = {ROOT / file: linked for linked, (_, file) in PROJECT_PAGES.items()}
        if target.is_relative_to(DOCS) and target.suffix == ".md" and target.exists():
            pages[target] = str(target.relative_to(DOCS))
        if target not in pages:
            return label
        return (
            f"[{label}]({posixpath.relpath(pages[target], posixpath.dirname(page) or '.')}{anchor})"
        )

    return _LINK.sub(rewritten, text)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Adds the generated pages to the navigation."""
    config.nav = [
        *(config.nav or []),
        {
            "Project": [
                {
                    "Python API": sorted(
                        api_pages(), key=lambda page: (page != "api/index.md", page)
                    )
                },
                *({title: page} for page, (title, _) in PROJECT_PAGES.items()),
            ]
        },
    ]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the generated pages to the files of the site."""
    pages = {
        page: (ROOT / source).read_text("utf-8") for page, (_, source) in PROJECT_PAGES.items()
    }
    for path, text in (api_pages() | pages).items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Rewrites the links of pages that are also read in the repository."""
    path = page.file.src_uri
    if path.startswith("api/"):
        return markdown
    if path == "reference/command-line.md":
        markdown += manuals_of_commands()
    source = ROOT / PROJECT_PAGES[path][1] if path in PROJECT_PAGES else DOCS / path
    return with_links_of_the_site(markdown, source, path)
