"""How benchmarks that take hours are called, and keep each row as soon as it is measured."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any


def arguments(description: str | None, documents: int) -> argparse.ArgumentParser:
    """The flags that they share.

    Args:
      description: the benchmark's docstring.
      documents: how many are measured, by default.
    """
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--vocabulary", required=True)
    parser.add_argument("--corpora", type=Path, required=True)
    parser.add_argument("--private", default="mr_sentence_polarity")
    parser.add_argument("--documents", type=int, default=documents)
    parser.add_argument("--output", type=Path, required=True)
    return parser


def kept(path: Path) -> list[dict[str, Any]]:
    """The rows that are there already."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def keep(path: Path, row: dict[str, Any]) -> None:
    """Adds a row."""
    with path.open("a") as file:
        file.write(json.dumps(row) + "\n")
