"""What a measurement found, as files: tables, and a page that needs nothing from elsewhere."""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterable, Sequence
from importlib import metadata
from typing import Any, NamedTuple

import apache_beam as beam
import pyarrow as pa
import pyarrow.parquet as pq
from apache_beam import pvalue
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from dxbeam import storage
from dxbeam.analysis.figures import nearer_figure, shares_figure
from dxbeam.analysis.geometry import Nearer, Threshold
from dxbeam.analysis.measure import UNIFORM, Setting
from dxbeam.analysis.measure import rows as rows_of
from dxbeam.analysis.proportions import Sums

REPORT, PROPORTIONS, GEOMETRY = "report.html", "proportions.parquet", "geometry.parquet"

Row = dict[str, Any]


class Measurement(NamedTuple):
    """What is known before anything is measured.

    Attributes:
      settings: what is measured.
      thresholds: the rows of geometry.parquet.
      points: of the plot of the geometry; empty for none.
      vocabulary: its ``name``, ``words`` and ``dimensions``.
      command: by which it is measured.
    """

    settings: list[Setting]
    thresholds: list[Threshold]
    points: list[Nearer]
    vocabulary: dict[str, Any]
    command: str


class WriteReport(beam.PTransform):
    """Writes tables and page: PCollection[tuple[int, Sums]] -> PCollection[str], the page's name.

    Args:
      output: an empty directory or gs:// prefix.
      measurement: what was measured; the numbers of the sums are places in its settings.
    """

    def __init__(self, output: str, measurement: Measurement):
        super().__init__()
        self._output = output
        self._measurement = measurement

    def expand(self, sums: pvalue.PCollection) -> pvalue.PCollection:
        """Writes when all sums are there."""
        return (
            sums.pipeline
            | "Once" >> beam.Create([self._output])
            | "Write" >> beam.Map(_write, self._measurement, pvalue.AsIter(sums))
        )


def _write(output: str, measurement: Measurement, sums: Iterable[tuple[int, Sums]]) -> str:
    rows = [
        row
        for number, found in sorted(sums, key=lambda pair: pair[0])
        for row in rows_of(measurement.settings[number], found)
    ]
    geometry = [
        {name: value for name, value in threshold._asdict().items() if name != "values"}
        for threshold in measurement.thresholds
    ]
    _write_table(storage.join(output, PROPORTIONS), rows)
    _write_table(storage.join(output, GEOMETRY), geometry)
    path = storage.join(output, REPORT)
    storage.create_once(path, page(measurement, rows).encode())
    return path


def _write_table(path: str, rows: list[Row]) -> None:
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), buffer)
    storage.create_once(path, buffer.getvalue())


def page(measurement: Measurement, rows: Sequence[Row]) -> str:
    """The page as HTML.

    Args:
      measurement: what was measured.
      rows: of proportions.parquet.
    """
    environment = Environment(
        loader=PackageLoader("dxbeam.analysis", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    return environment.get_template("report.html.jinja").render(
        version=metadata.version("dxbeam"),
        vocabulary=measurement.vocabulary,
        words=max((row["words"] for row in rows), default=0),
        weighting=UNIFORM,
        parts=[_part(setting, rows) for setting in measurement.settings],
        thresholds=measurement.thresholds,
        nearer_svg=Markup(nearer_figure(measurement.points)) if measurement.points else "",
        nearer_alt="How probable it is, at each epsilon, that the nearer of two words wins: at the "
        "mean threshold (solid, as the paper draws it) and as a mean over words (dotted)",
        command=measurement.command,
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
        "promise": f"At epsilon = {setting.epsilons[0]:g}, for example: {guarantee.sentence}",
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
