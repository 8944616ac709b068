"""The flags that launchers of releases share -> a ReleaseRequest."""

from __future__ import annotations

from apache_beam.options.pipeline_options import PipelineOptions

from dxbeam.commands.options import CommonOptions, LedgerOptions, SanitizeOptions
from dxbeam.corpus.formats import CorpusFormat
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
    flags, ledger = options.view_as(SanitizeOptions), options.view_as(LedgerOptions)
    output, metrics_output = places.for_release(
        flags.input,
        options.view_as(CommonOptions).output,
        flags.metrics_output,
        flags.key_uri,
        ledger.ledger,
    )
    return ReleaseRequest(
        corpus=flags.input,
        corpus_format=corpus_format,
        allow_unreadable_files=flags.allow_unreadable_files,
        output=output,
        output_format=output_format,
        metrics_output=metrics_output,
        key_uri=flags.key_uri,
        max_dead_letters=flags.max_dead_letters,
        ledger=ledger.ledger,
        corpus_id=ledger.corpus_id,
        max_epsilon=ledger.max_epsilon,
    )
