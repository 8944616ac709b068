"""Plots as SVG text for a page: in its ink, and in colours that work on light and dark ground."""

from __future__ import annotations

import io
import itertools
import math
import operator
from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

SERIES = {
    "original": ("#0072b2", "solid"),
    "close": ("#009e73", "dashed"),
    "distant": ("#d55e00", "dotted"),
}
"""Colour and dash of each share (Okabe and Ito's colours for all kinds of sight)."""

Row = dict[str, Any]

INK = "#858585"  # replaced by the colour of the text that surrounds the plot

_DOTS_PER_INCH = 150  # of what is an image within a plot


def shares_figure(rows: Sequence[Row]) -> str:
    """Original, close and distant against epsilon with their intervals, for one setting: SVG.

    Args:
      rows: of proportions.parquet, in increasing order of epsilon.
    """
    figure, axes = _plot()
    plot_shares(axes, rows, "epsilon")
    axes.set(xlabel="epsilon", ylabel="share of words", ylim=(-0.02, 1.02))
    return as_svg(figure, axes)


def plot_shares(axes: Any, rows: Sequence[Row], against: str) -> None:
    """The three shares and the bands of their intervals, against a column of the rows."""
    places = [row[against] for row in rows]
    for name, (colour, dash) in SERIES.items():
        low, high = ([row[f"{name}_{end}"] for row in rows] for end in ("low", "high"))
        axes.plot(places, [row[name] for row in rows], color=colour, linestyle=dash, label=name)
        axes.fill_between(places, low, high, color=colour, alpha=0.25, linewidth=0)


def nearer_figure(points: Sequence[Any]) -> str:
    """F_Z of each pair against epsilon, at the mean of z (solid) and as a mean (dotted): SVG.

    Args:
      points: ``geometry.Nearer``.
    """
    figure, axes = _plot()
    for pair, (colour, _) in zip(
        dict.fromkeys(point.pair for point in points), SERIES.values(), strict=False
    ):
        of_pair = [point for point in points if point.pair == pair]
        epsilons = [point.epsilon for point in of_pair]
        axes.plot(epsilons, [point.at_mean for point in of_pair], color=colour, label=pair)
        axes.plot(epsilons, [point.mean for point in of_pair], color=colour, linestyle="dotted")
    axes.set(xlabel="epsilon", ylabel="probability", ylim=(0.48, 1.02))
    return as_svg(figure, axes)


def ranks_figure(shares: Sequence[Row], ranks: Sequence[Row]) -> str:
    """How many released words are among the first neighbours, at three epsilons: SVG.

    Args:
      shares: of proportions.parquet, without rank resampling.
      ranks: of ranks.parquet, for the same mechanism.
    """
    figure, axes = _plot()
    for row, (colour, dash) in zip(_telling(shares), SERIES.values(), strict=False):
        at_epsilon = [rank for rank in ranks if rank["epsilon"] == row["epsilon"]]
        axes.plot(
            [rank["last_rank"] + 1 for rank in at_epsilon],
            list(itertools.accumulate(rank["share"] for rank in at_epsilon)),
            color=colour,
            linestyle=dash,
            drawstyle="steps-post",
            label=f"epsilon = {row['epsilon']:g}",
        )
    axes.set(
        xscale="log",
        xlabel="nearest words, the original first",
        ylabel="share released from among them",
        ylim=(-0.02, 1.02),
    )
    return as_svg(figure, axes)


def ranks_in_words(shares: Sequence[Row], ranks: Sequence[Row]) -> str:
    """What ``ranks_figure`` shows."""
    said = []
    for row in _telling(shares):
        within = sum(
            rank["share"]
            for rank in ranks
            if rank["epsilon"] == row["epsilon"] and rank["last_rank"] <= 1000
        )
        said.append(
            f"at epsilon = {row['epsilon']:g}, {row['original']:.0%} are the original and "
            f"{within:.0%} are among its 1,000 nearest words"
        )
    return "Of the released words, " + "; ".join(said)


def _plot() -> tuple[Figure, Any]:
    """A figure of one plot."""
    figure = Figure(figsize=(5.2, 3.3), layout="constrained")
    return figure, figure.add_subplot()


def _telling(shares: Sequence[Row]) -> list[Row]:
    """The rows at which a tenth, half and nine tenths of the words stay, as far as there are."""
    crossing = [
        next((row for row in shares if row["original"] >= share), shares[-1])
        for share in (0.1, 0.5, 0.9)
    ]
    return [row for i, row in enumerate(crossing) if row not in crossing[:i]]


def words_figure(rows: Sequence[Row]) -> str:
    """N_w and S_w against epsilon: the median over words, and the middle 80 % of words: SVG.

    Args:
      rows: of words.parquet, for one mechanism.
    """
    figure, axes = _plot()
    for name, label, (colour, dash) in (
        ("n_w", "came out as itself (N_w)", SERIES["original"]),
        ("s_w", "different words that came out (S_w)", SERIES["distant"]),
    ):
        epsilons, low, middle, high = _over_words(rows, name)
        axes.plot(epsilons, middle, color=colour, linestyle=dash, label=label)
        axes.fill_between(epsilons, low, high, color=colour, alpha=0.25, linewidth=0)
    axes.set(xlabel="epsilon", ylabel=f"of {rows[0]['repeats']} releases", ylim=(0, None))
    return as_svg(figure, axes)


