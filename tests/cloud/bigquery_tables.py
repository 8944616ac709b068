"""Tables as BigQuery keeps them, for the servers that play it: rows, columns, and loading files."""

from __future__ import annotations

import datetime
import io
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

PROJECT, DATASET = "a-project", "texts"

ARROW: dict[str, pa.DataType] = {
    "STRING": pa.string(),
    "INTEGER": pa.int64(),
    "FLOAT": pa.float64(),
    "NUMERIC": pa.decimal128(38, 9),
    "BIGNUMERIC": pa.decimal256(76, 38),
    "BOOLEAN": pa.bool_(),
    "DATE": pa.date32(),
    "DATETIME": pa.timestamp("us"),
    "TIMESTAMP": pa.timestamp("us", "UTC"),
    "BYTES": pa.binary(),
}
"""Types of columns, and the Arrow types that the service of rows sends for them."""

Column = dict[str, str]
"""Name, type and mode of a column, as REST has them."""


def column(name: str, kind: str, mode: str = "NULLABLE") -> Column:
    return {"name": name, "type": kind, "mode": mode}


@dataclass
class StoredTable:
    """A table: its columns, its rows and its kind."""

    columns: list[Column]
    rows: pa.Table
    kind: str = "TABLE"
    facts: dict[str, Any] = field(default_factory=dict)


class Refused(Exception):  # noqa: N818
    """What BigQuery answers instead: an HTTP status and a reason."""

    def __init__(self, status: int, reason: str):
        super().__init__(reason)
        self.status, self.reason = status, reason


class Tables:
    """All tables and jobs.

    Attributes:
      tables: by name, such as ``a-project.texts.reviews``.
      forbidden: names of tables that nobody may see.
      jobs: resources of jobs, by id.
      loaded: how many loads were committed.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.tables: dict[str, StoredTable] = {}
        self.forbidden: set[str] = set()
        self.jobs: dict[str, dict[str, Any]] = {}
        self.loaded = 0

    def put(
        self, table: str, columns: list[Column], rows: Iterable[dict[str, Any]], **stored: Any
    ) -> str:
        """Makes a table of rows, and names it as dxbeam does."""
        content = pa.Table.from_pylist(list(rows), _schema(columns))
        name = f"{PROJECT}.{DATASET}.{table}"
        self.tables[name] = StoredTable(columns, content, **stored)
        return f"bq://{name}"

    def table(self, name: str) -> StoredTable:
        if name in self.forbidden:
            raise Refused(403, "accessDenied")
        if name not in self.tables:
            raise Refused(404, "notFound")
        return self.tables[name]

    def load(self, configuration: dict[str, Any], files: list[bytes]) -> int:
        """Loads Parquet files in one step, if no rows are there; how many rows."""
        target = configuration["destinationTable"]
        name = ".".join(target[part] for part in ("projectId", "datasetId", "tableId"))
        if target["datasetId"] != DATASET:
            raise Refused(404, "notFound")
        if name in self.forbidden:
            raise Refused(403, "accessDenied")
        assert configuration["sourceFormat"] == "PARQUET"
        assert configuration["writeDisposition"] == "WRITE_EMPTY"
        columns = [
            column(each["name"], each["type"], each.get("mode", "NULLABLE"))
            for each in configuration["schema"]["fields"]
        ]
        tables = [_in_schema(pq.read_table(io.BytesIO(file)), columns) for file in files]
        rows = pa.concat_tables(tables)
        description = configuration.get("destinationTableProperties", {}).get("description", "")
        with self.lock:  # whether there are rows, and writing, is one step
            there = self.tables.get(name)
            if there is not None and there.rows.num_rows:
                raise Refused(409, "duplicate")
            facts = {"description": description}
            self.tables[name] = StoredTable(columns, rows, facts=facts)
            self.loaded += 1
        return int(rows.num_rows)


def _schema(columns: list[Column]) -> pa.Schema:
    kinds = [
        pa.list_(ARROW[each["type"]]) if each["mode"] == "REPEATED" else ARROW[each["type"]]
        for each in columns
    ]
    return pa.schema([(each["name"], kind) for each, kind in zip(columns, kinds, strict=True)])


def _in_schema(table: pa.Table, columns: list[Column]) -> pa.Table:
    """Columns of a file as those of a table; BigQuery widens types and changes none."""
    schema = _schema(columns)
    if set(table.column_names) != set(schema.names):
        raise Refused(400, "invalid")
    for name in schema.names:
        known, wanted = table.schema.field(name).type, schema.field(name).type
        alike = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_null)
        if known != wanted and not any(kind(known) for kind in alike):
            raise Refused(400, "invalid")
    return table.select(schema.names).cast(schema)


def described(name: str, stored: StoredTable) -> dict[str, Any]:
    """The resource of a table, as REST has it."""
    project, dataset, table = name.split(".")
    return {
        "kind": "bigquery#table",
        "id": f"{project}:{dataset}.{table}",
        "tableReference": {"projectId": project, "datasetId": dataset, "tableId": table},
        "type": stored.kind,
        "schema": {"fields": stored.columns},
        "numRows": str(stored.rows.num_rows),
        "numBytes": str(stored.rows.nbytes),
        "location": "EU",
        **stored.facts,
    }


def listed(stored: StoredTable, start: int, most: int) -> dict[str, Any]:
    """Rows as tabledata.list has them."""
    rows = stored.rows.slice(start, most).to_pylist()
    following = start + len(rows)
    more = {"pageToken": str(following)} if following < stored.rows.num_rows else {}
    cells = [{"f": [{"v": _cell(value)} for value in row.values()]} for row in rows]
    return {"totalRows": str(stored.rows.num_rows), "rows": cells, **more}


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime.datetime) and value.tzinfo:
        return str(round(value.timestamp() * 1_000_000))
    if isinstance(value, datetime.datetime | datetime.date):
        return value.isoformat()
    return None if value is None else str(value)
