"""What ``dxbeam decode`` is asked for, and what it says of the release."""

from __future__ import annotations

from typing import NamedTuple

from apache_beam.options.pipeline_options import PipelineOptions

from dxbeam import storage
from dxbeam.commands.console import counted
from dxbeam.commands.flags.decoding import DecodeOptions
from dxbeam.commands.flags.output import OutputOptions
from dxbeam.commands.flags.registry import SanitizeOptions
from dxbeam.commands.options import require
from dxbeam.errors import ConfigurationError
from dxbeam.language.artifact import check_vocabulary as check_model
from dxbeam.language.artifact import knows_capitals, language_model_handle
from dxbeam.language.handle import LanguageModelHandle
from dxbeam.release import claim, decoded, manifest
from dxbeam.release.decoded import FirstRelease
from dxbeam.space.artifact import artifact
from dxbeam.space.artifact.artifact import VocabularyHandle
from dxbeam.text.decoding.decoder import CONTEXT, decoder_of
from dxbeam.text.decoding.release_decoding import ReleaseDecoding
from dxbeam.text.public.public_model import NO_CAPITALS
from dxbeam.text.truecase import Truecase


class DecodeJob(NamedTuple):
    """A release to decode, as the flags ask for it."""

    options: PipelineOptions
    first: FirstRelease
    settings: ReleaseDecoding
    vocabulary: VocabularyHandle
    model: LanguageModelHandle
    output: str


def read_options(options: PipelineOptions) -> DecodeJob:
    """The job that the flags ask for; verifies the release, and writes nothing."""
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


def planned(job: DecodeJob) -> str:
    """What would be done."""
    settings, first = job.settings, job.first
    return (
        f"Plan\n  read     {first.prefix}, {first.manifest['documents_out']:,} documents\n"
        f"  decode   {settings.decoder.kind}, loss {settings.decoder.loss}, "
        f"{settings.channel} channel\n"
        f"  write    {job.output}\n{settings.guarantee().sentence}\n"
        "Nothing was written (--dry_run)."
    )


def said(job: DecodeJob, seconds: float) -> str:
    """What was released, and where."""
    release = manifest.read(job.output)
    digest, _ = storage.sha256(storage.join(job.output, manifest.RELEASE))
    return (
        f"Decoded {counted(release['documents_out'], 'document')}, "
        f"{counted(release['tokens'], 'token')}, into {counted(len(release['shards']), 'file')} "
        f"below {job.output} ({release['tokens'] / seconds:,.0f} "
        f"tokens per second), by an {job.settings.channel} channel\n"
        f"Keep this SHA-256 of {manifest.RELEASE} in another place: {digest}; dxbeam verify "
        f"{job.output} --digest SHA256 compares it\n{release['guarantee']['sentence']}"
    )
