"""What ``dxbeam release-vectors`` is asked for, and what it says of the release."""

from __future__ import annotations

import dataclasses
import io
import json
from typing import NamedTuple

import numpy as np
from apache_beam.options.pipeline_options import PipelineOptions

from dxbeam import storage
from dxbeam.commands.console import counted
from dxbeam.commands.flags.output import OutputOptions
from dxbeam.commands.flags.registry import SanitizeOptions
from dxbeam.commands.flags.vectors import ReleaseVectorsOptions
from dxbeam.commands.options import require
from dxbeam.commands.request import corpus_format, release_request
from dxbeam.corpus.formats import CorpusFormat
from dxbeam.corpus.reading import describe_left_out
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
from dxbeam.vectors import sensitivity
from dxbeam.vectors.configuration import UNITS, VectorConfiguration, check_lengths
from dxbeam.vectors.projections import Projection, make_projection
from dxbeam.vectors.sensitivity import Sensitivity


class VectorJob(NamedTuple):
    """A release of vectors, as the flags ask for it.

    Where the exact sensitivity is found by a separate pipeline first, ``scan`` is true, and until
    then the configuration has the spectral bound.
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

    def with_sensitivity(self, sensitivity: Sensitivity) -> VectorJob:
        """The job with the exact sensitivity."""
        settings = dataclasses.replace(self.configuration, sensitivity=sensitivity)
        return self._replace(configuration=settings)


def read_options(options: PipelineOptions) -> VectorJob:
    """The job that the flags ask for; opens the vocabulary, where one is named, once."""
    flags, shared_flags = options.view_as(ReleaseVectorsOptions), options.view_as(SanitizeOptions)
    require(shared_flags, "input", "epsilon")
    require(options.view_as(OutputOptions), "output")
    if flags.unit != "vector":
        require(shared_flags, "vocabulary")
    handle = artifact.handle(shared_flags.vocabulary) if shared_flags.vocabulary else None
    vocabulary = artifact.open_vocabulary(handle) if handle else None
    projection = _projection(flags, vocabulary)
    settings = VectorConfiguration(
        flags.unit, shared_flags.epsilon, projection, _quick_sensitivity(flags, projection)
    )
    if vocabulary is not None:
        check_lengths(settings, vocabulary)
    read_as = _corpus_format(options, projection.dimensions)
    request = release_request(options, read_as, "parquet")
    scan = settings.sensitivity.method == "exact" and projection.matrix is not None
    return VectorJob(options, request, settings, scan, handle)


def _projection(options: ReleaseVectorsOptions, vocabulary: Vocabulary | None) -> Projection:
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


def _sensitivity_method(options: ReleaseVectorsOptions) -> str:
    """The bound that is asked for, or that suits the unit."""
    method = options.sensitivity or ("exact" if options.unit == "word" else "spectral")
    if method not in sensitivity.METHODS:
        raise ConfigurationError(
            f"--sensitivity {method}: choose from {', '.join(sensitivity.METHODS)}"
        )
    return str(method)


def _quick_sensitivity(options: ReleaseVectorsOptions, projection: Projection) -> Sensitivity:
    """The bound where no scan is needed; for "exact", the spectral one in its place."""
    method = _sensitivity_method(options)
    if projection.matrix is None:
        return sensitivity.identity(method)
    if method == "published":
        return sensitivity.published(projection, options.projection_delta)
    bound = sensitivity.spectral(projection)
    return Sensitivity("exact", bound.value) if method == "exact" else bound


def _corpus_format(options: PipelineOptions, dimensions: int) -> CorpusFormat:
    """How the corpus is read; given vectors have this many dimensions."""
    flags, shared_flags = options.view_as(ReleaseVectorsOptions), options.view_as(SanitizeOptions)
    read_as = corpus_format(shared_flags, field_names(shared_flags.keep_fields))
    if flags.unit != "vector":
        return read_as
    return dataclasses.replace(read_as, text_field=flags.vector_field, vector_dimensions=dimensions)


def planned(job: VectorJob) -> str:
    """The plan as a person reads it."""
    settings, kept_fields = job.configuration, job.request.corpus_format.keep_fields
    guarantee, projection = settings.guarantee(), settings.projection
    found_by = "a scan of all pairs of words finds the exact factor first"
    if not job.scan:
        found_by = settings.sensitivity.method
    lines = [
        "Plan",
        f"  release    {UNITS[settings.unit]}",
        f"  project    {projection.kind}, {projection.dimensions} to {projection.projected}",
        "  stretch    the projection makes distances at most "
        f"{settings.sensitivity.value:g} times as long ({found_by})",
        f"  noise      standard deviation {settings.deviation:.4g} in each coordinate, then "
        f"rounded to multiples of {settings.step:g}",
        f"  write      {job.request.output}",
        "Guarantee",
        f"  {guarantee.sentence}",
        *(f"  {name:<11} {value}" for name, value in guarantee.table),
        f"  unprotected {'; '.join(manifest.unprotected(settings.unprotected, kept_fields))}",
        *(f"  Note: {caveat}" for caveat in guarantee.caveats),
        "Nothing was written (--dry_run).",
    ]
    return "\n".join(lines)


def read_sensitivity(output: str) -> Sensitivity:
    """What the scan has left."""
    record = json.loads(storage.read(storage.join(output, SENSITIVITY)))
    return Sensitivity(record["method"], record["value"], record["delta"], tuple(record["pair"]))


def write_projection(output: str, projection: Projection) -> None:
    """Writes the public projection, where there is one."""
    if projection.matrix is None:
        return
    buffer = io.BytesIO()
    np.save(buffer, projection.matrix, allow_pickle=False)
    with storage.open_write(storage.join(output, PROJECTION)) as file:
        file.write(buffer.getvalue())


def said(job: VectorJob, run: Run, seconds: float) -> str:
    """What was released, and where."""
    release = run.release
    return (
        f"Released {counted(release['documents_out'], 'vector')} of "
        f"{job.configuration.projection.projected} dimensions in "
        f"{counted(len(release['shards']), 'file')} below {run.output}, in {seconds:.0f} "
        f"seconds; {counted(release['dead_letters'], 'dead letter')}"
        f"{describe_left_out(release['unreadable_files'])}\n{run.noted}\n"
        f"{release['guarantee']['sentence']}"
    )
