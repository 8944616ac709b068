"""The picture of the frontier: utility against risk, a panel for each c of rank resampling."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from matplotlib.figure import Figure as Plot

from dxbeam.analysis.frontier.compute import Estimate, Point
from dxbeam.analysis.pages.figures import INK, as_svg
from dxbeam.analysis.pages.model import Figure
from dxbeam.analysis.pages.page import figure

_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6bb1", "#a6761d")
_MARKERS = "os^DvPX*<>ph"
_DASHES = ("solid", (0, (5, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)))

AXES = {
    "useful": "share of words original or close",
    "task_accuracy": "accuracy of what is learnt",
}
"""What can be drawn against the share recovered."""


def panels(
    points: Sequence[Point], most_risk: float, utility: str, levels: dict[str, float]
) -> list[Figure]:
    """A panel without rank resampling and one for each c, all with the same axes and marks.

    Args:
      points: of all curves.
      most_risk: the limit, which is drawn.
      utility: what is drawn against the share recovered, a key of ``AXES``.
      levels: heights at which a line is drawn, by what they are called.
    """
    names = list(dict.fromkeys(point.curve[:2] for point in points))
    figures = []
    for c in sorted({point.rank_c or 0.0 for point in points}):
        at_c = [point for point in points if (point.rank_c or 0.0) == c]
        title = f"With rank resampling, c = {c:g}" if c else "Without rank resampling"
        drawn = _panel(at_c, names, most_risk, utility, levels)
        figures.append(figure(title, drawn, in_words(at_c, utility)))
    return figures


def without_c(point: Point) -> str:
    """Mechanism and parameters, in words."""
    return point.mechanism + (f" ({point.parameters})" if point.parameters else "")


def in_words(points: Sequence[Point], utility: str) -> str:
    """What a panel shows, for those who do not see it."""
    said = []
    for curve in dict.fromkeys(point.curve for point in points):
        of_curve = [point for point in points if point.curve == curve]
        first, last = (
            f"{_of(point, utility).value:.0%} and {point.released_word.value:.0%} at epsilon = "
            f"{point.epsilon:g}"
            for point in (of_curve[0], of_curve[-1])
        )
        said.append(f"{without_c(of_curve[0])} from {first} to {last}")
    return (
        f"Up and left is better. Across, the share of words recovered from the released word; up, "
        f"the {AXES[utility]}. Up and across: {'; '.join(said)}."
    )


def _panel(
    points: Sequence[Point],
    names: Sequence[Any],
    most_risk: float,
    utility: str,
    levels: dict[str, float],
) -> str:
    plot = Plot(figsize=(5.2, 4.6), layout="constrained")
    axes = plot.add_subplot()
    axes.axvline(most_risk, color=INK, linewidth=0.8, linestyle=(0, (4, 3)))
    axes.text(most_risk, 1.0, f" {most_risk:.0%}", color=INK, fontsize=8, va="top",
              transform=axes.get_xaxis_transform())  # fmt: skip
    for name, level in levels.items():
        axes.axhline(level, color=INK, linewidth=0.8, linestyle=(0, (1, 2)))
        axes.text(1.0, level, name, color=INK, fontsize=8, ha="right", va="bottom",
                  transform=axes.get_yaxis_transform())  # fmt: skip
    for number, curve in enumerate(names):
        of_curve = [point for point in points if point.curve[:2] == curve]
        if of_curve:
            across = [point.released_word for point in of_curve]
            up = [_of(point, utility) for point in of_curve]
            axes.errorbar(
                [estimate.value for estimate in across],
                [estimate.value for estimate in up],
                xerr=_whiskers(across),
                yerr=_whiskers(up),
                color=_COLOURS[number % len(_COLOURS)],
                linestyle=_DASHES[(number + number // len(_COLOURS)) % len(_DASHES)],
                marker=_MARKERS[number % len(_MARKERS)],
                markersize=4,
                linewidth=1.2,
                elinewidth=0.5,
                label=without_c(of_curve[0]),
            )
    axes.set(xlabel="share of words recovered", ylabel=AXES[utility], xlim=(-0.02, 1.02))
    if utility == "useful":
        axes.set(ylim=(-0.02, 1.02))
    longest = max(len(without_c(point)) for point in points)
    return as_svg(plot, axes, legend_columns=3 if longest < 20 else 2 if longest < 30 else 1)


def _of(point: Point, utility: str) -> Estimate:
    estimate = point.estimate(utility)
    assert estimate is not None
    return estimate


def _whiskers(estimates: Iterable[Estimate]) -> list[tuple[float, ...]]:
    return list(
        zip(
            *(
                (estimate.value - estimate.low, estimate.high - estimate.value)
                for estimate in estimates
            ),
            strict=True,
        )
    )
