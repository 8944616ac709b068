r"""Releases vectors: one noisy, projected, rounded vector a word, a text or a given vector.

    python -m pipelines.release_vectors --input 'corpus/*.jsonl' --vocabulary demo --epsilon 10 \
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
    --ledger FILE --corpus_id C --max_epsilon 30    refuse what would pass the cap; docs/ledger.md
    --dry_run                     print the plan and the guarantee; write nothing

The release is whole when release.json is there. Any Beam runner takes the job with --runner.
"""

from __future__ import annotations

import dataclasses
import datetime
import io
import json
import time
from collections.abc import Sequence
from typing import NamedTuple

import apache_beam as beam
import numpy as np
from apache_beam.options.pipeline_options import PipelineOptions, TestOptions

from dxbeam import keys, storage
from dxbeam.commands import launch
from dxbeam.commands.options import (
    CommonOptions,
    LedgerOptions,
    ReleaseVectorsOptions,
    SanitizeOptions,
    parse,
    require,
)
from dxbeam.corpus.files import matching_files
from dxbeam.corpus.formats import CorpusFormat
from dxbeam.corpus.reading import check_readable, describe_left_out, kept_schema
from dxbeam.documents import dead_letter_cap, field_names
from dxbeam.errors import ConfigurationError
from dxbeam.release import ledger, places
from dxbeam.release.attempt import Attempt, letters_after_failure
from dxbeam.release.ledger import Account
from dxbeam.release.manifest import PROJECTION, SENSITIVITY
from dxbeam.space import artifact
from dxbeam.space.artifact import VocabularyHandle
from dxbeam.transforms.manifest import WriteDeadLetters, WriteManifest
from dxbeam.transforms.metrics import TallyGroups
from dxbeam.transforms.sanitize import CORPUS_DIGEST, FINGERPRINT, LAYOUT_KEY, TALLIES
from dxbeam.transforms.sensitivity import WriteExactSensitivity
from dxbeam.transforms.sources import REJECTED, UNREADABLE, ReadDocuments
from dxbeam.transforms.vectors import VECTORS, ReleaseVectors, WriteVectorShards
from dxbeam.vectors import sensitivity
from dxbeam.vectors.configuration import UNITS, VectorConfiguration, check_lengths
from dxbeam.vectors.projections import Projection, make_projection
from dxbeam.vectors.sensitivity import Sensitivity


def vocabulary_handle(options: PipelineOptions) -> VocabularyHandle | None:
    """The vocabulary's, or None where vectors are given and no vocabulary is named."""
    uri = options.view_as(SanitizeOptions).vocabulary
    return artifact.handle(uri) if uri else None


