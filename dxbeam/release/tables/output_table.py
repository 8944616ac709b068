"""The table that is made of a finished release: of Iceberg or of BigQuery, as its address says."""

from __future__ import annotations

import pyarrow as pa

from dxbeam.release.tables import bigquery, iceberg
from dxbeam.storage.bigquery.tables import is_table


def check(table: str, output: str, output_format: str, kept: pa.Schema) -> None:
    """Refuses, before a run, a table that could not be made of its release.

    Args:
      table: its address.
      output: where the release goes.
      output_format: of the release.
      kept: the kept fields and their types.

    Raises:
      DxbeamError: says why.
    """
    if is_table(table):
        bigquery.check(table, output_format, kept)
    else:
        iceberg.check(table, output, output_format, kept)


def publish(output: str, table: str) -> None:
    """Makes a table of a complete release, for the first writer only.

    Args:
      output: where the release is.
      table: the address of the table.

    Raises:
      DxbeamError: the release is not complete, or the table is there and is not of this release.
    """
    (bigquery if is_table(table) else iceberg).publish(output, table)
