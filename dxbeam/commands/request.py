"""The flags that launchers of releases share -> a ReleaseRequest."""

from __future__ import annotations

from apache_beam.options.pipeline_options import PipelineOptions

from dxbeam.commands.options import CommonOptions, LedgerOptions, SanitizeOptions
from dxbeam.corpus.files import CorpusFormat
from dxbeam.release import places
from dxbeam.release.request import ReleaseRequest


def release_request(
    options: PipelineOptions, corpus_format: CorpusFormat, output_format: str
) -> ReleaseRequest:
    """What the flags ask for, whatever kind of release it is.

    Args:
      options: the flags.
      corpus_format: how the corpus is read.
      output_format: how the release is written.

    Raises:
      ConfigurationError: two places that must be apart are not, or a cap that is none.
    """
    own, books = options.view_as(SanitizeOptions), options.view_as(LedgerOptions)
    output, metrics_output = places.for_release(
        own.input,
        options.view_as(CommonOptions).output,
        own.metrics_output,
        own.key_uri,
        books.ledger,
    )
    return ReleaseRequest(
        corpus=own.input,
        corpus_format=corpus_format,
        allow_unreadable_files=own.allow_unreadable_files,
        output=output,
        output_format=output_format,
        metrics_output=metrics_output,
        key_uri=own.key_uri,
        max_dead_letters=own.max_dead_letters,
        ledger=books.ledger,
        corpus_id=books.corpus_id,
        max_epsilon=books.max_epsilon,
    )
