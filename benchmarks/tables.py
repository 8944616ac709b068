"""Draws the tables of docs/results/ from what benchmarks wrote.

    python -m benchmarks.tables

Rows are in ``benchmarks/results/``, one JSON object a line, as the benchmarks append them. A
page has a table between ``<!-- table: NAME -->`` and ``<!-- end of table -->``; a test fails where
a page shows anything else than is drawn here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parent.parent
PAGES = ROOT / "docs" / "results"
RESULTS = ROOT / "benchmarks" / "results"

Row = dict[str, Any]

_TABLE = re.compile(r"(<!-- table: ([\w-]+) -->\n).*?(<!-- end of table -->)", re.DOTALL)

_READERS = ("none", "nearest", "rank_c", "prior", "context", "context_distance")
_DRAWN = ("santext", "tem", "fluent")
_NAMES = {
    "nearest": "nearest",
    "rank_c": "nearest, `--rank_c 0.02`",
    "prior": "prior",
    "context": "context",
    "context_distance": "context, loss distance",
}


class Table(NamedTuple):
    """Which rows a table shows, and how.

    Attributes:
      file: in ``benchmarks/results/``.
      where: what is equal in all its rows.
      columns: headings, and what is in their cells.
      mechanisms: those whose rows it shows, next to the originals.
      readers: in the same way.
    """

    file: str
    where: Row
    columns: dict[str, Callable[[Row], str]]
    mechanisms: tuple[str, ...] = ("laplace", "santext")
    readers: tuple[str, ...] = _READERS


def _epsilon(row: Row) -> str:
    return f"{row['epsilon']:g}" if row["epsilon"] else "–"


def _released(row: Row) -> str:
    """The mechanism with its parameters, and how it was read."""
    mechanism, _, parameters = str(row["mechanism"]).partition(":")
    if mechanism == "originals":
        return mechanism
    reader = _NAMES[row["reader"]]
    if mechanism in _DRAWN:
        reader = reader.replace("nearest", "drawn word")
    with_parameters = " ".join(
        [mechanism, *(f"`{each}`" for each in parameters.split(":") if each)]
    )
    return f"{with_parameters}, {reader}"


def _share(name: str) -> Callable[[Row], str]:
    def cell(row: Row) -> str:
        share, error = row[name]
        return (
            "1" if row["mechanism"] == "originals" and share == 1 else f"{share:.3f} ± {error:.3f}"
        )

    return cell


def _perplexity(row: Row) -> str:
    return f"{row['perplexity'][0]:,.0f}"


def _small_accuracy(row: Row) -> str:
    return f"{row['accuracy_of_3000'][0]:.3f}"


_MEASURED: dict[str, Callable[[Row], str]] = {
    "ε": _epsilon,
    "released": _released,
    "unchanged": _share("unchanged"),
    "of rare words": _share("unchanged_rare"),
    "accuracy": _share("accuracy"),
    "perplexity": _perplexity,
}
_WITH_SMALL = {
    **{name: _MEASURED[name] for name in list(_MEASURED)[:-1]},
    "of 3,000": _small_accuracy,
    "perplexity": _perplexity,
}
_MR: Row = {"private": "mr_sentence_polarity", "model": "movie_reviews", "order": 2}


_PLAIN = ("none", "nearest", "context")

TABLES = {
    "decoding-laplace": Table("decoding", _MR, _WITH_SMALL, ("laplace",)),
    "decoding-santext": Table("decoding", _MR, _WITH_SMALL, ("santext",)),
    "decoding-trigrams": Table("decoding", {**_MR, "order": 3}, _MEASURED, readers=_PLAIN),
    "decoding-brown": Table("decoding", {**_MR, "model": "brown"}, _MEASURED, readers=_PLAIN),
    "decoding-speeches": Table(
        "decoding", {**_MR, "model": "state_union+inaugural"}, _MEASURED, readers=_PLAIN
    ),
    "decoding-subjectivity": Table(
        "decoding", {**_MR, "private": "subjectivity"}, _MEASURED, readers=_PLAIN
    ),
    "decoding-questions": Table(
        "decoding", {**_MR, "private": "trec_questions"}, _MEASURED, readers=_PLAIN
    ),
    "decoding-reviews": Table(
        "decoding",
        {**_MR, "private": "movie_reviews", "model": "brown"},
        _MEASURED,
        readers=_PLAIN,
    ),
}


def rows_of(table: Table) -> list[Row]:
    """The rows that a table shows: by mechanism, epsilon and reader."""
    lines = (RESULTS / f"{table.file}.jsonl").read_text("utf-8").splitlines()
    rows = [
        row
        for row in map(json.loads, lines)
        if table.where.items() <= row.items()
        and row["mechanism"] in ("originals", *table.mechanisms)
        and row["reader"] in table.readers
    ]
    return sorted(rows, key=lambda row: (
        row["mechanism"] != "originals", row["mechanism"].partition(":")[0], row["epsilon"],
        _READERS.index(row["reader"]), row["mechanism"]))  # fmt: skip


def drawn(name: str) -> str:
    """A table in Markdown, and under it where and when its rows were measured.

    Raises:
      KeyError: there is no such table.
      ValueError: it has no rows.
    """
    table = TABLES[name]
    rows = rows_of(table)
    if not rows:
        raise ValueError(f"no rows for the table {name}: run its benchmark first")
    lines = [
        "| " + " | ".join(table.columns) + " |",
        "|" + "---|" * len(table.columns),
        *("| " + " | ".join(cell(row) for cell in table.columns.values()) + " |" for row in rows),
        "",
        _measured(rows),
    ]
    return "\n".join(lines) + "\n"


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
