"""Tables at equal recovery of rare words by the best attacker, from two benchmarks' rows.

What attackers get is in ``attacked.jsonl`` (benchmarks/attacked.py), and what a classifier learns
of the same settings in ``bases.jsonl`` (benchmarks/decoding.py). Rows are read off between two
epsilons by the code of ``dxbeam frontier``, with its intervals.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.rows import kept
from dxbeam.analysis.frontier.compute import Estimate, Point
from dxbeam.analysis.frontier.equal_risk import ReadOff, read_off

Row = dict[str, Any]

RESULTS = Path(__file__).parent / "results"

_DECODED = ":decode=context"


class RiskTable(NamedTuple):
    """A table of settings at equal risk.

    Attributes:
      private: the corpus.
      released: how many of its documents a classifier learns from.
      level: the share of rare words that the best attacker recovers.
    """

    private: str
    released: int = 8000
    level: float = 0.2


RISK_TABLES = {
    "bases-risk": RiskTable("mr_sentence_polarity"),
    "bases-risk-subjectivity": RiskTable("subjectivity"),
}


def _rows(file: str) -> list[Row]:
    return kept(RESULTS / f"{file}.jsonl")


def points_of(table: RiskTable) -> Iterator[tuple[Point, list[Row]]]:
    """Each setting whose risk and accuracy were both measured, and the rows that say so."""
    learnt = {
        (row["mechanism"], row["reader"], row["epsilon"]): row
        for row in _rows("bases")
        if (row["private"], row["documents"]) == (table.private, table.released)
    }
    for row in _rows("attacked"):
        mechanism = row["mechanism"].removesuffix(_DECODED)
        reader = "nearest" if mechanism == row["mechanism"] else "context"
        known = learnt.get((mechanism, reader, row["epsilon"]))
        if row["private"] != table.private or known is None:
            continue
        share, error = known["accuracy"]
        rare = max((row["context_rare"], row["knowing_rare"]), key=lambda risk: risk[0])
        name, _, parameters = row["mechanism"].partition(":")
        point = Point(
            name,
            parameters,
            None,
            row["epsilon"],
            row["documents"],
            useful=Estimate(*row["unchanged"]),
            unchanged=Estimate(*row["unchanged"]),
            released_word=Estimate(*row["unchanged"]),
            noisy_vector=None,
            documents={
                "context": Estimate(*max(row["unchanged"], row["context"])),
                "context_rare": Estimate(*rare),
                "unchanged_rare": Estimate(*row["unchanged_rare"]),
                "task_accuracy": Estimate(share, share - error, share + error),
            },
        )
        yield point, [row, known]


def columns_of(setting: ReadOff) -> list[str]:
    """The cells of a row, after the name of the setting."""
    shares = [setting.values[name] for name in ("context", "unchanged", "task_accuracy")]
    return [
        f"{setting.epsilon:.2f}",
        *(_cell(list(each)) for each in shares),
    ]


HEADINGS = ("ε", "recovered, of all words", "unchanged", "accuracy")


ATTACKED = {
    "attacked": ("attacked", "mr_sentence_polarity"),
    "attacked-subjectivity": ("attacked", "subjectivity"),
    "attacked-exponents": ("attacked_exponents", "mr_sentence_polarity"),
}
"""Tables of what attackers get at every epsilon: the rows' file, and the corpus."""

_SHARES = {
    "unchanged": "unchanged",
    "of rare words": "unchanged_rare",
    "recovered with context": "context",
    "of rare words, with context": "context_rare",
    "knowing which are rare": "knowing_rare",
}


def attacked(file: str, private: str) -> tuple[list[str], list[tuple[Row, list[str]]]]:
    """Headings after ε, and each row with its cells."""
    rows = [row for row in _rows(file) if row["private"] == private]
    rows.sort(key=lambda row: (row["mechanism"].split(":")[0], row["mechanism"], row["epsilon"]))
    cells = [[_cell(row[name]) for name in _SHARES.values()] for row in rows]
    return list(_SHARES), list(zip(rows, cells, strict=True))


def _cell(share: list[float]) -> str:
    value, low, high = share
    return f"{value:.3f} ({low:.3f}–{high:.3f})"


MODELS = {
    "fluent-models": ("fluent_models", {
    "kn3": "fluent, order 3",
    "kn2": "fluent, order 2",
    "wb2": "fluent, order 2, Witten and Bell's smoothing",
    "kn3:mix=.5": "fluent, order 3, half of each level the one below",
    "base": "santext, `--base frequency`",
    }),
    "exponents": ("exponents", {
        "kn2": "fluent, order 2",
        "kn2:tau=1.25": "fluent, order 2, τ = 1.25",
        "kn2:tau=1.5": "fluent, order 2, τ = 1.5",
        "words": "santext, words of `movie_reviews`",
        "words:tau=1.25": "santext, words of `movie_reviews`, τ = 1.25",
        "base": "santext, `--base frequency`",
    }),
}  # fmt: skip
"""Tables of benchmarks/fluent_models.py: their rows, and settings in words."""


def models(table: str) -> tuple[list[str], list[list[str]], list[Row]]:
    """Headings, cells and rows of a table of models: means over draws."""
    file, settings = MODELS[table]
    rows, cells = _rows(file), []
    for setting, name in settings.items():
        draws = [row for row in rows if row["setting"] == setting]
        means = [
            sum(row[share] for row in draws) / len(draws)
            for share in ("unchanged", "unchanged_rare")
        ]
        accuracies = sorted(row["accuracy"][0] for row in draws)
        cells.append([
            name,
            f"{draws[0]['epsilon']:g}",
            *(f"{mean:.3f}" for mean in means),
            f"{sum(accuracies) / len(draws):.3f} ({accuracies[0]:.3f}–{accuracies[-1]:.3f})",
        ])  # fmt: skip
    return ["released", "ε", "unchanged", "of rare words", "accuracy (least–most)"], cells, rows


def settings_at(table: RiskTable) -> tuple[list[ReadOff], list[Row]]:
    """Settings at the table's level, the largest accuracy first, and all rows that were used."""
    points, rows = [], []
    for point, used in points_of(table):
        points.append(point)
        rows += used
    settings = read_off(points, table.level)
    settings.sort(key=lambda each: -each.values["task_accuracy"].value)
    return settings, rows
