"""A release in Parquet, as a table of Iceberg: its shards stay, and one commit names them."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq

from dxbeam import storage
from dxbeam.corpus.iceberg import creating
from dxbeam.errors import ConfigurationError, OutputError
from dxbeam.release import manifest

PARAMETER = "output_table"
_GUARANTEE = "dxbeam.guarantee"
_FORMAT = "parquet"


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
    _check_format(table, output_format)
    columns = [("id", pa.string()), ("text", pa.string()), *kept]
    creating.check(PARAMETER, table, pa.schema(columns), output)


def _check_format(table: str, output_format: object) -> None:
    if output_format != _FORMAT:
        raise ConfigurationError(
            f"`{PARAMETER}` {table}: a table is made of a release in Parquet, and this is in "
            f"{output_format}; release with `output_format` parquet"
        )


def publish(output: str, table: str) -> None:
    """Makes a table of a complete release, for the first writer only.

    Args:
      output: where the release is.
      table: the address of the table.

    Raises:
      OutputError: the release is not complete, or the table is there and is not of this release.
      ConfigurationError: as ``creating.check``.
    """
    release = manifest.verify(output)
    _check_format(table, release.get("output_format"))
    digest, _ = storage.sha256(storage.join(output, manifest.RELEASE))
    files = [
        storage.join(output, shard["name"]) for shard in release["shards"] if shard["documents"]
    ]
    properties = {_GUARANTEE: str(release["guarantee"]["sentence"])}
    creating.create(PARAMETER, table, files, _schema(files), digest, properties)


def _schema(files: list[str]) -> pa.Schema:
    """Of files that all have the same."""
    schemas = []
    for file in files:
        with storage.open_read(file) as raw:
            schemas.append(pq.read_schema(raw).remove_metadata())
    if not schemas or any(schema != schemas[0] for schema in schemas):
        raise OutputError("the files of the release have different columns, or there are none")
    return schemas[0]
