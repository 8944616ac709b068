"""A new table of finished Parquet files, made by one commit: it is there whole, or not at all.

The files stay where they are, and the commit is the catalog's: of several writers, one makes the
table. A digest in the properties of its one snapshot names what it is made of. So whoever makes it
a second time, as after a lost answer, finds it made.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from dxbeam import storage
from dxbeam.corpus.iceberg.address import Address, parse
from dxbeam.corpus.iceberg.catalogs import open_catalog, sentence
from dxbeam.errors import ConfigurationError, OutputError

DIGEST = "dxbeam.release-sha256"
"""Property of the snapshot: of what the table was made."""

_FILES_ARE_OTHERS = {"gc.enabled": "false"}
"""Table property: engines that keep to it never delete the data files, which the release owns."""


def check(parameter: str, place: str, schema: pa.Schema, files_below: str) -> None:
    """Refuses what ``create`` would refuse if it were called now; makes nothing.

    ``files_below`` is the directory or prefix that the files will be below.
    """
    address = _new(parameter, place)
    _check_types(parameter, address, schema)
    _location(files_below)
    catalog = open_catalog(parameter, address)
    with sentence(f"`{parameter}` {address}: the catalog cannot be read", OutputError):
        _check_namespace(parameter, address, catalog)
        if catalog.table_exists(address.table):
            raise _taken(parameter, address)


def create(
    parameter: str,
    place: str,
    files: Sequence[str],
    schema: pa.Schema,
    digest: str,
    properties: Mapping[str, str],
) -> None:
    """Makes a table of files, for the first writer only; a table of this very digest is accepted.

    Args:
      parameter: names the table in messages.
      place: its address.
      files: Parquet files, which stay where they are.
      schema: of all of them.
      digest: names what they are.
      properties: of the table.

    Raises:
      ConfigurationError: no address of a table, no such catalog, or a column of no type of Iceberg.
      OutputError: there is another table of this name, or none can be made.
    """
    address = _new(parameter, place)
    _check_types(parameter, address, schema)
    locations = [_location(file) for file in files]
    catalog = open_catalog(parameter, address)
    with sentence(f"`{parameter}` {address}: no table could be made", OutputError):
        if not _is_made(parameter, address, catalog, digest):
            _check_namespace(parameter, address, catalog)
            _commit(parameter, address, catalog, locations, schema, digest, properties)


def _new(parameter: str, place: str) -> Address:
    address = parse(parameter, place)
    if address != Address(address.catalog, address.table):
        raise ConfigurationError(
            f"`{parameter}` {place}: a new table has no snapshot yet; leave @ and what follows out"
        )
    return address


def _check_namespace(parameter: str, address: Address, catalog: Any) -> None:
    namespace = address.table.rpartition(".")[0]
    if not catalog.namespace_exists(namespace):
        raise OutputError(
            f"`{parameter}` {address}: the catalog has no namespace {namespace!r}; create it, as "
            f"by: pyiceberg --catalog {address.catalog} create namespace {namespace}"
        )


def _is_made(parameter: str, address: Address, catalog: Any, digest: str) -> bool:
    """Whether the table is there and was made of what this digest names, and of nothing else."""
    if not catalog.table_exists(address.table):
        return False
    snapshots = catalog.load_table(address.table).metadata.snapshots
    made_of = [snapshot.summary and snapshot.summary.get(DIGEST) for snapshot in snapshots]
    if made_of != [digest]:
        raise _taken(parameter, address)
    return True


def _taken(parameter: str, address: Address) -> OutputError:
    return OutputError(
        f"`{parameter}` {address}: there is a table of this name already; choose a fresh one"
    )


def _commit(
    parameter: str,
    address: Address,
    catalog: Any,
    locations: list[str],
    schema: pa.Schema,
    digest: str,
    properties: Mapping[str, str],
) -> None:
    every_property = {**properties, **_FILES_ARE_OTHERS}
    transaction = catalog.create_table_transaction(address.table, schema, properties=every_property)
    transaction.add_files(locations, {DIGEST: digest})
    try:
        transaction.commit_transaction()
    except Exception:
        # The answer may be lost, or another writer was faster: the catalog knows.
        with contextlib.suppress(OSError):
            if _is_made(parameter, address, catalog, digest):
                return
        raise


def _check_types(parameter: str, address: Address, schema: pa.Schema) -> None:
    for field in schema:
        if not _has_type(field.type):
            raise ConfigurationError(
                f"`{parameter}` {address}: the field {field.name!r} holds {field.type}, which not "
                "every reader of Iceberg reads right; leave it out, or convert it in the corpus"
            )


def _has_type(kind: pa.DataType) -> bool:
    """Whether Iceberg's type of this column holds all its values, for every reader.

    Lists are left out: of files that were written without a table, the reader in Rust takes the
    elements of lists for nulls.
    """
    types = pa.types
    if types.is_dictionary(kind):
        return _has_type(kind.value_type)
    if types.is_timestamp(kind):
        return kind.unit == "us" and kind.tz in (None, "UTC")
    if types.is_unsigned_integer(kind):
        return bool(kind.bit_width < 32)
    text = types.is_string(kind) or types.is_large_string(kind)
    number = types.is_integer(kind) or types.is_float32(kind) or types.is_float64(kind)
    exact = types.is_decimal128(kind)
    return bool(text or number or exact or types.is_boolean(kind) or types.is_date32(kind))


def _location(file: str) -> str:
    """What a table calls a file: a URI."""
    location = f"file://{Path(file).absolute()}" if storage.is_local(file) else file
    if re.search("[?#;%]", location):
        raise OutputError(
            f"{file}: no table can be made of files whose path holds ?, #, ; or %; release to "
            "another place"
        )
    return location
