"""The flags that launchers share -> how the corpus is read, and a ReleaseRequest."""

from __future__ import annotations

from apache_beam.options.pipeline_options import PipelineOptions

from dxbeam.commands.flags.corpus import QUOTES
from dxbeam.commands.flags.output import LedgerOptions, OutputOptions, TableOptions
from dxbeam.commands.flags.registry import SanitizeOptions
from dxbeam.commands.options import require
from dxbeam.commands.preview_files import check_outside_releases
from dxbeam.corpus.files import matching_files, pinned, text_bytes
from dxbeam.corpus.formats import CorpusFormat, format_of
from dxbeam.corpus.parsing.column_types import parse_types
from dxbeam.corpus.reading import check_readable
from dxbeam.corpus.settings import TableSettings
from dxbeam.documents import field_names
from dxbeam.errors import ConfigurationError
from dxbeam.language.artifact import language_model_handle
from dxbeam.language.handle import LanguageModelHandle
from dxbeam.release import claim, places
from dxbeam.release.request import LedgerTerms, ReleaseRequest
from dxbeam.space.artifact import artifact
from dxbeam.space.artifact.artifact import VocabularyHandle
from dxbeam.text.configuration import Configuration
from dxbeam.text.plain_settings import PLAIN_SETTINGS, configuration_of
from dxbeam.transforms.reading.sources import ReadDocuments
from dxbeam.transforms.sanitize import with_language_model


def release_request(
    options: PipelineOptions, corpus_format: CorpusFormat, output_format: str
) -> ReleaseRequest:
    """What the flags ask for, whatever kind of release it is."""
    flags, ledger = options.view_as(SanitizeOptions), ledger_terms(options)
    output, metrics_output = places.for_release(
        flags.input,
        options.view_as(OutputOptions).output,
        flags.metrics_output,
        flags.key_uri,
        ledger.path,
    )
    return ReleaseRequest(
        corpus=pinned(flags.input),
        corpus_format=corpus_format,
        allow_unreadable_files=flags.allow_unreadable_files,
        output=output,
        output_format=output_format,
        metrics_output=metrics_output,
        key_uri=flags.key_uri,
        max_dead_letters=flags.max_dead_letters,
        ledger=ledger,
        output_table=options.view_as(TableOptions).output_table,
    )


def ledger_terms(options: PipelineOptions) -> LedgerTerms:
    """What the flags say of a ledger."""
    flags = options.view_as(LedgerOptions)
    return LedgerTerms(flags.ledger, flags.corpus_id, flags.max_epsilon)


def settings_of(
    flags: SanitizeOptions,
) -> tuple[Configuration, VocabularyHandle, LanguageModelHandle | None]:
    """How words are released, and the handles of what that reads."""
    settings = configuration_of(**{name: getattr(flags, name) for name in PLAIN_SETTINGS})
    vocabulary = artifact.handle(flags.vocabulary)
    model = language_model_handle(flags.language_model) if flags.language_model else None
    return with_language_model(settings, model, vocabulary), vocabulary, model


def corpus_format(
    flags: SanitizeOptions,
    keep_fields: tuple[str, ...] = (),
    group_by: str | None = None,
    epsilon_by: str | None = None,
    pattern: str | None = None,
) -> CorpusFormat:
    """How the corpus, by default ``input``, is read, with further fields."""
    return CorpusFormat(
        format_of(pattern or flags.input or "", flags.input_format),
        flags.text_field,
        flags.id_field,
        keep_fields,
        group_by,
        flags.document_per,
        flags.largest_document,
        epsilon_by=epsilon_by,
        encoding=flags.encoding,
        table=table_settings(flags),
    )


def read_corpus(
    flags: SanitizeOptions,
    pattern: str | None = None,
    keep_fields: tuple[str, ...] = (),
    group_by: str | None = None,
) -> ReadDocuments:
    """Reads the texts of a corpus, by default ``input``, for those who release none of them."""
    return ReadDocuments(
        flags.input if pattern is None else pattern,
        corpus_format(flags, keep_fields, group_by, pattern=pattern),
        allow_unreadable=flags.allow_unreadable_files,
    )


def measured_vocabulary(options: PipelineOptions) -> VocabularyHandle:
    """The vocabulary of a command that measures, which needs that and an output."""
    flags = options.view_as(SanitizeOptions)
    require(flags, "vocabulary")
    require(options.view_as(OutputOptions), "output")
    return artifact.handle(flags.vocabulary)


def read_released(request: ReleaseRequest) -> ReadDocuments:
    """Reads the corpus that is released."""
    return ReadDocuments(
        request.corpus, request.corpus_format, allow_unreadable=request.allow_unreadable_files
    )


def check_corpus(
    flags: SanitizeOptions,
    pattern: str,
    keep_fields: tuple[str, ...] = (),
    group_by: str | None = None,
) -> int:
    """About how many bytes of text a corpus holds; refuses one that cannot be read.

    The arguments are those of ``read_corpus``.
    """
    files = matching_files(pattern)
    read_as = corpus_format(flags, keep_fields, group_by, pattern=pattern)
    check_readable(files, read_as, allow_unreadable=flags.allow_unreadable_files)
    return text_bytes(files)


def check_measured(options: PipelineOptions) -> None:
    """Refuses an output that is in use, and a corpus to measure that cannot be read.

    What is measured of a corpus stays out of releases.
    """
    flags, output = options.view_as(SanitizeOptions), options.view_as(OutputOptions).output
    claim.check_empty(output)
    if flags.input:
        check_outside_releases(output, "what is measured of `input` is computed from raw text")
        check_corpus(flags, flags.input)


_NAMED = {"tab": "\t", "\\t": "\t"}


def table_settings(flags: SanitizeOptions) -> TableSettings:
    """What the flags say of columns."""
    if flags.quotes not in QUOTES:
        raise ConfigurationError(f"`quotes` is one of {', '.join(QUOTES)}, not {flags.quotes!r}")
    delimiter = flags.delimiter
    return TableSettings(
        None if delimiter is None else _NAMED.get(delimiter, delimiter),
        flags.quotes == "double",
        field_names(flags.columns),
        parse_types(flags.column_types),
    )
