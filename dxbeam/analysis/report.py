"""The page that says what settings do: one HTML file, without anything from elsewhere."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

import dxbeam
from dxbeam.analysis.figures import nearer_figure, shares_figure
from dxbeam.analysis.geometry import Nearer, Threshold
from dxbeam.analysis.measure import UNIFORM, Setting

Row = dict[str, Any]


def page(
    settings: Sequence[Setting],
    rows: Sequence[Row],
    thresholds: Sequence[Threshold],
    points: Sequence[Nearer],
    vocabulary: Mapping[str, Any],
    command: str,
) -> str:
    """The page as HTML.

    Args:
      settings: what was measured.
      rows: the lines of proportions.parquet.
      thresholds: the lines of geometry.parquet; empty to leave the geometry out.
      points: of its plot.
      vocabulary: its ``name``, ``words`` and ``dimensions``.
      command: by which it was made.
    """
    environment = Environment(
        loader=PackageLoader("dxbeam.analysis", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    return environment.get_template("report.html.jinja").render(
        version=dxbeam.__version__,
        vocabulary=vocabulary,
        words=max((row["words"] for row in rows), default=0),
        weighting=UNIFORM,
        parts=[_part(setting, rows) for setting in settings],
        thresholds=thresholds,
        nearer_svg=Markup(nearer_figure(points)) if points else "",
        nearer_alt="How probable it is, at each epsilon, that the nearer of two words wins: at the "
        "mean threshold (solid, as the paper draws it) and as a mean over words (dotted)",
        command=command,
    )


def _part(setting: Setting, rows: Sequence[Row]) -> dict[str, Any]:
    made = setting.made()
    guarantee = made.guarantee()
    parameters = ",".join(f"{name}={value}" for name, value in setting.parameters)
    own = [
        row
        for row in rows
        if (row["mechanism"], row["parameters"]) == (setting.mechanism, parameters)
    ]
    figures = []
    for c, group in itertools.groupby(own, key=lambda row: row["rank_c"]):
        shown = list(group)
        title = "Without rank resampling" if c is None else f"With rank resampling, c = {c:g}"
        figures.append(
            {
                "title": title,
                "rows": shown,
                "alt": _in_words(shown),
                "svg": Markup(shares_figure(shown)),
            }
        )
    return {
        "mechanism": setting.mechanism,
        "parameters": parameters,
        "promise": f"At epsilon = {setting.epsilons[0]:g}: {guarantee.sentence}",
        "unprotected": "; ".join(guarantee.unprotected),
        "figures": figures,
    }


def _in_words(rows: Sequence[Row]) -> str:
    """What a figure shows, for those who do not see it."""
    first, last = rows[0], rows[-1]
    half = next((row for row in rows if row["original"] >= 0.5), None)
    closest = max(rows, key=lambda row: row["close"])
    turns = (
        f"half of the words come out as themselves from epsilon = {half['epsilon']:g} on"
        if half
        else "less than half of the words come out as themselves throughout"
    )
    return (
        f"From epsilon = {first['epsilon']:g} ({first['original']:.0%} original, "
        f"{first['close']:.0%} close, {first['distant']:.0%} distant) to {last['epsilon']:g} "
        f"({last['original']:.0%}, {last['close']:.0%}, {last['distant']:.0%}); {turns}; close "
        f"words are commonest at {closest['epsilon']:g}, with {closest['close']:.0%}"
    )
