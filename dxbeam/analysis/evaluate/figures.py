"""What several releases of one corpus have come to, side by side: columns of a table, and plots."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from matplotlib.figure import Figure as Plot

from dxbeam.analysis.evaluate.classification import MAJORITY, ORIGINAL, RELEASED
from dxbeam.analysis.evaluate.text_features import WORDS
from dxbeam.analysis.measure.tables import Row
from dxbeam.analysis.pages.figures import INK, as_svg
from dxbeam.analysis.pages.model import Figure
from dxbeam.analysis.pages.page import figure

_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
_MARKS = ("o", "s", "^", "D", "v", "P")

LIKENESS = {
    "unchanged": "words unchanged",
    "bleu": "BLEU",
    "chrf": "chrF",
    "rougeL": "ROUGE-L",
    "wmd": "WMD",
}
"""Of the scores of texts, those that the table of releases has, and what it calls them."""

_PLOTTED = {
    "unchanged": "Words unchanged",
    "bleu": "BLEU, of 100",
    "wmd": "Word Mover's Distance, in units of the embedding",
}


class PlottedRelease(NamedTuple):
    """A release in a plot: its epsilon, and a row of scores.parquet."""

    epsilon: float
    row: Row


class Column(NamedTuple):
    """A score that releases are compared by.

    Attributes:
      title: what it is.
      metric, model, trained_on, tested_on: as in scores.parquet.
    """

    title: str
    metric: str
    model: str | None = None
    trained_on: str | None = None
    tested_on: str | None = None

    @property
    def key(self) -> tuple[str | None, ...]:
        """What its rows have in common."""
        return self.metric, self.model, self.trained_on, self.tested_on


Found = Mapping[tuple[Any, ...], Row]
"""Rows over all documents: the release, then a column's key -> the row."""


def found_by_release(rows: Sequence[Row]) -> Found:
    """The rows over all documents, by what they are of."""
    names = ("release", "metric", "model", "trained_on", "tested_on")
    return {
        tuple(row[name] for name in names): row
        for row in rows
        if row["group"] is None and row["training_documents"] is None
    }


def columns(scores: Found) -> list[Column]:
    """The columns of the table of releases: likeness, and classifiers by words."""
    metrics = dict.fromkeys(key[1] for key in scores)
    likeness = [Column(title, metric) for metric, title in LIKENESS.items() if metric in metrics]
    classified = []
    for metric in metrics:
        question = metric.removesuffix("_accuracy")
        if metric == "task_accuracy":
            classified.append(
                Column("task, trained on released text", metric, WORDS, RELEASED, ORIGINAL)
            )
        elif question.startswith("attack_") and question != metric:
            for trained_on, text in ((ORIGINAL, "originals"), (RELEASED, "released text")):
                title = f"attack on {question.removeprefix('attack_')}, trained on {text}"
                classified.append(Column(title, metric, WORDS, trained_on, RELEASED))
    return [*likeness, *classified]


def figures(scores: Found, releases: Sequence[Any]) -> list[Figure]:
    """Scores against epsilon, a line for all that is the same but for epsilon.

    Args:
      scores: the rows.
      releases: with their ``place``, ``curve`` and ``epsilon``.

    Returns:
      of each plot title, SVG and what it shows in words; none where there are not two epsilons.
    """
    if len({release.epsilon for release in releases} - {None}) < 2:
        return []
    drawn = []
    for column in columns(scores):
        curves = dict(_curves(scores, releases, column))
        title = _title(column)
        if title and curves:
            lines = _lines(scores, column) if column.model else {}
            drawn.append(
                figure(title, _plot(title, curves, lines), _in_words(curves, lines, column))
            )
    return drawn


def _title(column: Column) -> str | None:
    return f"Accuracy, {column.title}" if column.model else _PLOTTED.get(column.metric)


def _curves(
    scores: Found, releases: Sequence[Any], column: Column
) -> Iterator[tuple[str, list[PlottedRelease]]]:
    for curve in dict.fromkeys(release.curve for release in releases):
        of_curve = [release for release in releases if release.curve == curve]
        keyed = [(release.epsilon, (release.place, *column.key)) for release in of_curve]
        points = [
            PlottedRelease(epsilon, scores[key])
            for epsilon, key in keyed
            if epsilon is not None and key in scores
        ]
        if points:
            yield curve, sorted(points, key=lambda point: point.epsilon)


def without_release(scores: Found) -> dict[str, dict[str, Row]]:
    """What classifiers come to on originals only, and without reading: name -> metric -> row."""
    names = {
        "originals throughout": (WORDS, ORIGINAL, ORIGINAL),
        MAJORITY: (MAJORITY, None, None),
    }
    baselines: dict[str, dict[str, Row]] = {name: {} for name in names}
    for (release, metric, *how), row in scores.items():
        for name, alternatives in names.items():
            if release is None and tuple(how) == alternatives:
                baselines[name][metric] = row
    return baselines


def _lines(scores: Found, column: Column) -> dict[str, Row]:
    """What is the same for all releases."""
    every = without_release(scores)
    return {name: rows[column.metric] for name, rows in every.items() if column.metric in rows}


def _plot(
    title: str, curves: Mapping[str, Sequence[PlottedRelease]], lines: Mapping[str, Row]
) -> str:
    plot = Plot(figsize=(5.2, 3.6), layout="constrained")
    axes = plot.add_subplot()
    looks = zip(itertools.cycle(_COLOURS), itertools.cycle(_MARKS))
    for (curve, points), (colour, mark) in zip(curves.items(), looks, strict=False):
        rows = [point.row for point in points]
        around = [
            [abs(row["value"] - row[end]) for row in rows if row[end] is not None]
            for end in ("low", "high")
        ]
        axes.errorbar(
            [point.epsilon for point in points],
            [row["value"] for row in rows],
            yerr=around if len(around[0]) == len(rows) else None,
            color=colour,
            marker=mark,
            markersize=4,
            linewidth=1.2,
            elinewidth=1,
            capsize=2,
            label=curve,
        )
    for (name, row), dash in zip(lines.items(), ("dashed", "dotted"), strict=False):
        axes.axhline(row["value"], color=INK, linestyle=dash, linewidth=1, label=name)
    axes.set(xlabel="epsilon", ylabel="accuracy" if lines else title.partition(",")[0])
    axes.set_xticks(sorted({point.epsilon for points in curves.values() for point in points}))
    low, high = axes.get_ylim()
    axes.set_ylim(low, high + (0.06 + 0.1 * (len(curves) + len(lines))) * (high - low))  # legend
    return as_svg(plot, axes)


def _in_words(
    curves: Mapping[str, Sequence[PlottedRelease]], lines: Mapping[str, Row], column: Column
) -> str:
    said = []
    for curve, points in curves.items():
        values = ", ".join(f"{point.row['value']:.3g} at {point.epsilon:g}" for point in points)
        said.append(f"{curve}: {values}")
    said += [f"{name}: {row['value']:.3g}" for name, row in lines.items()]
    how = f", by {column.model}" if column.model else ""
    return f"Against epsilon{how}, with 95 % intervals. {'; '.join(said)}"
