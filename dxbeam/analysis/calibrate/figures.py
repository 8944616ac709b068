"""The plot behind a calibration, as SVG text."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from dxbeam.analysis.pages.figures import INK, SERIES, Row, as_svg, plot_shares


def targets_figure(
    rows: Sequence[Row], against: str, at: float | None, targets: Sequence[tuple[str, float]]
) -> str:
    """Shares against epsilon or c, the levels that were asked for, and the answer's place: SVG.

    Args:
      rows: of calibration.parquet, in increasing order of what they are drawn against.
      against: "epsilon" or "rank_c".
      at: the answer's value of it; None for none.
      targets: (share, value).
    """
    figure = Figure(figsize=(6.4, 3.4), layout="constrained")
    axes = figure.add_subplot()
    plot_shares(axes, rows, against)
    for share, value in targets:
        axes.axhline(value, color=SERIES[share][0], linewidth=0.8)
    if at is not None:
        axes.axvline(at, color=INK, linewidth=0.8)
    if against == "rank_c":
        axes.set_xscale("log")
    label = "c of rank resampling" if against == "rank_c" else against
    axes.set(xlabel=label, ylabel="share of words", ylim=(-0.02, 1.02))
    return as_svg(figure, axes)
