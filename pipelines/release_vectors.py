r"""Releases vectors: one noisy, projected, rounded vector per word, text or given vector.

    dxbeam release-vectors --input 'corpus/*.jsonl' --vocabulary demo --epsilon 10 \
        --projected_dimensions 25 --output vectors

writes Parquet shards (id, and a list of float32 on a public grid), the public projection.npy, and
release.json, which says what is promised, to vectors/, and dead letters to vectors-metrics/.

    --unit text                   the mean of a text's word vectors (default)
    --unit word                   a record is one word
    --unit vector                 a record holds a vector, in --vector_field
    --projection gaussian         as published (PrivEmb); also pca (default), orthogonal, none
    --sensitivity exact           the largest stretch over all pairs of words, found first by a
                                  pipeline of its own and left in sensitivity.json
    --sensitivity published       1 + beta, as published, with its delta
    --key_uri file:///etc/key     a kept key (openssl rand -hex 32 > key): repeatable releases
    --ledger FILE --corpus_id C --max_epsilon 30    refuse to exceed the cap; docs/guides/ledger.md
    --dry_run                     print the plan and the guarantee; write nothing

The release is whole when release.json is there. Any Beam runner takes the job with --runner.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import apache_beam as beam
from apache_beam.options.pipeline_options import TestOptions

from dxbeam import storage
from dxbeam.commands import launch
from dxbeam.commands.flags.registry import RELEASE_VECTORS, SanitizeOptions
from dxbeam.commands.jobs.release_vectors import (
    VectorJob,
    planned,
    read_options,
    read_sensitivity,
    said,
    write_projection,
)
from dxbeam.commands.options import parse
from dxbeam.commands.request import read_released
from dxbeam.corpus.reading import kept_schema
from dxbeam.release.manifest import PROJECTION, SENSITIVITY
from dxbeam.release.run import Run
from dxbeam.transforms.manifest import Counted, WriteManifest
from dxbeam.transforms.metrics import TallyGroups, WriteDeadLetters
from dxbeam.transforms.sensitivity import WriteExactSensitivity
from dxbeam.transforms.vectors import ReleaseVectors, WriteVectorShards


def build_scan(job: VectorJob) -> beam.Pipeline:
    """Assembles the scan for the exact sensitivity; nothing runs yet."""
    assert job.vocabulary is not None
    pipeline = launch.new_pipeline(job.options)
    pipeline | "WriteExactSensitivity" >> WriteExactSensitivity(
        job.vocabulary,
        job.configuration.projection,
        storage.join(job.request.output, SENSITIVITY),
        launch.search_threads(job.options),
    )
    return pipeline


def build(job: VectorJob, run: str | None = None, required_digest: str = "") -> beam.Pipeline:
    """Assembles the release, of a corpus with the digest that is required; nothing runs yet."""
    request, settings = job.request, job.configuration
    pipeline = launch.new_pipeline(job.options)
    reading = pipeline | "ReadDocuments" >> read_released(request)
    released = reading.documents | "ReleaseVectors" >> ReleaseVectors(
        settings, job.vocabulary, request.key_uri, unique_ids=True
    )
    rejected = (reading.rejected, released.rejected) | "AllRejected" >> beam.Flatten()
    shards = released.vectors | "WriteVectorShards" >> WriteVectorShards(
        request.output,
        settings.projection.projected,
        released.layout_key,
        kept_schema(request.corpus, request.corpus_format),
        job.options.view_as(SanitizeOptions).num_shards or 0,
        run,
    )
    letters = rejected | "WriteDeadLetters" >> WriteDeadLetters(request.metrics_output, run)
    counted = Counted(
        tallies=released.tallies | "TallyGroups" >> TallyGroups(),
        rejected=rejected,
        key_fingerprint=released.key_fingerprint,
        written=letters,
        corpus_digest=released.corpus_digest,
        unreadable=reading.unreadable,
    )
    known = request.job(
        settings,
        job.vocabulary,
        run,
        required_digest,
        tokens=None,  # how many words the texts have is not released
        projection_file=PROJECTION if settings.projection.matrix is not None else None,
    )
    shards | "WriteManifest" >> WriteManifest(request.output, known, counted)
    return pipeline


@launch.naming_flags
def release_vectors(argv: Sequence[str]) -> None:
    """Checks everything that can be known before, then runs and says what was written."""
    options = parse(argv, RELEASE_VECTORS, __doc__ or "")
    job = read_options(options)
    job.request.check()
    run = Run(job.request.output, job.request.metrics_output)
    account = job.account(run.name)
    run.check(None if job.scan else account)  # what repeats an earlier release, the scan decides
    if job.scan:
        build_scan(job)
    build(job, run.name)  # whatever is wrong with the flags shows here
    if options.view_as(TestOptions).dry_run:
        print(planned(job))
        return
    started = time.monotonic()
    with launch.releasing(run):
        if job.scan:
            launch.run(build_scan(job))
            job = job.with_sensitivity(read_sensitivity(run.output))
        write_projection(run.output, job.configuration.projection)
        required_digest = run.enter(job.account(run.name))
        launch.run(build(job, run.name, required_digest))
    print(said(job, run, time.monotonic() - started))


if __name__ == "__main__":
    launch.main(release_vectors)
