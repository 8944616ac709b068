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
from typing import NamedTuple

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions, TestOptions

from dxbeam import stopping, storage
from dxbeam.commands import launch
from dxbeam.commands.flags.decoding import DecodeOptions
from dxbeam.commands.flags.output import OutputOptions
from dxbeam.commands.flags.registry import DECODE, SanitizeOptions
from dxbeam.commands.options import parse, require
from dxbeam.corpus.reading import kept_schema
from dxbeam.errors import ConfigurationError
from dxbeam.language.artifact import check_vocabulary as check_model
from dxbeam.language.artifact import knows_capitals, language_model_handle
from dxbeam.language.handle import LanguageModelHandle
from dxbeam.release import claim, decoded, manifest
from dxbeam.release.context import as_dicts, in_context
from dxbeam.release.decoded import FirstRelease
from dxbeam.space.artifact import artifact
from dxbeam.space.artifact.artifact import VocabularyHandle
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.text.decoding.decoder import CONTEXT, decoder_of
from dxbeam.text.decoding.release_decoding import ReleaseDecoding
from dxbeam.text.public.public_model import NO_CAPITALS
from dxbeam.text.truecase import Truecase
from dxbeam.transforms.decode import DecodeDocuments, WriteDecodedManifest
from dxbeam.transforms.reading.sources import ReadDocuments
from dxbeam.transforms.shards import WriteShards


class DecodeJob(NamedTuple):
    """A release to decode, as the flags ask for it.

    Attributes:
      options: the flags.
      first: the release.
      settings: how it is decoded.
      vocabulary: the vocabulary's handle.
      model: the language model's.
      output: where the decoded release goes.
    """

    options: PipelineOptions
    first: FirstRelease
    settings: ReleaseDecoding
    vocabulary: VocabularyHandle
    model: LanguageModelHandle
    output: str


def read_options(options: PipelineOptions) -> DecodeJob:
    """The job that the flags ask for; verifies the release, and writes nothing.

    Raises:
      DxbeamError: a flag that is needed and missing, or a release that cannot be decoded.
    """
    flags, decoding = options.view_as(SanitizeOptions), options.view_as(DecodeOptions)
    require(decoding, "release")
    require(flags, "vocabulary", "language_model")
    require(options.view_as(OutputOptions), "output")
    output = decoded.check_places(decoding.release, options.view_as(OutputOptions).output)
    decoder = decoder_of(flags.decode or CONTEXT, flags.decode_loss)
    if decoder is None:
        raise ConfigurationError("`decode` nearest is what the release is already; leave it out")
    vocabulary = artifact.handle(flags.vocabulary)
    model = language_model_handle(flags.language_model)
    check_model(model, vocabulary.digest)
    if flags.truecase and not knows_capitals(model):
        raise ConfigurationError(NO_CAPITALS)
    first = decoded.first_release(decoding.release, flags.importance)
    decoded.check_vocabulary(first, vocabulary)
    settings = ReleaseDecoding(
        first.configuration,
        decoder.with_model(model.digest),
        Truecase(model.digest) if flags.truecase else None,
        first.digest,
    )
    claim.check_empty(output)
    return DecodeJob(options, first, settings, vocabulary, model, output)


def build(job: DecodeJob, run: str | None = None) -> beam.Pipeline:
    """Assembles the pipeline; nothing runs yet.

    Args:
      job: what is asked for.
      run: the name under which the output is claimed, if it is; see ``claim.take_fresh``.
    """
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
        print(_plan(job))
        return
    run, started = uuid.uuid4().hex, time.monotonic()
    with stopping.undone_on_failure(lambda stop: claim.abandon(job.output, run, stop)):
        claim.take_fresh(job.output, run)
        launch.run(build(job, run))
    print(_said(job, time.monotonic() - started))


def _plan(job: DecodeJob) -> str:
    settings, first = job.settings, job.first
    return (
        f"Plan\n  read     {first.prefix}, {first.manifest['documents_out']:,} documents\n"
        f"  decode   {settings.decoder.kind}, loss {settings.decoder.loss}, "
        f"{settings.channel} channel\n"
        f"  write    {job.output}\n{settings.guarantee().sentence}\n"
        "Nothing was written (--dry_run)."
    )


def _said(job: DecodeJob, seconds: float) -> str:
    release = manifest.read(job.output)
    digest, _ = storage.sha256(storage.join(job.output, manifest.RELEASE))
    return (
        f"Decoded {release['documents_out']:,} documents, {release['tokens']:,} tokens, into "
        f"{len(release['shards'])} files below {job.output} ({release['tokens'] / seconds:,.0f} "
        f"tokens per second), by an {job.settings.channel} channel\n"
        f"Keep this SHA-256 of {manifest.RELEASE} in another place: {digest}; dxbeam verify "
        f"{job.output} --digest SHA256 compares it\n{release['guarantee']['sentence']}"
    )


if __name__ == "__main__":
    launch.main(decode)
