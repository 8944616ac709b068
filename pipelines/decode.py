r"""Decodes a finished release: reads its words together with a public language model.

    dxbeam decode release --vocabulary vocabularies/glove --language_model models/public \
        --output decoded

It reads the release, the vocabulary and the model, and no raw text, so it is post-processing: the
guarantee of the documents stays what it was, and no ledger counts it. The decoded release has its
own release.json, which names that of the first by its digest; dxbeam verify understands both.

    --decode prior                each word by itself, by its frequency
    --decode_loss distance        the candidate nearest to the mean, in place of the most probable
    --truecase                    capitals as public text has them

What santext, tem, custext, cluster_response, diffractor and diffractor_tem release is read by their
known probabilities; of other mechanisms by probabilities that are estimated on public words, and
release.json calls these approximate. Where noise is added, dxbeam sanitize --decode reads more than
the release shows, so it gives better text; docs/guides/decoding-a-release.md compares the two.

Refused: releases that are damaged, of vectors or bags, decoded, repaired or truecased already, of
fluent, or whose epsilon depends on a field that was not kept.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence

import apache_beam as beam
from apache_beam.options.pipeline_options import TestOptions

from dxbeam import stopping
from dxbeam.commands import launch
from dxbeam.commands.flags.registry import DECODE, SanitizeOptions
from dxbeam.commands.jobs.decode import DecodeJob, planned, read_options, said
from dxbeam.commands.options import parse
from dxbeam.corpus.reading import kept_schema
from dxbeam.release import claim
from dxbeam.release.context import as_dicts, in_context
from dxbeam.space.artifact import artifact
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.transforms.decode import DecodeDocuments, WriteDecodedManifest
from dxbeam.transforms.reading.sources import ReadDocuments
from dxbeam.transforms.shards import WriteShards


def build(job: DecodeJob, run: str | None = None) -> beam.Pipeline:
    """Assembles the pipeline; nothing runs yet."""
    flags, first = job.options.view_as(SanitizeOptions), job.first
    pipeline = launch.new_pipeline(job.options)
    documents = (pipeline | "ReadRelease" >> ReadDocuments(first.pattern, first.read_as)).documents
    shards = (
        documents
        | "DecodeDocuments"
        >> DecodeDocuments(
            job.settings,
            job.vocabulary,
            job.model,
            launch.search_threads(job.options),
            launch.backend(job.options),
        )
        | "WriteShards"
        >> WriteShards(
            job.output,
            first.manifest["output_format"],
            kept_schema(first.pattern, first.read_as),
            flags.compression,
            flags.num_shards or 0,
            run,
        )
    )
    shards | "WriteManifest" >> WriteDecodedManifest(
        job.output, first, job.settings, run, _context(job)
    )
    return pipeline


def _context(job: DecodeJob) -> list[dict[str, object]]:
    vocabulary = artifact.open_vocabulary(job.vocabulary)
    return as_dicts(in_context(job.settings.guarantee(), NeighborSearch(vocabulary)))


@launch.naming_flags
def decode(argv: Sequence[str]) -> None:
    """Checks everything that can be known before, then runs and says what was written."""
    named = [f"--release={argv[0]}", *argv[1:]] if argv and argv[0][:1] not in ("-", "") else argv
    options = parse(named, DECODE, __doc__ or "")
    job = read_options(options)
    launch.spread(options, sum(shard["bytes"] for shard in job.first.manifest["shards"]))
    if options.view_as(TestOptions).dry_run:
        build(job)
        print(planned(job))
        return
    run, started = uuid.uuid4().hex, time.monotonic()
    with stopping.undone_on_failure(lambda stop: claim.abandon(job.output, run, stop)):
        claim.take_fresh(job.output, run)
        launch.run(build(job, run))
    print(said(job, time.monotonic() - started))


if __name__ == "__main__":
    launch.main(decode)
