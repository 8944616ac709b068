"""The frontier as files: frontier.parquet, and a page with the picture."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import apache_beam as beam
from apache_beam import pvalue
from matplotlib.figure import Figure

from dxbeam import storage
from dxbeam.analysis.figures import as_svg
from dxbeam.analysis.frontier import Point, best_within, compared
from dxbeam.analysis.pages import Heading, figure, render
from dxbeam.analysis.tables import write_table

FRONTIER, PAGE = "frontier.parquet", "report.html"

_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
_DASHES = ("solid", "dashed", "dotted", "dashdot")


LEFT_OUT_BECAUSE = (
    "They guarantee nothing, or not for every word; name them in --mechanisms to compare them."
)


class Asked(NamedTuple):
    """What the page says was asked.

    Attributes:
      heading: vocabulary, corpus and command.
      public: the files from which attackers know how frequent words are; "" for none.
      most_risk: the share of words that may be recovered.
      rank_cs: of rank resampling, besides none.
      left_out: mechanisms that "all" does not stand for.
    """

    heading: Heading
    public: str
    most_risk: float
    rank_cs: tuple[float, ...] = ()
    left_out: tuple[str, ...] = ()


class WriteFrontier(beam.PTransform):
    """Writes table and page: PCollection[tuple[int, Point]] -> PCollection[str], the page's name.

    Args:
      output: an empty directory or gs:// prefix.
      asked: what the page says was asked.
      utility: of documents, as ``MeasureDocuments`` makes it; None where none were released.
      baseline: PCollection[TaskBaseline] of one, where there is utility.
    """

    def __init__(
        self,
        output: str,
        asked: Asked,
        utility: pvalue.PCollection | None = None,
        baseline: pvalue.PCollection | None = None,
    ):
        super().__init__()
        self._output = output
        self._asked = asked
        self._utility = utility
        self._baseline = baseline

    def expand(self, points: pvalue.PCollection) -> pvalue.PCollection:
        """Writes when everything is there."""
        one = points.pipeline | "One" >> beam.Create([self._output])
        further = []
        if self._utility is not None:
            further = [pvalue.AsDict(self._utility), pvalue.AsSingleton(self._baseline)]
        return one | "Write" >> beam.Map(_write, self._asked, pvalue.AsIter(points), *further)


def _write(
    output: str,
    asked: Asked,
    numbered: Iterable[tuple[int, Point]],
    utility: Mapping[Any, Any] | None = None,
    baseline: Any = None,
) -> str:
    ordered = sorted(numbered, key=lambda found: (found[0], found[1].rank_c or 0))
    points = [
        found._replace(**(utility[part, found.rank_c]._asdict() if utility else {}))
        for part, found in ordered
    ]
    write_table(storage.join(output, FRONTIER), [found.as_row() for found in points])
    path = storage.join(output, PAGE)
    storage.create_once(path, page(asked, points, baseline).encode())
    return path


def page(asked: Asked, points: Sequence[Point], baseline: Any = None) -> str:
    """The page as HTML."""
    best = best_within(points, asked.most_risk)
    verdicts = [verdict for verdict in compared(best) if best[0] in (verdict.one, verdict.other)]
    picture = figure(
        "What a setting leaves, against what an attacker gets",
        frontier_figure(points),
        frontier_in_words(points),
    )
    return render(
        "frontier.html.jinja",
        asked=asked,
        points=points,
        picture=picture,
        best=[(found, flags(found, asked.heading.vocabulary["name"])) for found in best],
        surely=[named(verdict.other) for verdict in verdicts if verdict.more is not None],
        unsaid=[named(verdict.other) for verdict in verdicts if verdict.more is None],
        named=named,
    )


def named(point: Point) -> str:
    """Mechanism and c, in words."""
    parameters = f" ({point.parameters})" if point.parameters else ""
    resampled = f", c = {point.rank_c:g}" if point.rank_c else ""
    return f"{point.mechanism}{parameters}{resampled}"


def flags(point: Point, vocabulary: str) -> str:
    """The flags of dxbeam sanitize that choose a point."""
    made = f"--vocabulary {vocabulary} --mechanism {point.mechanism} --epsilon {point.epsilon:g}"
    if point.parameters:
        made += f" --parameters {point.parameters}"
    return made if point.rank_c is None else f"{made} --rank_c {point.rank_c:g}"


def frontier_figure(points: Sequence[Point]) -> str:
    """Utility against the risk from the released word, a curve a setting, with intervals: SVG."""
    plot = Figure(figsize=(7.5, 5), layout="constrained")
    axes = plot.add_subplot()
    colours = dict(zip({found.curve[:2]: 0 for found in points}, itertools.cycle(_COLOURS)))
    dashes = dict(zip({found.rank_c: 0 for found in points}, itertools.cycle(_DASHES)))
    for curve in {found.curve: 0 for found in points}:
        own = [found for found in points if found.curve == curve]
        risks, useful = (
            [getattr(found, name) for found in own] for name in ("released_word", "useful")
        )
        axes.errorbar(
            [risk.value for risk in risks],
            [share.value for share in useful],
            xerr=[[e.value - e.low for e in risks], [e.high - e.value for e in risks]],
            yerr=[[e.value - e.low for e in useful], [e.high - e.value for e in useful]],
            color=colours[curve[:2]],
            linestyle=dashes[curve[2]],
            linewidth=1.2,
            elinewidth=0.6,
            label=named(own[0]),
        )
    axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    axes.set(xlabel="share of words recovered", ylabel="share of words original or close")
    return as_svg(plot, axes)


def frontier_in_words(points: Sequence[Point]) -> str:
    """What ``frontier_figure`` shows."""
    told = []
    for curve in {found.curve: 0 for found in points}:
        own = [found for found in points if found.curve == curve]
        first, last = own[0], own[-1]
        told.append(
            f"{named(first)} runs from {first.useful.value:.0%} original or close and "
            f"{first.released_word.value:.0%} recovered at epsilon = {first.epsilon:g} to "
            f"{last.useful.value:.0%} and {last.released_word.value:.0%} at {last.epsilon:g}"
        )
    return "Up and left is better. " + "; ".join(told) + "."
