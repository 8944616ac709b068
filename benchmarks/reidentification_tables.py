"""The table of who finds documents again, from the rows of benchmarks/reidentification.py."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.matrix_tables import READERS, Drawn, Row

ROWS = Path(__file__).parent / "results" / "reidentification.jsonl"

_COLUMNS = {
    "TF-IDF of words": "nearest by TF-IDF of words",
    "mean word vector": "nearest by mean word vector",
    "context, TF-IDF": "context, then nearest by TF-IDF",
    "learned, TF-IDF": "learned inversion, then nearest by TF-IDF",
    "likeliest original": "likeliest original",
}
"""Columns of the table: the attacker."""

_FIRST = "right one first"


def reidentified() -> Drawn:
    """Headings, cells and rows: the share of documents whose original is the first."""
    by_setting: dict[tuple[Any, ...], dict[str, Row]] = {}
    for row in map(json.loads, ROWS.read_text("utf-8").splitlines()):
        setting = (row["mechanism"], row["epsilon"], row["reader"])
        by_setting.setdefault(setting, {})[row["attacker"]] = row
    readers = list(READERS)
    order = sorted(by_setting, key=lambda each: (*each[:2], readers.index(each[2])))
    cells = [
        [
            f"{mechanism}{READERS[reader]}",
            f"{epsilon:g}",
            *(_cell(by_setting[mechanism, epsilon, reader][one]) for one in _COLUMNS.values()),
        ]
        for mechanism, epsilon, reader in order
    ]
    used = [row for rows in by_setting.values() for row in rows.values()]
    return ["released", "ε", *_COLUMNS], cells, used


def _cell(row: Row) -> str:
    share, low, high = (f"{100 * value:.1f}".replace("100.0", "100") for value in row[_FIRST][:3])
    return f"{share} ({low}–{high})"
