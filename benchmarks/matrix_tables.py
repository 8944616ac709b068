"""Tables of what every attacker gets, from the rows of benchmarks/attack_matrix.py."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

Row = dict[str, Any]

ROWS = Path(__file__).parent / "results" / "attack_matrix.jsonl"

CHANCE = ("guesses the commonest word", "lengths and gaps")
RELEASED = {
    "chance": CHANCE,
    "believes the release": ("believes the release", "released words"),
    "word by word": ("word by word", "released words"),
    "context": ("context", "released words"),
    "learned": ("learned inversion", "released words"),
    "pretrained": ("with a language model", "released words"),
}
"""Columns of tables of released text: the attacker, and what it sees."""

NOISY = {
    "word by word": ("word by word", "what was drawn, not released"),
    "context": ("context", "what was drawn, not released"),
    "learned": ("learned inversion", "noisy vectors, not released"),
    "pretrained": ("with a language model", "noisy vectors, not released"),
}
"""The same of noisy vectors."""

MASKED = {1: "language model, 1 guess"} | {
    count: f"language model, {count} guesses" for count in (5, 10)
}
"""Who guesses by the words around only, by its number of guesses."""

READERS = {"nearest": "", "rank_c": ", `--rank_c 0.02`", "context": ", `--decode context`"}

_MR, _BROWN = "mr_sentence_polarity", "brown"
_DOCUMENTS = {_MR: 300, _BROWN: 30}
"""How many are attacked, but for the table of more documents."""


class MatrixTable(NamedTuple):
    """A table.

    Attributes:
      private: the corpus.
      words: which are counted, of all or of rare ones; None for both, next to each other.
    """

    private: str
    words: str | None = None


MATRIX = {
    "matrix-mr": MatrixTable(_MR, "all"),
    "matrix-mr-rare": MatrixTable(_MR, "rare"),
    "matrix-mr-noisy": MatrixTable(_MR),
    "matrix-brown": MatrixTable(_BROWN, "all"),
    "matrix-brown-rare": MatrixTable(_BROWN, "rare"),
    "matrix-brown-noisy": MatrixTable(_BROWN),
}

Drawn = tuple[list[str], list[list[str]], list[Row]]


class Setting(NamedTuple):
    """What was run.

    Attributes:
      private: the corpus.
      mechanism: its name.
      epsilon: of the mechanism.
      reader: a key of ``READERS``.
      seed: of documents and noise.
      documents: how many were attacked.
    """

    private: str
    mechanism: str
    epsilon: float
    reader: str
    seed: int
    documents: int

    @property
    def text(self) -> str:
        """As a table has it."""
        return f"{self.mechanism}{READERS[self.reader]}"

    @property
    def more(self) -> bool:
        """Whether more documents were attacked than elsewhere."""
        return self.documents > _DOCUMENTS[self.private]


Settings = dict[Setting, dict[tuple[str, str], Row]]


def settings(path: Path = ROWS) -> Settings:
    """The rows of each setting, by attacker and what it sees; in the order of tables."""
    by_setting: Settings = {}
    for row in map(json.loads, path.read_text("utf-8").splitlines()):
        names = (row[name] for name in Setting._fields)
        by_setting.setdefault(Setting(*names), {})[row["attacker"], row["sees"]] = row
    readers = list(READERS)
    order = sorted(
        by_setting,
        key=lambda each: (
            each.private, each.mechanism, each.epsilon, readers.index(each.reader), each.seed,
            each.documents,
        ),
    )  # fmt: skip
    return {setting: by_setting[setting] for setting in order}


def matrix(name: str) -> Drawn:
    """Headings, cells and rows of a table."""
    if name in OTHERS:
        return OTHERS[name]()
    table, used, cells = MATRIX[name], list[Row](), list[list[str]]()
    first = {
        setting: rows
        for setting, rows in settings().items()
        if setting.private == table.private and setting.seed == 0 and not setting.more
    }
    if table.words is None:
        noisy = [("all", each) for each in NOISY] + [("rare", each) for each in NOISY]
        headings = [column if words == "all" else f"rare: {column}" for words, column in noisy]
        vectors: dict[tuple[str, float], dict[tuple[str, str], Row]] = {}
        for setting, rows in first.items():  # the same for all readers
            if NOISY["learned"] in rows:
                vectors.setdefault((setting.mechanism, setting.epsilon), {}).update(rows)
        for (mechanism, epsilon), rows in vectors.items():
            shares = [_cell(rows.get(NOISY[column]), words) for words, column in noisy]
            cells.append([mechanism, f"{epsilon:g}", *shares])
            used += rows.values()
    else:
        headings = list(RELEASED)
        for setting, rows in first.items():
            shares = [_cell(rows.get(attacker), table.words) for attacker in RELEASED.values()]
            cells.append([setting.text, f"{setting.epsilon:g}", *shares])
            used += rows.values()
    return ["released", "ε", *headings], cells, used


def _cell(row: Row | None, words: str) -> str:
    if row is None:
        return "–"
    share, low, high = (100 * value for value in row[words])
    return f"{share:.1f} ({low:.1f}–{high:.1f})"


def _guessed() -> Drawn:
    """What the words around give away, with what whoever sees no word gets in as many guesses."""
    used, cells = list[Row](), list[list[str]]()
    for setting, rows in settings().items():
        some = [rows[each, "released words around"] for each in MASKED.values() if _AROUND in rows]
        shares = [
            (f"{100 * row['chance_all']:.1f}", _cell(row, "all"), _cell(row, "rare"))
            for row in some
        ]
        if some:
            names = (_CORPORA[setting.private], setting.text, f"{setting.epsilon:g}")
            cells.append([*names, *chain.from_iterable(shares)])
        used += some
    headings = [
        f"{count}: {column}" for count in MASKED for column in ("chance", "all words", "rare words")
    ]
    return ["corpus", "released", "ε", *headings], cells, used


_AROUND = (MASKED[1], "released words around")


def _seeds() -> Drawn:
    """Settings that were run with several seeds: the share that each gives."""
    runs: dict[tuple[Any, ...], list[dict[tuple[str, str], Row]]] = {}
    for setting, rows in settings().items():
        if not setting.more:
            key = (setting.private, setting.text, f"{setting.epsilon:g}")
            runs.setdefault(key, []).append(rows)
    used, cells = list[Row](), list[list[str]]()
    noisy = {f"{name}, noisy vectors": NOISY[name] for name in ("context", "learned")}
    left_out = ("word by word", "pretrained")
    columns = {name: one for name, one in RELEASED.items() if name not in left_out} | noisy
    for (private, text, epsilon), seeds in runs.items():
        if len(seeds) == 1:
            continue
        for words in ("all", "rare"):
            shares = [
                ", ".join(_share(rows.get(attacker), words) for rows in seeds)
                for attacker in columns.values()
            ]
            cells.append([_CORPORA[private], text, epsilon, words, *shares])
        used += [row for rows in seeds for row in rows.values()]
    return ["corpus", "released", "ε", "words", *columns], cells, used


def _more() -> Drawn:
    """What attackers of released words get of more documents."""
    used, cells = list[Row](), list[list[str]]()
    columns = {name: one for name, one in RELEASED.items() if name != "pretrained"}
    for setting, rows in settings().items():
        for words in ("all", "rare") if setting.more else ():
            names = (_CORPORA[setting.private], setting.text, f"{setting.epsilon:g}", words)
            cells.append([*names, *(_cell(rows.get(one), words) for one in columns.values())])
            used += rows.values()
    return ["corpus", "released", "ε", "words", *columns], cells, used


_CORPORA = {_MR: "MR", _BROWN: "Brown"}


def _share(row: Row | None, words: str) -> str:
    return "–" if row is None else f"{100 * row[words][0]:.1f}"


def _times() -> Drawn:
    """Processor time of runs of the command."""
    kinds: dict[tuple[str, str], dict[tuple[Any, ...], float]] = {}
    used = [row for one, rows in settings().items() if not one.more for row in rows.values()]
    for row in used:
        how = READERS["context"] if row["reader"] == "context" else ""
        if row["setting"].endswith("+rank_c"):
            how = ", without and with `--rank_c 0.02`"
        how += ", with a pretrained model" if row.get("attacker_model") else ""
        run = (row["setting"], row["seed"])
        kind = kinds.setdefault((_CORPORA[row["private"]], row["mechanism"] + how), {})
        kind[run] = row["processor_seconds"] / 60
    cells = [
        [*kind, f"{len(runs)}", _minutes(runs.values())] for kind, runs in sorted(kinds.items())
    ]
    return ["corpus", "run", "runs", "processor minutes, median (least–most)"], cells, used


def _minutes(values: Iterable[float]) -> str:
    every = sorted(values)
    return f"{median(every):.1f} ({every[0]:.1f}–{every[-1]:.1f})"


OTHERS = {
    "matrix-guessed": _guessed,
    "matrix-seeds": _seeds,
    "matrix-more": _more,
    "matrix-times": _times,
}
"""Tables of both corpora."""
