"""Tallies of documents -> tallies of groups and of the whole release."""

from __future__ import annotations

from collections.abc import Iterable

import apache_beam as beam
from apache_beam import pvalue

from dxbeam.tally import Tally, total

beam.coders.registry.register_coder(Tally, beam.coders.RowCoder)


class CombineTallies(beam.CombineFn):
    """Adds tallies up."""

    def create_accumulator(self) -> Tally:  # noqa: D102
        return Tally()

    def add_input(self, accumulator: Tally, tally: Tally) -> Tally:  # noqa: D102
        return accumulator.merge(tally)

    def merge_accumulators(self, accumulators: Iterable[Tally]) -> Tally:  # noqa: D102
        return total(accumulators)

    def extract_output(self, accumulator: Tally) -> Tally:  # noqa: D102
        return accumulator


class TallyGroups(beam.PTransform):
    """One tally a group: PCollection[tuple[str, Tally]] -> PCollection[tuple[str, Tally]]."""

    def expand(self, tallies: pvalue.PCollection) -> pvalue.PCollection:
        """Combines per key; the whole is the sum of the groups, see ``tally.total``."""
        return tallies | beam.CombinePerKey(CombineTallies()).with_output_types(tuple[str, Tally])
