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

import dataclasses
import io
import json
import time
from collections.abc import Sequence
from typing import NamedTuple

import apache_beam as beam
import numpy as np
from apache_beam.options.pipeline_options import PipelineOptions, TestOptions

from dxbeam import storage
from dxbeam.commands import launch
from dxbeam.commands.flags.output import OutputOptions
from dxbeam.commands.flags.registry import RELEASE_VECTORS, SanitizeOptions
from dxbeam.commands.flags.vectors import ReleaseVectorsOptions
from dxbeam.commands.options import parse, require
from dxbeam.commands.request import corpus_format as read_corpus_as
from dxbeam.commands.request import release_request
from dxbeam.corpus.formats import CorpusFormat
from dxbeam.corpus.reading import describe_left_out, kept_schema
from dxbeam.documents import field_names
from dxbeam.errors import ConfigurationError
from dxbeam.release import manifest
from dxbeam.release.ledger import Account
from dxbeam.release.manifest import PROJECTION, SENSITIVITY
from dxbeam.release.request import ReleaseRequest
from dxbeam.release.run import Run
from dxbeam.space.artifact import artifact
from dxbeam.space.artifact.artifact import VocabularyHandle
from dxbeam.space.vocabulary.words import Vocabulary
from dxbeam.transforms.manifest import Counted, WriteManifest
from dxbeam.transforms.metrics import TallyGroups, WriteDeadLetters
from dxbeam.transforms.reading.sources import ReadDocuments
from dxbeam.transforms.sensitivity import WriteExactSensitivity
from dxbeam.transforms.vectors import ReleaseVectors, WriteVectorShards
from dxbeam.vectors import sensitivity
from dxbeam.vectors.configuration import UNITS, VectorConfiguration, check_lengths
from dxbeam.vectors.projections import Projection, make_projection
from dxbeam.vectors.sensitivity import Sensitivity


def projection_of(options: ReleaseVectorsOptions, vocabulary: Vocabulary | None) -> Projection:
    """The public map that the flags ask for; the same one on every call."""
    if vocabulary is None and not options.dimensions:
        raise ConfigurationError(
            "--dimensions is needed where no vocabulary is: how many numbers a vector has"
        )
    dimensions = options.dimensions if vocabulary is None else vocabulary.dimensions
    if options.dimensions not in (None, dimensions):
        raise ConfigurationError(
            f"--dimensions {options.dimensions}: the vocabulary has {dimensions}; leave it out"
        )
    return make_projection(
        options.projection,
        dimensions,
        options.projected_dimensions,
        options.projection_seed,
        vocabulary,
    )


def sensitivity_method(options: ReleaseVectorsOptions) -> str:
    """The bound that is asked for, or that suits the unit."""
    method = options.sensitivity or ("exact" if options.unit == "word" else "spectral")
    if method not in sensitivity.METHODS:
        raise ConfigurationError(
            f"--sensitivity {method}: choose from {', '.join(sensitivity.METHODS)}"
        )
    return str(method)


def quick_sensitivity(options: ReleaseVectorsOptions, projection: Projection) -> Sensitivity:
    """The bound where no scan is needed; for "exact", the spectral one in its place."""
    method = sensitivity_method(options)
    if projection.matrix is None:
        return sensitivity.identity(method)
    if method == "published":
        return sensitivity.published(projection, options.projection_delta)
    bound = sensitivity.spectral(projection)
    return Sensitivity("exact", bound.value) if method == "exact" else bound


def corpus_format(options: PipelineOptions, dimensions: int) -> CorpusFormat:
    """How the corpus is read; given vectors have this many dimensions."""
    flags, shared_flags = options.view_as(ReleaseVectorsOptions), options.view_as(SanitizeOptions)
    read_as = read_corpus_as(shared_flags, field_names(shared_flags.keep_fields))
    if flags.unit != "vector":
        return read_as
    return dataclasses.replace(read_as, text_field=flags.vector_field, vector_dimensions=dimensions)


class VectorJob(NamedTuple):
    """A release of vectors, as the flags ask for it.

    Attributes:
      options: the flags.
      request: places, key, corpus and ledger.
      configuration: what is released; where ``scan`` is true, with the spectral bound of the
        sensitivity until the scan has found the exact one.
      scan: whether the exact sensitivity is found by a pipeline of its own first.
      vocabulary: the vocabulary's handle; None where vectors are given and none is named.
    """

    options: PipelineOptions
    request: ReleaseRequest
    configuration: VectorConfiguration
    scan: bool
    vocabulary: VocabularyHandle | None

    def account(self, run: str) -> Account | None:
        """The run's account in the ledger; None where no ledger is asked for."""
        mechanism = f"a vector for each {self.configuration.unit}"
        return self.request.account(self.configuration, mechanism, self.vocabulary, run)


