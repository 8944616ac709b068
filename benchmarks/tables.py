"""Draws the tables of docs/results/ from what benchmarks wrote.

    python -m benchmarks.tables

Rows are in ``benchmarks/results/``, one JSON object a line, as the benchmarks append them. A
page has a table between ``<!-- table: NAME -->`` and ``<!-- end of table -->``; a test fails where
a page shows anything else than is drawn here.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.matrix_tables import MATRIX, OTHERS, matrix
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


_PARAMETERS = {
    "base": "`--base {}`",
    "base_exponent": "τ = {}",
    "constant_scan": "`--constant exact`",
}


class Table(NamedTuple):
    """Which rows a table shows, and how.

    Attributes:
      file: in ``benchmarks/results/``.
      where: what is equal in all its rows.
      columns: headings, and what is in their cells.
      mechanisms: those whose rows it shows, next to the originals.
      readers: in the same way.
      read_off: of rare words unchanged; rows are then read off at this share, linearly between the
        two epsilons around it. None shows rows as they are.
    """

    file: str
    where: Row
    columns: dict[str, Callable[[Row], str]]
    mechanisms: tuple[str, ...] = ("laplace", "santext")
    readers: tuple[str, ...] = _READERS
    read_off: float | None = None


def _epsilon(row: Row) -> str:
    return f"{row['epsilon']:g}" if row["epsilon"] else "–"


def _released(row: Row) -> str:
    """The mechanism with its parameters, and how it was read."""
    mechanism, *pairs = str(row["mechanism"]).split(":")
    if mechanism == "originals":
        return mechanism
    parameters = [
        _PARAMETERS[pair.partition("=")[0]].format(pair.partition("=")[2]) for pair in pairs
    ]
    reader = _NAMES[row["reader"]]
    if mechanism in _DRAWN:
        reader = reader.replace("nearest", "drawn word")
    return ", ".join([mechanism, *parameters, *([reader] if reader != "drawn word" else [])])


def _share(name: str) -> Callable[[Row], str]:
    def cell(row: Row) -> str:
        share, error = row[name]
        return (
            "1" if row["mechanism"] == "originals" and share == 1 else f"{share:.3f} ± {error:.3f}"
        )

    return cell


def _from_to(name: str) -> Callable[[Row], str]:
    return lambda row: "{:.3f} ({:.3f} to {:.3f})".format(*row[name])


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
_BY_EVALUATE: dict[str, Callable[[Row], str]] = {
    "ε": _epsilon,
    "released": _released,
    "of all words unchanged": _from_to("unchanged"),
    "accuracy": _from_to("accuracy"),
    "accuracy above": lambda row: "{:.3f} ± {:.3f}".format(*row["table"]["accuracy"]),
    "same bytes as above": lambda row: "yes" if row["as_in_table"] else "another model",
}
_BY_CANDIDATES: dict[str, Callable[[Row], str]] = {
    "sentences": lambda row: f"{row['documents']:,}",
    "candidates": lambda row: f"{row['candidates']:,}",
    "read together": lambda row: f"{row['kept']:,}",
    **{name: _MEASURED[name] for name in ("unchanged", "of rare words", "accuracy")},
}
_MR: Row = {"private": "mr_sentence_polarity", "model": "movie_reviews", "order": 2}


_PLAIN = ("none", "nearest", "context")
_DECODED = (*_PLAIN, "prior", "context_distance")
_MR_8000: Row = {"private": "mr_sentence_polarity", "documents": 8000}
_ALL = ("laplace", "santext", "fluent")

TABLES = {
    "bases": Table("bases", _MR_8000, _MEASURED, ("santext", "fluent"), ("none", "nearest")),
    "bases-equal": Table("bases", _MR_8000, _MEASURED, _ALL, _PLAIN, read_off=0.2),
    "bases-equal-subjectivity": Table(
        "bases", {"private": "subjectivity"}, _MEASURED, _ALL, _PLAIN, read_off=0.2
    ),
    "bases-equal-reviews": Table(
        "bases", {"private": "movie_reviews"}, _MEASURED, _ALL, _PLAIN, read_off=0.2
    ),
    "decoding-laplace": Table("decoding", _MR, _WITH_SMALL, ("laplace",)),
    "decoding-candidates": Table(
        "decoding_candidates", {"reader": "context"}, _BY_CANDIDATES, ("laplace",)
    ),
    "decoding-job": Table("decoding_job", {}, _BY_EVALUATE),
    "decoding-santext": Table("decoding", _MR, _WITH_SMALL, ("santext",)),
    "decoding-trigrams": Table("decoding", {**_MR, "order": 3}, _MEASURED, readers=_PLAIN),
    "decoding-brown": Table("decoding", {**_MR, "model": "brown"}, _MEASURED, readers=_DECODED),
    "decoding-speeches": Table(
        "decoding", {**_MR, "model": "state_union+inaugural"}, _MEASURED, readers=_DECODED
    ),
    "decoding-subjectivity": Table(
        "decoding", {**_MR, "private": "subjectivity"}, _MEASURED, readers=_DECODED
    ),
    "decoding-questions": Table(
        "decoding", {**_MR, "private": "trec_questions"}, _MEASURED, readers=_DECODED
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
        and row["mechanism"].partition(":")[0] in ("originals", *table.mechanisms)
        and row["reader"] in table.readers
    ]
    rows = list({tuple(row.get(name) for name in _KEY): row for row in rows}.values())
    if table.read_off is not None:
        rows = list(_read_off(rows, table.read_off))
    return sorted(rows, key=lambda row: (
        row["mechanism"] != "originals", row["mechanism"].partition(":")[0], row["epsilon"],
        _READERS.index(row["reader"]), row["mechanism"], row["documents"],
        row.get("candidates") or 0))  # fmt: skip


_KEY = ("mechanism", "reader", "epsilon", "documents", "candidates", "kept")


def _read_off(rows: Sequence[Row], share: float) -> Iterator[Row]:
    """Each mechanism and reader where it leaves a share of rare words unchanged, and originals."""
    by_setting: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        by_setting.setdefault((row["mechanism"], row["reader"]), []).append(row)
    for (mechanism, _), points in by_setting.items():
        points.sort(key=lambda row: float(row["epsilon"]))
        if mechanism == "originals":
            yield points[0]
        for below, above in pairwise(points):
            low, high = below["unchanged_rare"][0], above["unchanged_rare"][0]
            if low <= share < high:
                yield _between(below, above, (share - low) / (high - low))


def _between(below: Row, above: Row, part: float) -> Row:
    """A row between two: means of values, and the larger of two errors."""

    def mean(name: str, place: int = 0) -> float:
        low, high = below[name], above[name]
        first, second = (low, high) if name == "epsilon" else (low[place], high[place])
        return float(first + part * (second - first))

    errors = {
        name: [mean(name), max(below[name][1], above[name][1])]
        for name in ("unchanged", "unchanged_rare", "accuracy", "accuracy_of_3000")
    }
    logs = [math.log(each["perplexity"][0]) for each in (below, above)]
    perplexity = [math.exp(logs[0] + part * (logs[1] - logs[0]))]
    return {**above, **errors, "perplexity": perplexity, "epsilon": round(mean("epsilon"), 2)}


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
        [f"{_setting(row['mechanism'])}{_model(row)}", _epsilon(row), *each] for row, each in rows
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
    return _released({"mechanism": mechanism, "reader": decoded or "nearest"})


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
