"""``--output_table``: a table of BigQuery is made of a release, once that is complete."""

from __future__ import annotations

from dxbeam import storage
from dxbeam.commands.console import counted
from dxbeam.commands.flags.registry import SanitizeOptions
from dxbeam.corpus.formats import CorpusFormat
from dxbeam.corpus.reading import kept_schema
from dxbeam.errors import ConfigurationError, OutputError, RunError
from dxbeam.release.request import ReleaseRequest
from dxbeam.release.run import Run
from dxbeam.storage.bigquery import loading, tables
from dxbeam.storage.bigquery.tables import Table

_LOADED = "parquet"


def output_format(flags: SanitizeOptions, read_as: CorpusFormat) -> str:
    """How the files of a release are written; Parquet where a table is made of them.

    Raises:
      ConfigurationError: another format is asked for.
    """
    if not flags.output_table:
        return flags.output_format or read_as.written_as
    if flags.output_format not in (None, _LOADED):
        raise ConfigurationError(
            f"--output_table is made of a release in Parquet, and --output_format is "
            f"{flags.output_format}; leave it out"
        )
    return _LOADED


def table_asked_for(flags: SanitizeOptions) -> Table | None:
    """The table that is to be made, if one is.

    Raises:
      ConfigurationError: its name is none.
    """
    return tables.table_of("output_table", flags.output_table) if flags.output_table else None


def check_table(table: Table | None, request: ReleaseRequest) -> None:
    """Refuses a table that is there, or that the kept fields cannot be columns of.

    Raises:
      DxbeamError: says which.
    """
    if table is not None:
        loading.check_columns(kept_schema(request.corpus, request.corpus_format))
        loading.check_absent(table)


def publish(table: Table | None, run: Run) -> None:
    """Makes a table of a release that is complete, if one is asked for, and says so.

    Raises:
      RunError: it was not made.
    """
    if table is None:
        return
    files = [storage.join(run.output, shard["name"]) for shard in run.release["shards"]]
    rows = run.release["documents_out"]
    description = f"Released by dxbeam. SHA-256 of release.json: {run.digest}"
    try:
        loading.load(table, files, rows, run.digest, description)
    except OutputError as error:
        raise RunError(
            f"the release below {run.output} is complete, but no table was made of it: {error}; "
            "bq load --source_format=PARQUET loads its files"
        ) from None
    print(f"Loaded {counted(rows, 'row')} into {table}")
