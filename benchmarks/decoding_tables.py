"""Tables of what settings leave of text, from the rows of benchmarks/decoding.py and the like."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.rows import kept

RESULTS = Path(__file__).parent / "results"

Row = dict[str, Any]

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


def epsilon_of(row: Row) -> str:
    """Epsilon as a table has it."""
    return f"{row['epsilon']:g}" if row["epsilon"] else "–"


def released(row: Row) -> str:
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
    "ε": epsilon_of,
    "released": released,
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
    "ε": epsilon_of,
    "released": released,
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
    rows = [
        row
        for row in kept(RESULTS / f"{table.file}.jsonl")
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
