"""The command ``dxbeam``: every file of the folder pipelines/ is a command of its name.

    dxbeam sanitize --input 'corpus/*.jsonl' …

is the same as ``python -m pipelines.sanitize …`` in the repository and as ``python -m dxbeam
sanitize …`` anywhere. The launcher is run from its file next to this package and as ``__main__``.
So another folder or package that is called pipelines cannot get in its way, and what Beam pickles
of it for workers holds code, not the name of a module that a worker would have to find.
"""

from __future__ import annotations

import ast
import difflib
import gc
import runpy
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

import dxbeam
from dxbeam import stopping
from dxbeam.commands import console

_MISTAKE = 2
_OBJECTS_PER_COLLECTION = 50_000
_HERE = Path(__file__).resolve().parent


def commands() -> dict[str, Path]:
    """The file of each command, by the command's name."""
    installed, in_the_repository = _HERE / "pipelines", _HERE.parent / "pipelines"
    folder = installed if installed.is_dir() else in_the_repository
    return {path.stem.replace("_", "-"): path for path in sorted(folder.glob("[!_]*.py"))}


def summary(launcher: Path) -> str:
    """The first sentence of a launcher's docstring; the launcher is not imported."""
    docstring = ast.get_docstring(ast.parse(launcher.read_text("utf-8"))) or ""
    return " ".join(docstring.split("\n\n")[0].split())


def overview() -> str:
    """All commands, each with what it does."""
    names = commands()
    width = max(map(len, names))
    lines = [
        textwrap.fill(
            summary(path),
            100,
            initial_indent=f"  {name:<{width}}  ",
            subsequent_indent=" " * (width + 4),
        )
        for name, path in names.items()
    ]
    return "\n".join(
        [
            "usage: dxbeam COMMAND --flag value …",
            "",
            "Word-level metric differential privacy for text.",
            "",
            *lines,
            "",
            "dxbeam COMMAND --help explains a command; dxbeam --version prints the version.",
        ]
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command, which ends the process; returns the exit code where none was run."""
    console.print_anything()
    first, *others = (sys.argv[1:] if argv is None else argv) or ["--help"]
    if first in ("--help", "-h"):
        print(overview())  # noqa: T201
        return 0
    if first == "--version":
        print(f"dxbeam {dxbeam.__version__}")  # noqa: T201
        return 0
    known, name = commands(), first.replace("_", "-")
    if name not in known:
        print(f"dxbeam: {_no_command(name, list(known))}", file=sys.stderr)  # noqa: T201
        return _MISTAKE
    # Python's 700 means that all objects are looked through again and again while Beam and what it
    # needs are imported, which takes a fifth of that time.
    gc.set_threshold(_OBJECTS_PER_COLLECTION, 20, 50)
    stopping.watch()  # before Beam is imported, which takes seconds
    sys.argv = [f"dxbeam {name}", *others]
    runpy.run_path(str(known[name]), run_name="__main__")
    return 0


def _no_command(name: str, known: list[str]) -> str:
    """What is wrong, without the word itself unless it is nearly a command: it may be anything."""
    if name.startswith("-"):
        return "the command comes first, as in dxbeam sanitize --help; dxbeam --help lists them"
    if close := difflib.get_close_matches(name, known, 1):
        return f"there is no command {name}; did you mean dxbeam {close[0]}?"
    return "the first argument is no command; dxbeam --help lists them"


if __name__ == "__main__":
    sys.exit(main())