def read_options(options: PipelineOptions) -> VectorJob:
    """The job that the flags ask for; opens the vocabulary, where one is named, once.

    Raises:
      DxbeamError: a flag that is needed and missing, or flags that do not go together.
    """
    flags, shared_flags = options.view_as(ReleaseVectorsOptions), options.view_as(SanitizeOptions)
    require(shared_flags, "input", "epsilon")
    require(options.view_as(OutputOptions), "output")
    if flags.unit != "vector":
        require(shared_flags, "vocabulary")
    launch.refuse_quoting(options)
    handle = artifact.handle(shared_flags.vocabulary) if shared_flags.vocabulary else None
    vocabulary = artifact.open_vocabulary(handle) if handle else None
    projection = projection_of(flags, vocabulary)
    settings = VectorConfiguration(
        flags.unit, shared_flags.epsilon, projection, quick_sensitivity(flags, projection)
    )
    if vocabulary is not None:
        check_lengths(settings, vocabulary)
    read_as = corpus_format(options, projection.dimensions)
    request = release_request(options, read_as, "parquet")
    scan = settings.sensitivity.method == "exact" and projection.matrix is not None
    return VectorJob(options, request, settings, scan, handle)


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
    """Assembles the release; nothing runs yet.

    Args:
      job: what is asked for.
      run: the name under which the output is claimed, if it is; see ``claim.take_fresh``.
      required_digest: what the corpus must be for a release to be made; "" for anything.
    """
    request, settings = job.request, job.configuration
    pipeline = launch.new_pipeline(job.options)
    reading = pipeline | "ReadDocuments" >> ReadDocuments(
        request.corpus,
        request.corpus_format,
        allow_unreadable=request.allow_unreadable_files,
    )
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
    shards | "WriteManifest" >> WriteManifest(
        request.output,
        request.job(
            settings,
            job.vocabulary,
            run,
            required_digest,
            tokens=None,  # how many words the texts have is not released
            projection_file=PROJECTION if settings.projection.matrix is not None else None,
        ),
        Counted(
            tallies=released.tallies | "TallyGroups" >> TallyGroups(),
            rejected=rejected,
            key_fingerprint=released.key_fingerprint,
            written=letters,
            corpus_digest=released.corpus_digest,
            unreadable=reading.unreadable,
        ),
    )
    return pipeline


def describe(
    settings: VectorConfiguration, output: str, scan: bool, kept_fields: Sequence[str] = ()
) -> str:
    """The plan as a person reads it."""
    guarantee, projection = settings.guarantee(), settings.projection
    found_by = "a scan of all pairs of words finds the exact factor first"
    if not scan:
        found_by = settings.sensitivity.method
    lines = [
        "Plan",
        f"  release    {UNITS[settings.unit]}",
        f"  project    {projection.kind}, {projection.dimensions} to {projection.projected}",
        "  stretch    the projection makes distances at most "
        f"{settings.sensitivity.value:g} times as long ({found_by})",
        f"  noise      standard deviation {settings.deviation:.4g} in each coordinate, then "
        f"rounded to multiples of {settings.step:g}",
        f"  write      {output}",
        "Guarantee",
        f"  {guarantee.sentence}",
        *(f"  {name:<11} {value}" for name, value in guarantee.table),
        f"  unprotected {'; '.join(manifest.unprotected(settings.unprotected, kept_fields))}",
        *(f"  Note: {caveat}" for caveat in guarantee.caveats),
        "Nothing was written (--dry_run).",
    ]
    return "\n".join(lines)


@launch.naming_flags
def release_vectors(argv: Sequence[str]) -> None:
    """Checks everything that can be known before, then runs and says what was written."""
    options = parse(argv, RELEASE_VECTORS, __doc__ or "")
    job = read_options(options)
    job.request.check()
    run, projection = (
        Run(job.request.output, job.request.metrics_output),
        job.configuration.projection,
    )
    account = job.account(run.name)
    run.check(None if job.scan else account)  # what repeats an earlier release, the scan decides
    if job.scan:
        build_scan(job)
    build(job, run.name)  # whatever is wrong with the flags shows here
    if options.view_as(TestOptions).dry_run:
        kept = job.request.corpus_format.keep_fields
        print(describe(job.configuration, run.output, job.scan, kept))
        return
    started = time.monotonic()
    with launch.releasing(run):
        if job.scan:
            launch.run(build_scan(job))
            sensitivity_record = _read_sensitivity(run.output)
            job = job._replace(
                configuration=dataclasses.replace(job.configuration, sensitivity=sensitivity_record)
            )
        _write_projection(run.output, projection)
        required_digest = run.enter(job.account(run.name))
        launch.run(build(job, run.name, required_digest))
    release = run.release
    print(
        f"Released {release['documents_out']:,} vectors of {projection.projected} dimensions in "
        f"{len(release['shards'])} files below {run.output}, in {time.monotonic() - started:.0f} "
        f"seconds; {release['dead_letters']:,} dead letters"
        f"{describe_left_out(release['unreadable_files'])}\n{run.noted}\n"
        f"{release['guarantee']['sentence']}"
    )


def _read_sensitivity(output: str) -> Sensitivity:
    record = json.loads(storage.read(storage.join(output, SENSITIVITY)))
    return Sensitivity(record["method"], record["value"], record["delta"], tuple(record["pair"]))


def _write_projection(output: str, projection: Projection) -> None:
    if projection.matrix is None:
        return
    buffer = io.BytesIO()
    np.save(buffer, projection.matrix, allow_pickle=False)
    with storage.open_write(storage.join(output, PROJECTION)) as file:
        file.write(buffer.getvalue())


if __name__ == "__main__":
    launch.main(release_vectors)
