"""The files of a release of which a table is made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from dxbeam import storage
from dxbeam.errors import ConfigurationError, OutputError
from dxbeam.release import manifest

PARAMETER = "output_table"
_FORMAT = "parquet"


def check_format(table: str, output_format: object) -> None:
    """Refuses a release that is not in Parquet."""
    if output_format != _FORMAT:
        raise ConfigurationError(
            f"`{PARAMETER}` {table}: a table is made of a release in Parquet, and this is in "
            f"{output_format}; release with `output_format` parquet"
        )


class CompleteRelease(NamedTuple):
    """What a table is made of.

    Attributes:
      files: paths of the shards that hold documents.
      schema: of all files.
      documents: how many the files hold.
      guarantee: the sentence that says what is promised.
      digest: SHA-256 of release.json.
    """

    files: list[str]
    schema: pa.Schema
    documents: int
    guarantee: str
    digest: str


def complete_release(output: str, table: str) -> CompleteRelease:
    """A release that is complete, in Parquet, and of files with the same columns."""
    release = manifest.verify(output)
    check_format(table, release.get("output_format"))
    digest, _ = storage.sha256(storage.join(output, manifest.RELEASE))
    shards = (shard["name"] for shard in release["shards"] if shard["documents"])
    files = [storage.join(output, name) for name in shards]
    return CompleteRelease(
        files,
        _common_schema(files),
        int(release["documents_out"]),
        str(release["guarantee"]["sentence"]),
        digest,
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
