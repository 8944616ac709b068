"""Counts of what happened to words and records, and dead letters, in a separate place."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from typing import Any

import apache_beam as beam
import pyarrow as pa
import pyarrow.parquet as pq
from apache_beam import pvalue

from dxbeam import storage
from dxbeam.documents import Rejected, UnreadableFile
from dxbeam.release import claim, manifest
from dxbeam.release.run import DEAD_LETTERS, GROUPS, METRICS
from dxbeam.text.tally import Tally, total

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
    """One tally per group: PCollection[tuple[str, Tally]] -> PCollection[tuple[str, Tally]]."""

    def expand(self, tallies: pvalue.PCollection) -> pvalue.PCollection:
        """Combines per key; the whole is the sum of the groups, see ``tally.total``."""
        return tallies | beam.CombinePerKey(CombineTallies()).with_output_types(tuple[str, Tally])


NOT_COVERED = (
    "Computed from the original text: these figures are not covered by the guarantee of the "
    "release and do not belong with it."
)


class WriteMetrics(beam.PTransform):
    """Writes metrics and dead letters: -> PCollection[str], the files, once they are written.

    ``metrics.json`` holds counts and proportions; ``metrics.parquet`` one row per group, where
    groups were asked for; ``dead_letters.jsonl`` where and why records were rejected.

    Args:
      directory: where to; not within the release.
      rejected: PCollection[Rejected] of records that were not sanitized.
      by_group: whether to write ``metrics.parquet``.
      withheld: PCollection[Rejected] of documents that were sanitized and are not released, or
        None.
      unreadable: PCollection[UnreadableFile] of files that were left out, or None.
      run: the run that claimed the directory, if it was claimed; nothing is written once the claim
        was given up, so that no run writes over another's.
    """

    def __init__(
        self,
        directory: str,
        rejected: pvalue.PCollection,
        by_group: bool,
        withheld: pvalue.PCollection | None = None,
        unreadable: pvalue.PCollection | None = None,
        run: str | None = None,
    ):
        super().__init__()
        self._directory, self._run, self._by_group = directory, run, by_group
        self._rejected, self._withheld, self._unreadable = rejected, withheld, unreadable

    def expand(self, tallies: pvalue.PCollection) -> pvalue.PCollection:
        """Takes one tally per group, PCollection[tuple[str, Tally]]."""
        rejected = pvalue.AsIter(self._rejected | "CountRejected" >> CountReasons())
        withheld: Any = []
        letters = self._rejected
        if self._withheld is not None:
            withheld = pvalue.AsIter(self._withheld | "CountWithheld" >> CountReasons())
            letters = (self._rejected, self._withheld) | "AllLetters" >> beam.Flatten()
        metrics = (
            tallies.pipeline
            | "Once" >> beam.Impulse()
            | "WriteMetrics"
            >> beam.Map(
                _write_metrics,
                self._directory,
                pvalue.AsIter(tallies),
                rejected,
                withheld,
                self._by_group,
                as_iter(self._unreadable),
                self._run,
            ).with_output_types(str)
        )
        dead = letters | "WriteDeadLetters" >> WriteDeadLetters(self._directory, self._run)
        return (metrics, dead) | "Files" >> beam.Flatten()


class WriteDeadLetters(beam.PTransform):
    """Writes where and why records were rejected: PCollection[Rejected] -> PCollection[str]."""

    def __init__(self, directory: str, run: str | None = None):
        super().__init__()
        self._directory = directory
        self._run = run

    def expand(self, rejected: pvalue.PCollection) -> pvalue.PCollection:
        """Writes one file, one line per record, and emits its name."""
        return (
            (
                rejected.pipeline | "Once" >> beam.Impulse() | "NoLetter" >> beam.Map(_no_letter),
                rejected | "ToLine" >> beam.Map(_dead_letter),
            )
            | "AllLetters" >> beam.Flatten()
            | "Gather" >> beam.GroupByKey()
            | "Write" >> beam.Map(_write_letters, self._directory, self._run).with_output_types(str)
        )


def as_iter(elements: pvalue.PCollection | None) -> Any:
    """A side input, or an empty list in its place."""
    return [] if elements is None else pvalue.AsIter(elements)


class CountReasons(beam.PTransform):
    """How often each reason: PCollection[Rejected] -> PCollection[tuple[str, int]], a few."""

    def expand(self, rejected: pvalue.PCollection) -> pvalue.PCollection:
        """Adds up per reason."""
        return (
            rejected
            | "Reason" >> beam.Map(_reason_once).with_output_types(tuple[str, int])
            | "AddUp" >> beam.CombinePerKey(sum).with_output_types(tuple[str, int])
        )


def _reason_once(rejected: Rejected) -> tuple[str, int]:
    return rejected.reason, 1


def count(reasons: Iterable[tuple[str, int]]) -> int:
    """How many records that is."""
    return sum(times for _, times in reasons)


def _no_letter(_: bytes) -> tuple[None, bytes]:
    """So that the file of dead letters is written where there are none."""
    return None, b""


def _dead_letter(rejected: Rejected) -> tuple[None, bytes]:
    line = json.dumps(rejected._asdict(), ensure_ascii=False) + "\n"
    return None, line.encode("utf-8", "replace")


def _write_letters(group: tuple[None, Iterable[bytes]], directory: str, run: str | None) -> str:
    """Writes to a fixed place, so that a repeated bundle replaces what it repeats."""
    path = storage.join(directory, DEAD_LETTERS)
    if run is not None:
        claim.check(directory, run)
    with storage.open_write(path) as file:
        for line in group[1]:
            file.write(line)
    return path


def _write_metrics(
    _: bytes,
    directory: str,
    tallies: Iterable[tuple[str, Tally]],
    rejected: Iterable[tuple[str, int]],
    withheld: Iterable[tuple[str, int]],
    by_group: bool,
    unreadable: Iterable[UnreadableFile],
    run: str | None,
) -> str:
    groups = sorted(tallies)
    whole = total(tally for _, tally in groups)
    content: dict[str, Any] = {
        "note": NOT_COVERED,
        "documents_in": whole.documents + count(rejected),
        "dead_letters": count(rejected) + count(withheld),
        "unreadable_files": manifest.unreadable_files(unreadable),
        **whole.as_dict(),
    }
    if run is not None:
        claim.check(directory, run)
    if by_group:
        content["groups"] = {group: tally.as_dict() for group, tally in groups}
        rows = [{"group": group, **tally.as_dict()} for group, tally in groups]
        table = pa.Table.from_pylist(rows, _METRICS_SCHEMA)
        buffer = io.BytesIO()
        pq.write_table(table, buffer)
        _write(storage.join(directory, GROUPS), buffer.getvalue())
    path = storage.join(directory, METRICS)
    _write(path, (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode())
    return path


_METRICS_SCHEMA = pa.schema(
    [("group", pa.string())]
    + [
        (name, pa.float64() if name.startswith(("share", "n_w")) else pa.int64())
        for name in Tally().as_dict()
    ]
)


def _write(path: str, content: bytes) -> None:
    with storage.open_write(path) as file:
        file.write(content)
