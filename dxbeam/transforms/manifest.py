"""Metrics and dead letters; the manifest last."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import apache_beam as beam
import pyarrow as pa
import pyarrow.parquet as pq
from apache_beam import pvalue

from dxbeam import storage
from dxbeam.documents import DeadLetterCap, Rejected, UnreadableFile
from dxbeam.errors import OutputError
from dxbeam.release import manifest
from dxbeam.release.attempt import DEAD_LETTERS, GROUPS, METRICS
from dxbeam.release.manifest import Settings, Shard
from dxbeam.space.artifact import VocabularyHandle
from dxbeam.tally import Tally, total
from dxbeam.text.repair import Repair

NOT_COVERED = (
    "Computed from the original text: these figures are not covered by the guarantee of the "
    "release and do not belong with it."
)


class WriteMetrics(beam.PTransform):
    """Writes metrics and dead letters: -> PCollection[str], the files, once they are written.

    ``metrics.json`` holds counts and proportions; ``metrics.parquet`` a row per group, where
    groups were asked for; ``dead_letters.jsonl`` where and why records were rejected.

    Args:
      directory: where to; a place apart from the release.
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
        self._unreadable = unreadable
        self._directory = directory
        self._run = run
        self._rejected = rejected
        self._by_group = by_group
        self._withheld = withheld

    def expand(self, tallies: pvalue.PCollection) -> pvalue.PCollection:
        """Takes one tally a group, PCollection[tuple[str, Tally]]."""
        rejected = pvalue.AsSingleton(count_all(self._rejected, "CountRejected"))
        withheld: Any = 0
        letters = self._rejected
        if self._withheld is not None:
            withheld = pvalue.AsSingleton(count_all(self._withheld, "CountWithheld"))
            letters = (self._rejected, self._withheld) | "AllLetters" >> beam.Flatten()
        metrics = (
            tallies.pipeline
            | "Once" >> beam.Create([self._directory])
            | "WriteMetrics"
            >> beam.Map(
                _write_metrics,
                pvalue.AsIter(tallies),
                rejected,
                withheld,
                self._by_group,
                _as_iter(self._unreadable),
                self._run,
            ).with_output_types(str)
        )
        dead = letters | "WriteDeadLetters" >> WriteDeadLetters(self._directory, self._run)
        return (metrics, dead) | "Files" >> beam.Flatten()


class WriteDeadLetters(beam.PTransform):
    """Writes where and why records were rejected: PCollection[Rejected] -> PCollection[str].

    Args:
      directory: where to; a place apart from the release.
      run: as for ``WriteMetrics``.
    """

    def __init__(self, directory: str, run: str | None = None):
        super().__init__()
        self._directory = directory
        self._run = run

    def expand(self, rejected: pvalue.PCollection) -> pvalue.PCollection:
        """Writes one file of a line a record, and passes its name on."""
        return (
            (
                rejected.pipeline | "NoLetter" >> beam.Create([(None, b"")]),
                rejected | "ToLine" >> beam.Map(_dead_letter),
            )
            | "AllLetters" >> beam.Flatten()
            | "Gather" >> beam.GroupByKey()
            | "Write" >> beam.Map(_write_letters, self._directory, self._run).with_output_types(str)
        )


def _as_iter(elements: pvalue.PCollection | None) -> Any:
    """A side input, or an empty list in its place."""
    return [] if elements is None else pvalue.AsIter(elements)


def _in_order(files: Iterable[UnreadableFile]) -> list[dict[str, str]]:
    return [UnreadableFile(*file)._asdict() for file in sorted(files)]


def count_all(elements: pvalue.PCollection, label: str) -> pvalue.PCollection:
    """One element: how many elements there are."""
    return elements | label >> beam.combiners.Count.Globally()


def _commonest_reason(rejected: pvalue.PCollection) -> pvalue.PCollection:
    """One element: [] or [(reason, how often)]."""
    return (
        rejected
        | "Reason" >> beam.Map(lambda record: record.reason).with_output_types(str)
        | "CountReasons" >> beam.combiners.Count.PerElement()
        | "Commonest" >> beam.combiners.Top.Of(1, key=lambda counted: (counted[1], counted[0]))
    )


def _dead_letter(rejected: Rejected) -> tuple[None, bytes]:
    line = json.dumps(rejected._asdict(), ensure_ascii=False) + "\n"
    return None, line.encode("utf-8", "replace")


def _write_letters(group: tuple[None, Iterable[bytes]], directory: str, run: str | None) -> str:
    """Writes to a fixed place, so that a repetition replaces what it repeats."""
    path = storage.join(directory, DEAD_LETTERS)
    if run is not None:
        manifest.check_claim(directory, run)
    with storage.open_write(path) as file:
        for line in group[1]:
            file.write(line)
    return path


def _write_metrics(
    directory: str,
    tallies: Iterable[tuple[str, Tally]],
    rejected: int,
    withheld: int,
    by_group: bool,
    unreadable: Iterable[UnreadableFile],
    run: str | None,
) -> str:
    groups = sorted(tallies)
    whole = total(tally for _, tally in groups)
    content: dict[str, Any] = {
        "note": NOT_COVERED,
        "documents_in": whole.documents + rejected,
        "dead_letters": rejected + withheld,
        "unreadable_files": _in_order(unreadable),
        **whole.as_dict(),
    }
    if run is not None:
        manifest.check_claim(directory, run)
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


