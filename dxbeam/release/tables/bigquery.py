"""A release in Parquet, as a table of BigQuery: one load job makes it."""

from __future__ import annotations

import pyarrow as pa

from dxbeam.release.tables.release_files import PARAMETER, check_format, complete_release
from dxbeam.storage.bigquery import loading, tables


def check(table: str, output_format: str, kept: pa.Schema) -> None:
    """Refuses, before a run, a table that could not be made of its release.

    Args:
      table: its address.
      output_format: of the release.
      kept: the kept fields and their types.

    Raises:
      ConfigurationError: the release is not in Parquet, or the kept fields cannot be columns.
      OutputError: the table is there, or its dataset is not.
    """
    named = tables.table_of(PARAMETER, table)
    check_format(table, output_format)
    loading.check_columns(kept)
    loading.check_absent(named)


def publish(output: str, table: str) -> None:
    """Makes a table of a complete release, for the first writer only.

    Args:
      output: where the release is.
      table: the address of the table.

    Raises:
      OutputError: the release is not complete, or the table is there and is not of this release.
      ConfigurationError: the release is not in Parquet.
    """
    named = tables.table_of(PARAMETER, table)
    release = complete_release(output, table)
    kept = [each for each in release.schema if each.name not in ("id", "text")]
    loading.check_columns(pa.schema(kept))
    description = f"{release.guarantee} SHA-256 of release.json: {release.digest}"
    loading.load(named, release.files, release.schema, release.documents, description)
