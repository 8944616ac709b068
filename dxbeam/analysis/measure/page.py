"""What a measurement found, as files: tables, and a self-contained page."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import apache_beam as beam
from apache_beam import pvalue

from dxbeam import storage
from dxbeam.analysis.measure import tables
from dxbeam.analysis.measure.plan import Plan, nearest_laplace
from dxbeam.analysis.measure.plausible_deniability import Repeated
from dxbeam.analysis.measure.proportions import Sums
from dxbeam.analysis.measure.settings import Setting
from dxbeam.analysis.measure.tables import Row
from dxbeam.analysis.measure.word_sample import BY_FREQUENCY
from dxbeam.analysis.pages import figures, noise_figures
from dxbeam.analysis.pages.model import Figure, Page
from dxbeam.analysis.pages.page import REPORT, Heading, figure, flags, pictured, render
from dxbeam.analysis.theory import noise_shape, one_dimension
from dxbeam.transforms.reading.draw_texts import MOST_WORDS

_DRAWS = 10_000
_NUMBERS = 3_000_000  # of noise that is drawn for one picture


class WriteReport(beam.PTransform):
    """Writes tables and page: PCollection[Plan] of one -> PCollection[str], the page's name.

    Args:
      output: an empty directory or gs:// prefix.
      heading: what is known before.
      sums: PCollection[tuple[int, Sums]]; the numbers are places in the plan's settings.
      repeated: PCollection[tuple[int, Repeated]], likewise.
      left_out: PCollection[int] of one, how many records of the corpus could not be read.
    """

    def __init__(
        self,
        output: str,
        heading: Heading,
        sums: pvalue.PCollection,
        repeated: pvalue.PCollection,
        left_out: pvalue.PCollection,
    ):
        super().__init__()
        self._output = output
        self._heading = heading
        self._sums = sums
        self._repeated = repeated
        self._left_out = left_out

    def expand(self, plan: pvalue.PCollection) -> pvalue.PCollection:
        """Writes when everything is there."""
        return plan | "Write" >> beam.Map(
            _write,
            self._output,
            self._heading,
            pvalue.AsIter(self._sums),
            pvalue.AsIter(self._repeated),
            pvalue.AsSingleton(self._left_out),
        )


Tables = dict[str, list[Row]]
"""The rows of every table, by the name of its file."""


def _write(
    plan: Plan,
    output: str,
    heading: Heading,
    sums: Iterable[tuple[int, Sums]],
    repeated: Iterable[tuple[int, Repeated]],
    left_out: int,
) -> str:
    rows = tables_of(plan, heading, dict(sums), sorted(repeated, key=lambda pair: pair[1].id))
    for name, table in rows.items():
        if table:
            tables.write_table(storage.join(output, name), table)
    path = storage.join(output, REPORT)
    storage.create_once(path, page(plan, heading, rows, left_out).encode())
    return path


def tables_of(
    plan: Plan,
    heading: Heading,
    sums: dict[int, Sums],
    repeated: Sequence[tuple[int, Repeated]],
) -> Tables:
    """The rows of all tables."""
    weighting, words = plan.sample.weighting, heading.vocabulary["words"]
    laplace = nearest_laplace(plan.settings)
    with_noise = [word for part, word in repeated if plan.settings[part] is laplace]
    rows: Tables = {name: [] for name in tables.NAMES}
    for part, setting in enumerate(plan.settings):
        rows[tables.PROPORTIONS] += tables.proportion_rows(setting, weighting, sums[part])
        rows[tables.RANKS] += tables.rank_rows(setting, weighting, sums[part], words)
    for part, word in repeated:
        rows[tables.WORDS] += tables.word_rows(plan.settings[part], word)
    rows[tables.GEOMETRY] += tables.geometry_rows(
        plan.thresholds, plan.points, plan.bounds, with_noise
    )
    return rows


def page(plan: Plan, heading: Heading, rows: Tables, left_out: int) -> str:
    """The page as HTML.

    Args:
      plan: what was measured.
      heading: on what.
      rows: of all tables.
      left_out: records of the corpus that could not be read.
    """
    return render(
        "report.html.jinja",
        Page(
            f"What these settings do: {heading.vocabulary['name']}",
            "What these settings do",
            heading.command,
        ),
        heading=heading,
        sample=plan.sample,
        most_words=MOST_WORDS,
        by_frequency=plan.sample.weighting == BY_FREQUENCY,
        left_out=left_out,
        parts=[_part(setting, heading, rows) for setting in plan.settings],
        repeats=plan.repeats,
        repeated=len(plan.repeated),
        thresholds=plan.thresholds,
        geometry_figures=_geometry_figures(plan, rows),
        noise_figures=_noise_figures(plan, heading.vocabulary["dimensions"]),
        files=[name for name, table in rows.items() if table],
    )


def _part(setting: Setting, heading: Heading, rows: Tables) -> dict[str, Any]:
    guarantee = setting.configuration().guarantee()
    shares = _of(setting, rows[tables.PROPORTIONS])
    parts = []
    for c, group in itertools.groupby(shares, key=lambda row: row["rank_c"]):
        title = "Without rank resampling" if c is None else f"With rank resampling, c = {c:g}"
        shown = list(group)
        parts.append(replace(pictured(title, figures.SHARES, shown), rows=shown))
    useful = [
        (each.rows[0]["rank_c"], next((row for row in each.rows if row["distant"] <= 0.5), None))
        for each in parts
    ]
    plain = parts[0].rows
    ranks, words = _of(setting, rows[tables.RANKS]), _of(setting, rows[tables.WORDS])
    further = [
        pictured("How far the released words are from the original", figures.RANKS, plain, ranks)
    ]
    if words:
        further.append(
            pictured("Words differ: each word has a separate epsilon", figures.WORDS, words)
        )
    middle = next((row for row in plain if row["original"] >= 0.5), None)
    covered = guarantee.sound and not guarantee.unprotected  # others need a separate consent
    return {
        "mechanism": setting.mechanism,
        "parameters": setting.parameters_text,
        "promise": f"At epsilon = {setting.epsilons[0]:g}, for example: {guarantee.sentence}",
        "unprotected": "; ".join(guarantee.unprotected),
        "figures": parts,
        "useful": useful,
        "further": further,
        "flags": flags(middle, heading.vocabulary["name"]) if middle and covered else "",
    }


def _of(setting: Setting, rows: Iterable[Row]) -> list[Row]:
    key = setting.mechanism, setting.parameters_text
    return [row for row in rows if (row["mechanism"], row["parameters"]) == key]


def _geometry_figures(plan: Plan, rows: Tables) -> list[Figure]:
    drawn = []
    if plan.points:
        drawn.append(
            figure(
                "Which of two words is nearer to the noisy vector",
                figures.nearer_figure(plan.points),
                "How probable it is, at each epsilon, that the nearer of two words wins: at the "
                "mean threshold (solid, as the paper draws it) and as a mean over words (dotted)",
            )
        )
    bounds = [row for row in rows[tables.GEOMETRY] if row["epsilon"] is not None]
    bounds = [row for row in bounds if row["quantity"].endswith("share released")]
    if bounds:
        drawn.append(
            pictured("What the paper's bounds say, and what happens", figures.BOUNDS, bounds)
        )
    return drawn


def _noise_figures(plan: Plan, dimensions: int) -> list[Figure]:
    """The paper's Figures 1 and 4, where its mechanism is measured."""
    laplace = nearest_laplace(plan.settings)
    if laplace is None:
        return []
    epsilon = laplace.epsilons[len(laplace.epsilons) // 2]
    number = one_dimension.drawn_shares(one_dimension.EPSILONS, _DRAWS, seed=0)
    plane = noise_shape.draw(2, 1.0, _DRAWS, seed=0)
    here = noise_shape.draw(dimensions, epsilon, min(_DRAWS, _NUMBERS // dimensions), seed=0)
    return [
        pictured("Noise on one number", noise_figures.ONE_DIMENSION, number),
        pictured("Noise in two dimensions", noise_figures.CLOUD, plane),
        pictured("Its directions", noise_figures.DIRECTIONS, plane),
        pictured(f"Its length in {dimensions} dimensions", noise_figures.LENGTHS, here),
    ]
