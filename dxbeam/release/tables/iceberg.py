"""A release in Parquet, as a table of Iceberg: its shards stay, and one commit names them."""

from __future__ import annotations

import pyarrow as pa

from dxbeam.corpus.iceberg import creating
from dxbeam.release.tables.release_files import PARAMETER, check_format, complete_release

_GUARANTEE = "dxbeam.guarantee"


def check(table: str, output: str, output_format: str, kept: pa.Schema) -> None:
    """Refuses, before a run, a table that could not be made of its release.

    Args:
      table: its address.
      output: where the release goes.
      output_format: of the release.
      kept: the kept fields and their types.

    Raises:
      ConfigurationError: the release is not in Parquet, or as ``creating.check``.
      OutputError: as ``creating.check``.
    """
    check_format(table, output_format)
    columns = [("id", pa.string()), ("text", pa.string()), *kept]
    creating.check(PARAMETER, table, pa.schema(columns), output)


def publish(output: str, table: str) -> None:
    """Makes a table of a complete release, for the first writer only.

    Args:
      output: where the release is.
      table: the address of the table.

    Raises:
      OutputError: the release is not complete, or the table is there and is not of this release.
      ConfigurationError: as ``creating.check``.
    """
    release = complete_release(output, table)
    properties = {_GUARANTEE: release.guarantee}
    creating.create(PARAMETER, table, release.files, release.schema, release.digest, properties)
