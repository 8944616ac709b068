"""Draws the tables of docs/results/ from what benchmarks wrote.

    python -m benchmarks.tables

Rows are in ``benchmarks/results/``, one JSON object a line, as the benchmarks append them. A
page has a table between ``<!-- table: NAME -->`` and ``<!-- end of table -->``; a test fails where
a page shows anything else than is drawn here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from benchmarks.decoding_tables import TABLES, Row, epsilon_of, released, rows_of
from benchmarks.matrix_tables import MATRIX, OTHERS, matrix
from benchmarks.reidentification_tables import reidentified
from benchmarks.risk_tables import (
    ATTACKED,
    HEADINGS,
    MODELS,
    RISK_TABLES,
    RiskTable,
    attacked,
    columns_of,
    models,
    settings_at,
)

ROOT = Path(__file__).parent.parent
PAGES = ROOT / "docs" / "results"
_TABLE = re.compile(r"(<!-- table: ([\w-]+) -->\n).*?(<!-- end of table -->)", re.DOTALL)


def drawn(name: str) -> str:
    """A table in Markdown, and under it where and when its rows were measured.

    Raises:
      KeyError: there is no such table.
      ValueError: it has no rows.
    """
    if name in RISK_TABLES:
        return _drawn_at_risk(RISK_TABLES[name])
    if name in MODELS:
        return _page_table(*models(name))
    if name in (*MATRIX, *OTHERS):
        return _page_table(*matrix(name))
    if name == "reidentified":
        return _page_table(*reidentified())
    if name in ATTACKED:
        return _drawn_attacked(*ATTACKED[name])
    table = TABLES[name]
    rows = rows_of(table)
    if not rows:
        raise ValueError(f"no rows for the table {name}: run its benchmark first")
    cells = [[cell(row) for cell in table.columns.values()] for row in rows]
    return _page_table(list(table.columns), cells, rows)


def _drawn_at_risk(table: RiskTable) -> str:
    settings, rows = settings_at(table)
    cells = [
        [_setting(":".join(filter(None, each.point[:2]))), *columns_of(each)] for each in settings
    ]
    return _page_table(["released", *HEADINGS], cells, rows)


def _drawn_attacked(file: str, private: str) -> str:
    headings, rows = attacked(file, private)
    cells = [
        [f"{_setting(row['mechanism'])}{_model(row)}", epsilon_of(row), *each] for row, each in rows
    ]
    return _page_table(["released", "ε", *headings], cells, [row for row, _ in rows])


def _model(row: Row) -> str:
    """Which model fluent reads, where it is not that of the other rows."""
    if row["mechanism"] != "fluent" or row["order"] == 3:
        return ""
    power = "" if row["exponent"] == 1 else f", τ = {row['exponent']:g}"
    return f", order {row['order']}{power}"


def _setting(written: str) -> str:
    """A setting as benchmarks/attacked.py takes it, in words."""
    mechanism, _, decoded = written.partition(":decode=")
    return released({"mechanism": mechanism, "reader": decoded or "nearest"})


def _page_table(headings: Sequence[str], cells: Sequence[Sequence[str]], rows: list[Row]) -> str:
    lines = [headings, ["---"] * len(headings), *cells]
    drawn_lines = ["| " + " | ".join(line) + " |" for line in lines]
    drawn_lines[1] = "|" + "---|" * len(headings)
    return "\n".join([*drawn_lines, "", _measured(rows)]) + "\n"


def _measured(rows: Sequence[Row]) -> str:
    """On which machine, at which commit, and when."""
    machines, commits, days = (
        sorted({row[name][:length] for row in rows})
        for name, length in (("machine", None), ("commit", None), ("date", len("2026-01-31")))
    )
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    return f"*{' and '.join(machines)}; commit {', '.join(commits)}; {when}.*"


def redrawn(page: str) -> str:
    """A page with its tables as they are now."""
    return _TABLE.sub(lambda match: match[1] + "\n" + drawn(match[2]) + "\n" + match[3], page)


def main() -> None:
    """Writes every page whose tables have changed."""
    for path in sorted(PAGES.glob("*.md")):
        page = path.read_text("utf-8")
        if (new := redrawn(page)) != page:
            path.write_text(new, "utf-8")
            print(f"drew {path.relative_to(ROOT)} again")


if __name__ == "__main__":
    main()