class WriteManifest(beam.PTransform):
    """Writes release.json when all else is written: PCollection[Shard] -> PCollection[str].

    Args:
      prefix: of the release.
      configuration: what was run.
      vocabulary: with what words; None where there are none.
      key_uri: where a kept key lies; None or "" for one that was drawn inside the job.
      facts: further entries of the manifest.
      tallies: PCollection[tuple[str, Tally]], one a group.
      rejected: PCollection[Rejected].
      unreadable: PCollection[UnreadableFile] of files that were left out, or None.
      dead_letter_cap: with more dead letters nothing is released; None for no cap.
      fingerprint: PCollection[str], one element.
      corpus_digest: PCollection[str], one element, or None to leave it out.
      needed_digest: what the corpus digest must be for a release to be made; "" for anything.
      written: PCollection[str] of files that must be complete before.
      source: what was read, and
      dead_letters: where they lie, for the sentence that says that nothing can be released.
      repair: the language model that rewrote the texts, or None.
      repaired: PCollection[tuple[str, int]], what became of them, where there is one.
    """

    def __init__(
        self,
        prefix: str,
        configuration: Settings,
        vocabulary: VocabularyHandle | None,
        key_uri: str | None,
        facts: Mapping[str, Any],
        *,
        tallies: pvalue.PCollection,
        rejected: pvalue.PCollection,
        unreadable: pvalue.PCollection | None = None,
        dead_letter_cap: DeadLetterCap | None = None,
        fingerprint: pvalue.PCollection,
        corpus_digest: pvalue.PCollection | None = None,
        needed_digest: str = "",
        written: pvalue.PCollection,
        source: str,
        dead_letters: str,
        repair: Repair | None = None,
        repaired: pvalue.PCollection | None = None,
    ):
        super().__init__()
        kept = bool(key_uri)
        self._write = _WriteManifest(
            prefix,
            configuration,
            vocabulary,
            kept,
            dict(facts),
            needed_digest,
            repair,
            source,
            dead_letters,
            dead_letter_cap,
        )
        self._unreadable = unreadable
        self._corpus_digest = corpus_digest
        self._repaired = repaired
        self._tallies = tallies
        self._rejected = rejected
        self._fingerprint = fingerprint
        self._written = written

    def expand(self, shards: pvalue.PCollection) -> pvalue.PCollection:
        """One element, whose side inputs are everything that must be there first."""
        digest = self._corpus_digest or shards.pipeline | "NoDigest" >> beam.Create([""])
        return (
            shards.pipeline
            | "Once" >> beam.Create([None])
            | "Write"
            >> beam.ParDo(
                self._write,
                pvalue.AsIter(shards),
                pvalue.AsIter(self._tallies),
                pvalue.AsSingleton(count_all(self._rejected, "CountRejected")),
                pvalue.AsSingleton(_commonest_reason(self._rejected)),
                pvalue.AsSingleton(self._fingerprint),
                pvalue.AsSingleton(digest),
                pvalue.AsIter(self._written),
                pvalue.AsDict(self._repaired) if self._repaired is not None else {},
                _as_iter(self._unreadable),
            )
        )


@beam.typehints.with_output_types(str)
class _WriteManifest(beam.DoFn):
    def __init__(
        self,
        prefix: str,
        configuration: Settings,
        vocabulary: VocabularyHandle | None,
        key_kept: bool,
        facts: dict[str, Any],
        needed_digest: str,
        repair: Repair | None,
        source: str,
        dead_letters: str,
        dead_letter_cap: DeadLetterCap | None,
    ):
        self._source = source
        self._dead_letters = dead_letters
        self._dead_letter_cap = dead_letter_cap
        self._needed_digest = needed_digest
        self._prefix = prefix
        self._configuration = configuration
        self._vocabulary = vocabulary
        self._key_kept = key_kept
        self._facts = facts
        self._repair = repair

    def process(
        self,
        _: None,
        shards: Iterable[Shard],
        tallies: Iterable[tuple[str, Tally]],
        rejected: int,
        commonest: list[tuple[str, int]],
        fingerprint: str,
        corpus_digest: str,
        written: Iterable[str],
        repaired: Mapping[str, int],
        unreadable: Iterable[UnreadableFile],
    ) -> Iterator[str]:
        list(written)  # nothing to read: it is here so that metrics and dead letters come first
        if self._needed_digest not in ("", corpus_digest):
            raise OutputError(
                "the ledger has no epsilon left for this corpus but to repeat an earlier release, "
                "and the corpus is no longer what it was then; nothing is released"
            )
        content = manifest.compose(
            self._configuration,
            self._vocabulary,
            fingerprint,
            self._key_kept,
            total(tally for _, tally in tallies),
            rejected,
            shards,
            {**({"corpus_digest": corpus_digest} if corpus_digest else {}), **self._facts},
            self._repair,
            repaired,
            source=self._source,
            dead_letters=self._dead_letters,
            commonest_reason=commonest[0][0] if commonest else "",
        )
        content["unreadable_files"] = _in_order(unreadable)
        if self._dead_letter_cap:
            self._dead_letter_cap.check(content["dead_letters"], content["documents_in"])
        manifest.write(self._prefix, content)
        yield storage.join(self._prefix, manifest.RELEASE)