def words_in_words(rows: Sequence[Row]) -> str:
    """What ``words_figure`` shows."""
    turns = [_turn(row) for row in {row["word"]: row for row in rows}.values()]
    shown = (
        f"Each of {len(turns)} words was released {rows[0]['repeats']} times at each epsilon; "
        "lines are the median over words, bands hold the middle 80 % of words"
    )
    low, middle, high = np.quantile(turns, [0.1, 0.5, 0.9], method="inverted_cdf")
    if np.isinf(middle):
        return f"{shown}; most words turn outside these epsilons"
    low, high = max(low, rows[0]["epsilon"]), min(high, rows[-1]["epsilon"])
    return (
        f"{shown}. A word comes out as itself in half of its releases from epsilon = {middle:.3g} "
        f"on (median); for a tenth of the words that is below {low:.3g}, for a tenth above "
        f"{high:.3g}"
    )


def _turn(row: Row) -> float:
    """Where a word turns, by its last row; infinite below and above the epsilons of the rows."""
    if row["transition_epsilon"] is not None:
        return float(row["transition_epsilon"])
    return -math.inf if row["n_w"] >= row["repeats"] / 2 else math.inf


def _over_words(rows: Sequence[Row], name: str) -> tuple[list[float], Any, Any, Any]:
    epsilons = sorted({row["epsilon"] for row in rows})
    values = [[row[name] for row in rows if row["epsilon"] == epsilon] for epsilon in epsilons]
    low, middle, high = np.quantile(np.array(values), [0.1, 0.5, 0.9], axis=1)
    return epsilons, low, middle, high


def bounds_figure(rows: Sequence[Row]) -> str:
    """Bounds on how often words release themselves or their neighbour, and measured shares: SVG.

    Args:
      rows: of geometry.parquet, bounds and shares.
    """
    figure, axes = _plot()
    labels = {"w": "the word itself", "x1": "its nearest neighbour"}
    kinds = {"bound on the share released": "at most", "share released": "measured"}
    curves = operator.itemgetter("quantity", "between")
    for (quantity, released), curve in itertools.groupby(sorted(rows, key=curves), curves):
        points = [(row["epsilon"], row["value"]) for row in curve]
        axes.plot(
            *zip(*points, strict=True),
            color=SERIES["original" if released == "w" else "close"][0],
            linestyle="solid" if quantity == "share released" else "dotted",
            label=f"{labels[released]}, {kinds[quantity]}",
        )
    axes.set(xlabel="epsilon", ylabel="share of releases", ylim=(-0.02, 1.02))
    return as_svg(figure, axes)


def bounds_in_words(rows: Sequence[Row]) -> str:
    """What ``bounds_figure`` shows."""
    at = {(row["quantity"], row["between"], row["epsilon"]): row["value"] for row in rows}
    epsilons = sorted({row["epsilon"] for row in rows})
    middle = min(epsilons, key=lambda epsilon: abs(at["share released", "w", epsilon] - 0.5))
    bound, share = "bound on the share released", "share released"
    return (
        f"Means over {rows[0]['words']} words. At epsilon = {middle:g} a word can come out as "
        f"itself in at most {at[bound, 'w', middle]:.0%} of releases, as only one neighbour "
        f"allows, and does in {at[share, 'w', middle]:.0%}, as all the others stand in its way "
        f"too; its nearest neighbour comes out in at most {at[bound, 'x1', middle]:.0%}, and does "
        f"in {at[share, 'x1', middle]:.1%}"
    )


def shares_in_words(rows: Sequence[Row]) -> str:
    """What ``shares_figure`` shows."""
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


def as_svg(figure: Figure, axes: Any, *, legend_columns: int = 0) -> str:
    """A plot as SVG text for the middle of a page: no background, in the page's ink.

    Args:
      figure: the plot.
      axes: its one pair of axes.
      legend_columns: of a legend below the axes, for many curves; 0 for one within them.
    """
    figure.patch.set_alpha(0)
    axes.patch.set_alpha(0)
    axes.set_axisbelow(True)
    axes.grid(color=INK, alpha=0.18, linewidth=0.6)
    axes.tick_params(which="both", colors=INK)
    for side, spine in axes.spines.items():
        spine.set_color(INK)
        spine.set_visible(side in ("left", "bottom"))
    for label in (axes.xaxis.label, axes.yaxis.label):
        label.set_color(INK)
    if legend_columns:
        figure.legend(
            loc="outside lower center",
            ncols=legend_columns,
            frameon=False,
            labelcolor=INK,
            fontsize="small",
        )
    elif axes.get_legend_handles_labels()[0]:
        axes.legend(frameon=False, labelcolor=INK)
    buffer = io.StringIO()
    # Text stays text, so that it can be searched and read aloud; no date, so that reports repeat.
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "dxbeam"}):
        figure.savefig(
            buffer, format="svg", dpi=_DOTS_PER_INCH, metadata={"Date": None, "Creator": None}
        )
    text = buffer.getvalue().replace(INK, "currentColor")
    # What it shows is said by the words around it; its single labels would be noise to a reader.
    return text[text.index("<svg") :].replace("<svg", '<svg aria-hidden="true"', 1)


SHARES = shares_figure, shares_in_words
RANKS = ranks_figure, ranks_in_words
WORDS = words_figure, words_in_words
BOUNDS = bounds_figure, bounds_in_words
"""What draws each picture, and what says what it shows."""
