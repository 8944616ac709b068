"""What a calibration found: a self-contained page, and a few lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dxbeam.analysis.calibrate.compute import (
    CHOICE,
    SHARES,
    VERIFICATION,
    Answer,
    Row,
    best_at_each_epsilon,
    compared,
    grid_in_words,
    least_slack,
    of_half,
    same_setting,
    shares_in_words,
)
from dxbeam.analysis.calibrate.figures import targets_figure
from dxbeam.analysis.calibrate.transform import CURVE, Sampled
from dxbeam.analysis.pages import figures
from dxbeam.analysis.pages.model import Figure, Page
from dxbeam.analysis.pages.page import Heading, figure, render

SURE = "words that had no part in the choice; the intervals hold together with 95 % confidence"


class Release(NamedTuple):
    """What releasing with the answer means.

    Attributes:
      promise: the guarantee's sentence.
      unprotected: what it does not cover.
      costs: sentences on how well words can be told apart.
      command: with which flags it is done.
    """

    promise: str
    unprotected: tuple[str, ...]
    costs: list[str]
    command: str


class Calibrated(NamedTuple):
    """What was found.

    Attributes:
      heading: on what, and by which command.
      sampled: what the words were drawn from.
      rows: the curve.
      answer: what was asked for.
      uniform: the answer for the words of the vocabulary, where the first is for a corpus.
      release: where the answer is confirmed.
    """

    heading: Heading
    sampled: Sampled
    rows: list[Row]
    answer: Answer
    uniform: Answer | None
    release: Release | None

    @property
    def asked(self) -> str:
        """The targets, and of which mechanism."""
        targets = ", ".join(target.sentence for target in self.answer.targets)
        return f"{targets}, with {self.mechanism} on {self.heading.vocabulary['name']}"

    @property
    def mechanism(self) -> str:
        """Its name and parameters."""
        row = self.answer.verified
        return f"{row['mechanism']} {row['parameters']}".strip()

    @property
    def tried(self) -> str:
        """The grid."""
        return grid_in_words(
            sorted({row["epsilon"] for row in self.rows}),
            sorted({row["rank_c"] for row in self.rows if row["rank_c"] is not None}),
        )

    @property
    def failure(self) -> str:
        """Why there is no answer, in a sentence."""
        if least_slack(self.answer.chosen, self.answer.targets) >= 0:
            return (
                f"{self.answer.setting} gave {self.asked} on the words that it was chosen on, but "
                f"others do not confirm it: {self.answer.missed}"
            )
        return (
            f"none of the settings that were tried ({self.tried}) is sure to give {self.asked}; "
            f"{self.answer.setting} comes closest, with {self.answer.missed}"
        )

    @property
    def comparison(self) -> str:
        """How the answers for the corpus and the vocabulary differ; "" without a corpus."""
        return "" if self.uniform is None else compared(self.answer, self.uniform, self.rows)


def in_short(result: Calibrated) -> str:
    """The answer in a few lines, the flags last."""
    answer = result.answer
    lines = [f"Asked for: {result.asked}"]
    if result.release:
        lines += [
            f"Answer ({answer.weighting}): {answer.setting}",
            f"Shares on {answer.verified['words']:,} {SURE}:",
            f"  {shares_in_words(answer.verified)}",
        ]
    if result.uniform:
        lines.append(f"{result.comparison}.")
    if result.heading.corpus:
        lines.append(f"Computed from raw text: keep it with {result.heading.corpus}.")
    if result.release:
        lines += [
            f"Promise: {result.release.promise}",
            *(f"Not protected: {what}" for what in result.release.unprotected),
            *(f"  In context: {cost}." for cost in result.release.costs),
            "To release with it:",
            result.release.command,
        ]
    return "\n".join(lines)


def page(result: Calibrated) -> str:
    """The page as HTML."""
    answer = result.answer
    first = of_half(result.rows, answer.weighting, CHOICE)
    second = of_half(result.rows, answer.weighting, VERIFICATION)
    best = best_at_each_epsilon(first, answer.targets)
    return render(
        "calibration.html.jinja",
        Page(
            f"Which setting meets a target: {result.heading.vocabulary['name']}",
            "Which setting meets a target",
            result.heading.command,
        ),
        found=result,
        heading=result.heading,
        answer=answer,
        shares=SHARES,
        sure=SURE,
        target_of={share: [t for t in answer.targets if t.share == share] for share in SHARES},
        figures=_figures(answer, second),
        best=[same_setting(second, row) for row in best],
        curve=CURVE,
    )


def _figures(answer: Answer, rows: Sequence[Row]) -> list[Figure]:
    at = answer.verified
    levels = [(target.share, target.value) for target in answer.targets]
    c = "no rank resampling" if at["rank_c"] is None else f"c = {at['rank_c']:g}"
    along = [row for row in rows if row["rank_c"] == at["rank_c"]]
    across = [row for row in rows if row["epsilon"] == at["epsilon"]]
    resampled = [row for row in across if row["rank_c"] is not None]
    said = {row["rank_c"]: shares_in_words(row, intervals=False) for row in across}
    across_c = "; ".join(f"with c = {c:g} {said[c]}" for c in _telling(resampled, at))
    drawn = (
        (
            f"Shares against epsilon, with {c}",
            along,
            "epsilon",
            f"{figures.shares_in_words(along)}. The upright line is at {at['epsilon']:g}, "
            "level lines are at what was asked for",
        ),
        (
            f"Shares against c, at epsilon = {at['epsilon']:g}",
            resampled,
            "rank_c",
            f"At epsilon = {at['epsilon']:g}, {across_c}; without rank resampling {said[None]}",
        ),
    )
    return [
        figure(title, targets_figure(rows, against, at[against], levels), alt)
        for title, rows, against, alt in drawn
        if len(rows) > 1
    ]


def _telling(resampled: Sequence[Row], at: Row) -> list[float]:
    """The smallest, the chosen and the largest c, as far as there are."""
    rank_cs = [row["rank_c"] for row in resampled]
    return [c for c in rank_cs if c in (*rank_cs[:1], at["rank_c"], *rank_cs[-1:])]
