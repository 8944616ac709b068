"""A table that is made of a release in Parquet: of Iceberg or of BigQuery, as its address says.

Iceberg names the release's files, which stay where they are, by one commit; BigQuery loads them by
one job. Either way the table names the release by its digest, and has its guarantee.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from dxbeam import storage
from dxbeam.corpus.iceberg import creating
from dxbeam.errors import ConfigurationError, OutputError
from dxbeam.release import manifest
from dxbeam.storage.bigquery import loading, tables

_PARAMETER = "output_table"
_FORMAT = "parquet"
_TEXT = (("id", pa.string()), ("text", pa.string()))


def check(table: str, output: str, output_format: str, kept: pa.Schema) -> None:
    """Refuses, before a run, a table that could not be made of its release.

    Args:
      table: its address.
      output: where the release goes.
      output_format: of the release.
      kept: the kept fields and their types.

    Raises:
      ConfigurationError: the release is not in Parquet, or the kept fields cannot be columns.
      OutputError: the table is there, or where it would be is not.
    """
    _check_format(table, output_format)
    if tables.is_table(table):
        named = tables.table_of(_PARAMETER, table)
        loading.check_columns(kept)
        loading.check_absent(named)
    else:
        creating.check(_PARAMETER, table, pa.schema([*_TEXT, *kept]), output)


def publish(output: str, table: str) -> None:
    """Makes a table of a complete release, for the first writer only.

    Args:
      output: where the release is.
      table: the address of the table.

    Raises:
      OutputError: the release is not complete, its files have different columns, or the table is
        there and is not of this release.
      ConfigurationError: the release is not in Parquet, or as ``check``.
    """
    named = tables.table_of(_PARAMETER, table) if tables.is_table(table) else None
    release = manifest.verify(output)
    _check_format(table, release.get("output_format"))
    digest, _ = storage.sha256(storage.join(output, manifest.RELEASE))
    shards = (shard["name"] for shard in release["shards"] if shard["documents"])
    files = [storage.join(output, name) for name in shards]
    schema, promise = _common_schema(files), str(release["guarantee"]["sentence"])
    if named:
        loading.check_columns(pa.schema([each for each in schema if each.name not in dict(_TEXT)]))
        description = f"{promise} SHA-256 of release.json: {digest}"
        loading.load(named, files, schema, int(release["documents_out"]), description)
    else:
        properties = {"dxbeam.guarantee": promise}
        creating.create(_PARAMETER, table, files, schema, digest, properties)


def _check_format(table: str, output_format: object) -> None:
    if output_format != _FORMAT:
        raise ConfigurationError(
            f"`{_PARAMETER}` {table}: a table is made of a release in Parquet, and this is in "
            f"{output_format}; release with `output_format` parquet"
        )


def _common_schema(files: Sequence[str]) -> pa.Schema:
    """Of files that all have the same."""
    schemas = []
    for file in files:
        with storage.open_read(file) as raw:
            schemas.append(pq.read_schema(raw).remove_metadata())
    if not schemas or any(schema != schemas[0] for schema in schemas):
        raise OutputError("the files of the release have different columns, or there are none")
    return schemas[0]
