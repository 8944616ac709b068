"""Expected: counts the work that is to be done, so that the share that is done is known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import apache_beam as beam
from apache_beam import pvalue

from dxbeam.transforms.progress import EXPECTED, Progress


class Expected(beam.PTransform):
    """Passes elements on as they are, and counts them as work to be done.

    Whoever does the work counts it under the same name, such as "settings".
    """

    def __init__(self, what: str):
        super().__init__()
        self._what = what

    def expand(self, work: pvalue.PCollection) -> pvalue.PCollection:
        """One step."""
        counted = work | "Count" >> beam.ParDo(_CountExpected(self._what))
        counted.element_type = work.element_type
        return counted


class ExpectedInAll(beam.PTransform):
    """Counts work whose amount is known when the pipeline is built: PBegin -> nothing of use."""

    def __init__(self, what: str, number: int):
        super().__init__()
        self._what, self._number = what, number

    def expand(self, begin: pvalue.PBegin) -> pvalue.PCollection:
        """One step."""
        return (
            begin | beam.Impulse() | "Count" >> beam.ParDo(_CountExpected(self._what, self._number))
        )


class _CountExpected(beam.DoFn):
    def __init__(self, what: str, number: int = 1):
        self._name, self._number = EXPECTED + what, number

    def setup(self) -> None:
        self._progress = Progress()

    def process(self, element: Any) -> Iterator[Any]:
        self._progress.count(**{self._name: self._number})
        yield element

    def finish_bundle(self) -> None:
        self._progress.tell()
