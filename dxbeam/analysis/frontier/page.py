"""The frontier as files: frontier.parquet, and a page with the picture."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import apache_beam as beam
from apache_beam import pvalue

from dxbeam import storage
from dxbeam.analysis.attackers.resampled_channel import MOST_RANKS
from dxbeam.analysis.frontier import attackers_table
from dxbeam.analysis.frontier.compute import Point, best_within, compared
from dxbeam.analysis.frontier.equal_risk import read_off
from dxbeam.analysis.frontier.picture import panels, without_c
from dxbeam.analysis.measure.public_parameters import taken_apart
from dxbeam.analysis.measure.settings import promises
from dxbeam.analysis.measure.tables import write_table
from dxbeam.analysis.pages import page as pages
from dxbeam.analysis.pages.model import Figure, Page
from dxbeam.analysis.pages.page import Heading, render
from dxbeam.mechanisms import parse_parameters

FRONTIER, ATTACKERS, PAGE = "frontier.parquet", "attackers.parquet", "report.html"

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
      importance: a sentence on the public weights of words; "" for none.
    """

    heading: Heading
    public: str
    most_risk: float
    rank_cs: tuple[float, ...] = ()
    left_out: tuple[str, ...] = ()
    importance: str = ""


class WriteFrontier(beam.PTransform):
    """Writes table and page: PCollection[tuple[int, Point]] -> PCollection[str], the page's name.

    Args:
      output: an empty directory or gs:// prefix.
      request: what the page says was asked.
      left_out: PCollection[int] of one, how many records of the corpus could not be read.
      utility: of documents, as ``MeasureDocuments`` makes it; None where none were released.
      baseline: PCollection[TaskBaseline] of one, where there is utility.
    """

    def __init__(
        self,
        output: str,
        request: Asked,
        left_out: pvalue.PCollection,
        utility: pvalue.PCollection | None = None,
        baseline: pvalue.PCollection | None = None,
    ):
        super().__init__()
        self._output, self._request, self._left_out = output, request, left_out
        self._utility, self._baseline = utility, baseline

    def expand(self, points: pvalue.PCollection) -> pvalue.PCollection:
        """Writes when everything is there."""
        one = points.pipeline | "One" >> beam.Create([self._output])
        further = [pvalue.AsSingleton(self._left_out)]
        if self._utility is not None:
            further += [pvalue.AsDict(self._utility), pvalue.AsSingleton(self._baseline)]
        return one | "Write" >> beam.Map(_write, self._request, pvalue.AsIter(points), *further)


def _write(
    output: str,
    request: Asked,
    numbered: Iterable[tuple[int, Point]],
    left_out: int,
    utility: Mapping[Any, Any] | None = None,
    baseline: Any = None,
) -> str:
    ordered = sorted(numbered, key=lambda entry: (entry[0], entry[1].rank_c or 0))
    points = [
        entry.with_documents(**utility[part, entry.rank_c]._asdict()) if utility else entry
        for part, entry in ordered
    ]
    write_table(storage.join(output, FRONTIER), [entry.as_row() for entry in points])
    rows = [row.as_row() for row in attackers_table.gained(points)]
    if rows:
        write_table(storage.join(output, ATTACKERS), rows, attackers_table.COLUMNS)
    path = storage.join(output, PAGE)
    storage.create_once(path, page(request, points, baseline, left_out).encode())
    return path


def page(request: Asked, points: Sequence[Point], baseline: Any = None, left_out: int = 0) -> str:
    """The page as HTML.

    Args:
      request: what was asked.
      points: what was found, each curve in increasing order of epsilon.
      baseline: what the task is measured against; None where there is none.
      left_out: records of the corpus that could not be read.
    """
    best = best_within(points, request.most_risk)
    curves, within = {point.curve: point for point in points}, {point.curve for point in best}
    tasks: list[Figure] = []
    if baseline is not None:
        levels = {
            "learnt from the originals": baseline.original.value,
            "always the commonest class": baseline.majority.value,
        }
        tasks = panels(points, request.most_risk, "task_accuracy", levels)
    return render(
        "frontier.html.jinja",
        Page(
            f"Utility against risk: {request.heading.vocabulary['name']}",
            "What settings leave, and what attackers get",
            request.heading.command,
        ),
        asked=request,
        left_out=left_out,
        points=points,
        one_by_one=next((point.words for point in points if not point.of_texts), 0),
        in_texts=next((point.words for point in points if point.of_texts), 0),
        pictures=panels(points, request.most_risk, "useful", {}),
        baseline=baseline,
        tasks=tasks,
        gained=list(attackers_table.gained(points)),
        equal=read_off(points, request.most_risk),
        chosen=_chosen(best, request.heading.vocabulary["name"], baseline is not None),
        nowhere=[named(curves[curve]) for curve in curves if curve not in within],
        not_followed=not_followed(points, request.rank_cs),
        because=LEFT_OUT_BECAUSE,
        most_ranks=MOST_RANKS,
        named=named,
    )


class Chosen(NamedTuple):
    """A row of the page's table of settings within the limit.

    Attributes:
      number: of the row, from 1.
      point: the setting.
      flags: of dxbeam sanitize; "" for a mechanism that needs a separate consent.
      over: numbers of the rows of which it surely leaves more, as 2, 4–6; "" for none.
      learns_over: numbers of the rows from which the task is surely learnt worse.
    """

    number: int
    point: Point
    flags: str
    over: str
    learns_over: str


def _chosen(best: Sequence[Point], vocabulary: str, with_task: bool) -> list[Chosen]:
    numbers = {point.curve: number for number, point in enumerate(best, 1)}

    def over(by: str) -> dict[int, list[int]]:
        rows: dict[int, list[int]] = {number: [] for number in numbers.values()}
        for one, other, more in compared(best, by):
            if more is not None:
                less = other if more is one else one
                rows[numbers[more.curve]].append(numbers[less.curve])
        return rows

    leaves, learns = over("useful"), over("task_accuracy") if with_task else {}
    return [
        Chosen(
            number,
            point,
            flags(point, vocabulary) if _promises(point) else "",
            _runs(sorted(leaves[number])),
            _runs(sorted(learns.get(number, []))),
        )
        for number, point in enumerate(best, 1)
    ]


def _runs(numbers: Sequence[int]) -> str:
    """1, 2, 3, 5 as 1–3, 5."""
    runs = [
        [number for _, number in run]
        for _, run in itertools.groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0])
    ]
    return ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs)


def not_followed(points: Sequence[Point], rank_cs: Sequence[float]) -> list[str]:
    """Points with rank resampling that spreads too far for the attacker, in words."""
    there = {(*point.curve, point.epsilon) for point in points}
    return [
        f"{named(point._replace(rank_c=c))} at epsilon = {point.epsilon:g}"
        for point in points
        for c in rank_cs
        if point.rank_c is None and (*point.curve[:2], c, point.epsilon) not in there
    ]


def named(point: Point) -> str:
    """Mechanism and c, in words."""
    resampled = f", c = {point.rank_c:g}" if point.rank_c else ""
    promised = "" if _promises(point) else ", which needs --allow_unsound"
    return f"{without_c(point)}{resampled}{promised}"


def _promises(point: Point) -> bool:
    parameters = taken_apart(point.parameters).parameters  # the flags change no such promise
    return promises(point.mechanism, tuple(parse_parameters(parameters).items()))


def flags(point: Point, vocabulary: str) -> str:
    """The flags of dxbeam sanitize that choose a point."""
    return pages.flags(point._asdict(), vocabulary)