def read_projection(options: PipelineOptions) -> Projection:
    """The public map that the flags ask for; the same one on every call."""
    own = options.view_as(ReleaseVectorsOptions)
    handle = vocabulary_handle(options)
    if handle is None and not own.dimensions:
        raise ConfigurationError(
            "--dimensions is needed where no vocabulary is: how many numbers a vector has"
        )
    dimensions = handle.dimensions if handle else own.dimensions
    if own.dimensions not in (None, dimensions):
        raise ConfigurationError(
            f"--dimensions {own.dimensions}: the vocabulary has {dimensions}; leave it out"
        )
    vocabulary = artifact.open_vocabulary(handle) if handle else None
    return make_projection(
        own.projection, dimensions, own.projected_dimensions, own.projection_seed, vocabulary
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


def corpus_format(options: PipelineOptions, projection: Projection) -> CorpusFormat:
    """How the corpus is read."""
    own, shared = options.view_as(ReleaseVectorsOptions), options.view_as(SanitizeOptions)
    given = own.unit == "vector"
    return CorpusFormat(
        shared.input_format,
        own.vector_field if given else shared.text_field,
        shared.id_field,
        field_names(shared.keep_fields),
        document_per=shared.document_per,
        largest_document=shared.largest_document,
        vector_dimensions=projection.dimensions if given else None,
    )


def chosen_places(options: PipelineOptions) -> tuple[str, str]:
    """Where the release and the dead letters go; refuses places that must be apart and are not."""
    own, ledger_file = options.view_as(SanitizeOptions), options.view_as(LedgerOptions).ledger
    output = options.view_as(CommonOptions).output
    return places.for_release(own.input, output, own.metrics_output, own.key_uri, ledger_file)


def account(options: PipelineOptions, settings: VectorConfiguration, run: str) -> Account | None:
    """The run's account in the ledger, if flags ask for one; refuses those that do not fit."""
    asked, handle = options.view_as(LedgerOptions), vocabulary_handle(options)
    return ledger.account(
        asked.ledger,
        asked.corpus_id,
        asked.max_epsilon,
        settings,
        mechanism=f"a vector for each {settings.unit}",
        vocabulary=handle.digest if handle else "",
        key_uri=options.view_as(SanitizeOptions).key_uri,
        run=run,
        output=chosen_places(options)[0],
    )


def build_scan(options: PipelineOptions, projection: Projection) -> beam.Pipeline:
    """Assembles the scan for the exact sensitivity; nothing runs yet."""
    handle = vocabulary_handle(options)
    assert handle is not None
    path = storage.join(chosen_places(options)[0], SENSITIVITY)
    pipeline = beam.Pipeline(options=options)
    pipeline | "WriteExactSensitivity" >> WriteExactSensitivity(
        handle, projection, path, launch.search_threads(options)
    )
    return pipeline


def build(
    options: PipelineOptions,
    settings: VectorConfiguration,
    run: str | None = None,
    needed_digest: str = "",
) -> beam.Pipeline:
    """Assembles the release; nothing runs yet.

    Args:
      options: the flags.
      settings: what is released, and how.
      run: the name under which the output is claimed, if it is; see ``manifest.claim``.
      needed_digest: what the corpus must be for a release to be made; "" for anything.
    """
    shared = options.view_as(SanitizeOptions)
    read_as, handle = corpus_format(options, settings.projection), vocabulary_handle(options)
    output, metrics_output = chosen_places(options)
    pipeline = beam.Pipeline(options=options)
    reading = pipeline | "ReadDocuments" >> ReadDocuments(
        shared.input, read_as, shared.allow_unreadable_files
    )
    released = reading["documents"] | "ReleaseVectors" >> ReleaseVectors(
        settings, handle, shared.key_uri, unique_ids=True
    )
    rejected = (reading[REJECTED], released[REJECTED]) | "AllRejected" >> beam.Flatten()
    shards = released[VECTORS] | "WriteVectorShards" >> WriteVectorShards(
        output,
        settings.projection.projected,
        released[LAYOUT_KEY],
        kept_schema(shared.input, read_as),
        shared.num_shards or 0,
        run,
    )
    facts = {
        "run": run,
        "tokens": None,  # how many words the texts have is not released
        "started": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "kept_fields": list(read_as.keep_fields),
        "output_format": "parquet",
        "projection_file": PROJECTION if settings.projection.matrix is not None else None,
    }
    shards | "WriteManifest" >> WriteManifest(
        output,
        settings,
        handle,
        shared.key_uri,
        facts,
        tallies=released[TALLIES] | "TallyGroups" >> TallyGroups(),
        rejected=rejected,
        unreadable=reading[UNREADABLE],
        dead_letter_cap=dead_letter_cap(shared.max_dead_letters),
        fingerprint=released[FINGERPRINT],
        corpus_digest=released[CORPUS_DIGEST],
        needed_digest=needed_digest,
        written=rejected | "WriteDeadLetters" >> WriteDeadLetters(metrics_output, run),
        source=shared.input,
        dead_letters=letters_after_failure(metrics_output, run),
    )
    return pipeline


def describe(settings: VectorConfiguration, output: str, scan: bool) -> str:
    """The plan as a person reads it."""
    guarantee, projection = settings.guarantee(), settings.projection
    bound = "found by a scan of all pairs first, at most" if scan else settings.sensitivity.method
    lines = [
        "Plan",
        f"  release    {UNITS[settings.unit]}",
        f"  project    {projection.kind}, {projection.dimensions} to {projection.projected}",
        f"  stretch    {settings.sensitivity.value:g} ({bound})",
        f"  noise      {settings.deviation:.4g} a coordinate (standard deviation), then rounded to "
        f"multiples of {settings.step:g}",
        f"  write      {output}",
        "Guarantee",
        f"  {guarantee.sentence}",
        *(f"  {name:<11} {value}" for name, value in guarantee.table),
        *(f"  Note: {caveat}" for caveat in guarantee.caveats),
        "Nothing was written (--dry_run).",
    ]
    return "\n".join(lines)


class Checked(NamedTuple):
    """A run that nothing known beforehand stands against, and that has not begun.

    Attributes:
      attempt: its places and its line of the ledger, none of which is taken yet.
      projection: the public map.
      settings: what is run; where ``scan`` is true, with the spectral bound in place of the exact.
      scan: whether the exact sensitivity is found by a pipeline of its own first.
    """

    attempt: Attempt
    projection: Projection
    settings: VectorConfiguration
    scan: bool


def check(options: PipelineOptions) -> Checked:
    """Refuses everything that can be known to be wrong before a run; writes nothing.

    A dry run and a real one both begin with it.

    Raises:
      DxbeamError: says what it is.
    """
    own, shared = options.view_as(ReleaseVectorsOptions), options.view_as(SanitizeOptions)
    require(shared, "input", "epsilon")
    require(options.view_as(CommonOptions), "output")
    if own.unit != "vector":
        require(shared, "vocabulary")
    launch.refuse_quoting(options)
    output, metrics_output = chosen_places(options)
    projection = read_projection(options)
    settings = VectorConfiguration(
        own.unit, shared.epsilon, projection, quick_sensitivity(own, projection)
    )
    if handle := vocabulary_handle(options):
        check_lengths(settings, artifact.open_vocabulary(handle))
    read_as = corpus_format(options, projection)
    files = matching_files(shared.input)
    check_readable(files, read_as, shared.allow_unreadable_files)
    dead_letter_cap(shared.max_dead_letters)  # refuses what is no cap
    if shared.key_uri:
        keys.read_key(shared.key_uri)
    scan = settings.sensitivity.method == "exact" and projection.matrix is not None
    attempt = Attempt(output, metrics_output)
    entered = account(options, settings, attempt.run)
    attempt.check(None if scan else entered)  # what repeats an earlier release, the scan decides
    if scan:
        build_scan(options, projection)
    build(options, settings, attempt.run)  # whatever is wrong with the flags shows here
    return Checked(attempt, projection, settings, scan)


def release_vectors(argv: Sequence[str]) -> None:
    """Checks everything that can be known before, then runs and says what was written."""
    options = parse(argv, ReleaseVectorsOptions, __doc__ or "")
    attempt, projection, settings, scan = check(options)
    output, _ = chosen_places(options)
    if options.view_as(TestOptions).dry_run:
        print(describe(settings, output, scan))
        return

    started = time.monotonic()
    with attempt:
        if scan:
            launch.run(build_scan(options, projection))
            settings = dataclasses.replace(settings, sensitivity=_read_sensitivity(output))
        _write_projection(output, projection)
        entered = account(options, settings, attempt.run)
        needed = attempt.begin(entered) if entered else ""
        launch.run(build(options, settings, attempt.run, needed))
    release = attempt.release
    print(
        f"Released {release['documents_out']:,} vectors of {projection.projected} dimensions in "
        f"{len(release['shards'])} files below {output}, in {time.monotonic() - started:.0f} "
        f"seconds; {release['dead_letters']:,} dead letters"
        f"{describe_left_out(release['unreadable_files'])}\n{release['guarantee']['sentence']}"
    )


def _read_sensitivity(output: str) -> Sensitivity:
    found = json.loads(storage.read(storage.join(output, SENSITIVITY)))
    return Sensitivity(found["method"], found["value"], found["delta"], tuple(found["pair"]))


def _write_projection(output: str, projection: Projection) -> None:
    if projection.matrix is None:
        return
    buffer = io.BytesIO()
    np.save(buffer, projection.matrix, allow_pickle=False)
    with storage.open_write(storage.join(output, PROJECTION)) as file:
        file.write(buffer.getvalue())


if __name__ == "__main__":
    launch.main(release_vectors)
