"""Plots as SVG text, in colours that work on light and dark ground and without colour."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

SERIES = {
    "original": ("#0072b2", "solid"),
    "close": ("#009e73", "dashed"),
    "distant": ("#d55e00", "dotted"),
}
"""Colour and dash of each share (Okabe and Ito's colours for all kinds of sight)."""

_INK = "#858585"  # readable on white and on black


def shares_figure(rows: Sequence[dict[str, Any]]) -> str:
    """Original, close and distant against epsilon with their intervals, for one setting: SVG.

    Args:
      rows: of proportions.parquet, in increasing order of epsilon.
    """
    figure = Figure(figsize=(6.4, 3.4), layout="constrained")
    axes = figure.add_subplot()
    epsilons = [row["epsilon"] for row in rows]
    for name, (colour, dash) in SERIES.items():
        axes.plot(epsilons, [row[name] for row in rows], color=colour, linestyle=dash, label=name)
        axes.fill_between(
            epsilons,
            [row[f"{name}_low"] for row in rows],
            [row[f"{name}_high"] for row in rows],
            color=colour,
            alpha=0.25,
            linewidth=0,
        )
    axes.set(xlabel="epsilon", ylabel="share of words", ylim=(-0.02, 1.02))
    return _as_svg(figure, axes)


def nearer_figure(points: Sequence[Any]) -> str:
    """F_Z of each pair against epsilon, at the mean of z (solid) and as a mean (dotted): SVG.

    Args:
      points: ``geometry.Nearer``.
    """
    figure = Figure(figsize=(6.4, 3.4), layout="constrained")
    axes = figure.add_subplot()
    for pair, (colour, _) in zip(
        dict.fromkeys(point.pair for point in points), SERIES.values(), strict=False
    ):
        own = [point for point in points if point.pair == pair]
        epsilons = [point.epsilon for point in own]
        axes.plot(epsilons, [point.at_mean for point in own], color=colour, label=pair)
        axes.plot(epsilons, [point.mean for point in own], color=colour, linestyle="dotted")
    axes.set(xlabel="epsilon", ylabel="probability", ylim=(0.48, 1.02))
    return _as_svg(figure, axes)


def _as_svg(figure: Figure, axes: Any) -> str:
    figure.patch.set_alpha(0)
    axes.patch.set_alpha(0)
    axes.grid(color=_INK, alpha=0.25, linewidth=0.6)
    axes.tick_params(colors=_INK)
    for side, spine in axes.spines.items():
        spine.set_color(_INK)
        spine.set_visible(side in ("left", "bottom"))
    for label in (axes.xaxis.label, axes.yaxis.label):
        label.set_color(_INK)
    axes.legend(frameon=False, labelcolor=_INK)
    buffer = io.StringIO()
    # Text stays text, so that it can be searched and read aloud; no date, so that reports repeat.
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "dxbeam"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return buffer.getvalue()[buffer.getvalue().index("<svg") :]
