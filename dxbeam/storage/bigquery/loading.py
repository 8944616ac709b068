"""Files of a release -> a table of BigQuery, by one load job that makes it whole or not at all.

The job may only write where no rows are (``WRITE_EMPTY``), and BigQuery commits it in one step. So
of several jobs for one table one makes it, and a reader sees either all rows or no table.
"""

from __future__ import annotations

import re
import tempfile
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from dxbeam import storage
from dxbeam.errors import ConfigurationError, OutputError
from dxbeam.storage.bigquery import tables
from dxbeam.storage.bigquery.tables import SECONDS, Table, refusals

_COLUMN = re.compile("[A-Za-z_][A-Za-z0-9_]{0,299}")
_RESERVED = ("_TABLE_", "_FILE_", "_PARTITION", "_ROW_TIMESTAMP", "__ROOT__", "_COLIDENTIFIER")

_MOST_URIS = 10_000
"""Files that one job reads; a pattern of names might match files that are not of the release."""

_CONFLICT = 409
_TAKEN = "it exists already; choose another name, or delete it"

_KINDS = (
    ("null", "STRING"),
    ("string", "STRING"),
    ("large_string", "STRING"),
    ("boolean", "BOOLEAN"),
    ("integer", "INTEGER"),
    ("floating", "FLOAT"),
    ("decimal", "BIGNUMERIC"),
    ("date", "DATE"),
)
"""Kinds of Arrow types, and the types that BigQuery reads such columns of Parquet as."""


def column_type(kind: pa.DataType) -> str | None:
    """What BigQuery calls the type of a column; None where it is none of those released."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_timestamp(kind):
        return "TIMESTAMP" if kind.tz else "DATETIME"
    if pa.types.is_decimal(kind) and kind.scale <= 9 and kind.precision - kind.scale <= 29:
        return "NUMERIC"
    return next((name for arrow, name in _KINDS if getattr(pa.types, f"is_{arrow}")(kind)), None)


def check_columns(schema: pa.Schema) -> None:
    """Refuses kept columns that a table cannot have."""
    names: set[str] = {"id", "text"}
    for field in schema:
        name, upper = field.name, field.name.upper()
        if column_type(field.type) is None:
            raise ConfigurationError(
                f"`keep_fields` {name}: a table has no type for {field.type}; leave it out"
            )
        if not _COLUMN.fullmatch(name) or upper.startswith(_RESERVED) or name.lower() in names:
            raise ConfigurationError(
                f"`keep_fields` {name}: columns of a table are named by letters, digits and "
                "underscores, each otherwise than the others in lower case; rename the field"
            )
        names.add(name.lower())


def check_absent(table: Table) -> None:
    """Refuses a table that is there, or whose dataset is not."""
    _location(table)
    with refusals(table):
        if _known(tables.client(table), table) is None:
            return
    raise OutputError(f"{table}: {_TAKEN}")


def load(
    table: Table, files: Sequence[str], schema: pa.Schema, rows: int, description: str
) -> None:
    """Makes a table of Parquet files, unless it is there.

    Args:
      table: to be made.
      files: of the release. BigQuery itself reads those on Cloud Storage; others are sent.
      schema: of all files.
      rows: how many they hold.
      description: of the table; one that is there, has it and holds as many rows is taken for made.

    Raises:
      OutputError: the table was not made; it is said why.
    """
    where = _location(table)
    with refusals(table, OutputError, {_CONFLICT: _TAKEN}):
        from google.api_core.exceptions import Conflict
        from google.cloud import bigquery

        client = tables.client(table)
        known = _known(client, table)
        if known == (description, rows):
            return
        if known is not None:
            raise OutputError(f"{table}: {_TAKEN}")
        job = bigquery.LoadJobConfig(
            source_format="PARQUET",
            create_disposition="CREATE_IF_NEEDED",
            write_disposition="WRITE_EMPTY",
            schema=[bigquery.SchemaField(each.name, column_type(each.type)) for each in schema],
            destination_table_description=description,
        )
        named = {"job_id": f"dxbeam-{uuid.uuid4().hex}", "location": where, "job_config": job}
        try:
            begun = _begun(client, named, lambda: _begin(client, table, files, schema, named))
            loaded = int(begun.result().output_rows or 0)
        except Conflict:
            if _known(client, table) == (description, rows):
                return  # another writer of this release was faster
            raise
    if loaded != rows:
        raise OutputError(f"{table} holds {loaded:,} rows and not {rows:,}; delete it")


def _known(client: Any, table: Table) -> tuple[str, int] | None:
    """What a table says of itself, and how many rows it has; None where there is none."""
    from google.api_core.exceptions import NotFound

    try:
        described = client.get_table(table.name, timeout=SECONDS)
    except NotFound:
        return None
    return str(described.description), int(described.num_rows or 0)


def _location(table: Table) -> str:
    """Where a table's dataset is."""
    with refusals(table):
        dataset = f"{table.project}.{table.dataset}"
        return str(tables.client(table).get_dataset(dataset, timeout=SECONDS).location)


def _begun(client: Any, named: Mapping[str, Any], begin: Callable[[], Any]) -> Any:
    """A job that was begun, by this request or by an earlier one whose answer was lost."""
    from google.api_core.exceptions import Conflict, NotFound, RetryError
    from requests.exceptions import RequestException

    try:
        return begin()
    except (Conflict, RetryError, RequestException) as error:
        try:
            return client.get_job(named["job_id"], location=named["location"], timeout=SECONDS)
        except NotFound:
            raise error from None


def _begin(
    client: Any, table: Table, files: Sequence[str], schema: pa.Schema, named: Mapping[str, Any]
) -> Any:
    from google.cloud.bigquery import DEFAULT_RETRY

    if all(file.startswith("gs://") for file in files):
        if len(files) > _MOST_URIS:
            raise OutputError(
                f"{table}: one job reads at most {_MOST_URIS:,} files, and the release has "
                f"{len(files):,}; release it in fewer shards"
            )
        retry = DEFAULT_RETRY.with_timeout(SECONDS)
        return client.load_table_from_uri(
            list(files), table.name, **named, retry=retry, timeout=SECONDS
        )
    with tempfile.TemporaryFile() as file:
        _write_as_one(files, schema, file)
        size = file.tell()
        return client.load_table_from_file(file, table.name, **named, rewind=True, size=size)


def _write_as_one(files: Sequence[str], schema: pa.Schema, target: IO[bytes]) -> None:
    """Writes all rows to one file, as only one can be sent with a job."""
    with pq.ParquetWriter(target, schema, compression="zstd") as writer:
        for path in files:
            with storage.open_read(path) as file, pq.ParquetFile(file) as parquet_file:
                for group in range(parquet_file.num_row_groups):
                    writer.write_table(parquet_file.read_row_group(group).cast(schema))
