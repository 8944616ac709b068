"""Executes a notebook's code without Jupyter, and stores what it prints.

python -m tests.support.notebook examples/notebook.ipynb    # executes it and writes it again
"""

from __future__ import annotations

import contextlib
import copy
import io
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

Notebook = dict[str, Any]


def read(path: Path) -> Notebook:
    notebook: Notebook = json.loads(path.read_text("utf-8"))
    return notebook


def code_cells(notebook: Notebook) -> list[dict[str, Any]]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def printed(cell: dict[str, Any]) -> str:
    """What a cell that was executed has printed."""
    return "".join(line for output in cell["outputs"] for line in output["text"])


def executed(notebook: Notebook) -> Notebook:
    """The notebook with what its code prints, run from top to bottom in the current folder."""
    result = copy.deepcopy(notebook)
    names: dict[str, object] = {"__name__": "__main__"}
    for number, cell in enumerate(code_cells(result), start=1):
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown):
            exec(compile("".join(cell["source"]), f"cell {number}", "exec"), names)
        lines = shown.getvalue().splitlines(keepends=True)
        cell["execution_count"] = number
        cell["outputs"] = (
            [{"name": "stdout", "output_type": "stream", "text": lines}] if lines else []
        )
    return result


def main(path: Path) -> None:
    made = path.resolve()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        notebook = executed(read(made))
        made.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
