"""The manifest of a release, written when all else is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import apache_beam as beam
from apache_beam import pvalue

from dxbeam import storage
from dxbeam.release import claim, manifest
from dxbeam.release.manifest import ReleaseJob, RunOutcome
from dxbeam.transforms.metrics import CountReasons, as_iter, count


class Counted(NamedTuple):
    """What a run counts and writes besides the shards, each known only when the run is over.

    Attributes:
      tallies: PCollection[tuple[str, Tally]], one per group.
      rejected: PCollection[Rejected].
      key_fingerprint: PCollection[str], one element.
      written: PCollection[str] of files that must be complete before.
      corpus_digest: PCollection[str], one element, or None to leave it out.
      repaired: PCollection[tuple[str, int]], how many documents the language model repaired, and
        so on; None where there is none.
      unreadable: PCollection[UnreadableFile] of files that were left out, or None.
    """

    tallies: pvalue.PCollection
    rejected: pvalue.PCollection
    key_fingerprint: pvalue.PCollection
    written: pvalue.PCollection
    corpus_digest: pvalue.PCollection | None = None
    repaired: pvalue.PCollection | None = None
    unreadable: pvalue.PCollection | None = None


class WriteManifest(beam.PTransform):
    """Writes release.json when all else is written: PCollection[Shard] -> PCollection[str]."""

    def __init__(self, prefix: str, job: ReleaseJob, counted: Counted):
        super().__init__()
        self._prefix = prefix
        self._job = job
        self._counted = counted

    def expand(self, shards: pvalue.PCollection) -> pvalue.PCollection:
        """One element, whose side inputs are everything that must be there first."""
        counted = self._counted
        outcome = {
            "shards": pvalue.AsIter(shards),
            "tallies": pvalue.AsIter(counted.tallies),
            "key_fingerprint": pvalue.AsSingleton(counted.key_fingerprint),
            "corpus_digest": pvalue.AsSingleton(counted.corpus_digest)
            if counted.corpus_digest is not None
            else "",
            "repaired": pvalue.AsDict(counted.repaired) if counted.repaired is not None else {},
            "unreadable": as_iter(counted.unreadable),
        }
        return (
            shards.pipeline
            | "Once" >> beam.Impulse()
            | "Write"
            >> beam.Map(
                _write_manifest,
                self._prefix,
                self._job,
                pvalue.AsIter(counted.written),
                pvalue.AsIter(counted.rejected | "CountRejected" >> CountReasons()),
                **outcome,
            ).with_output_types(str)
        )


def _write_manifest(
    _: bytes,
    prefix: str,
    job: ReleaseJob,
    written: Iterable[str],
    reasons: Iterable[tuple[str, int]],
    **outcome: Any,
) -> str:
    list(written)  # nothing to read: it is here so that metrics and dead letters come first
    commonest = sorted(reasons, key=lambda counted: (counted[1], counted[0]))[-1:]
    finished = RunOutcome(rejected=count(reasons), commonest_reason=commonest, **outcome)
    claim.complete(prefix, manifest.compose(job, finished))
    return storage.join(prefix, manifest.RELEASE)
