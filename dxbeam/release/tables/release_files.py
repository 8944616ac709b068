"""The files of a release of which a table is made."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from dxbeam import storage
from dxbeam.errors import ConfigurationError, OutputError

PARAMETER = "output_table"
_FORMAT = "parquet"


def check_format(table: str, output_format: object) -> None:
    """Refuses a release that is not in Parquet.

    Raises:
      ConfigurationError: it is not.
    """
    if output_format != _FORMAT:
        raise ConfigurationError(
            f"`{PARAMETER}` {table}: a table is made of a release in Parquet, and this is in "
            f"{output_format}; release with `output_format` parquet"
        )


def common_schema(files: Sequence[str]) -> pa.Schema:
    """Of files that all have the same.

    Raises:
      OutputError: they have not.
    """
    schemas = []
    for file in files:
        with storage.open_read(file) as raw:
            schemas.append(pq.read_schema(raw).remove_metadata())
    if not schemas or any(schema != schemas[0] for schema in schemas):
        raise OutputError("the files of the release have different columns, or there are none")
    return schemas[0]
