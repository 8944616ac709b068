"""``iceberg://CATALOG/NAMESPACE.TABLE``: which table is meant, and which of its snapshots."""

from __future__ import annotations

import re
from typing import NamedTuple

from dxbeam.errors import ConfigurationError

SCHEME = "iceberg://"

_NUMBER = "[0-9]{1,19}"
_ADDRESS = re.compile(
    rf"{SCHEME}([^/@#\s]+)/([^/@#.]+(?:\.[^/@#.]+)+)(?:@({_NUMBER})(?::({_NUMBER}))?)?(?:#({_NUMBER}))?"
)


class Address(NamedTuple):
    """Where rows are.

    Attributes:
      catalog: its name in the configuration of pyiceberg.
      table: namespace and name.
      snapshot: which of the table's snapshots; None for the current one.
      schema: by which of its schemas; None for the snapshot's, or the current one.
      file: the number of one data file of the snapshot, in order of their paths; None for all.
    """

    catalog: str
    table: str
    snapshot: int | None = None
    schema: int | None = None
    file: int | None = None

    def __str__(self) -> str:
        snapshot = "" if self.snapshot is None else f"@{self.snapshot}"
        schema = "" if self.schema is None else f":{self.schema}"
        # Padded, so that the order of addresses is that of the files.
        file = "" if self.file is None else f"#{self.file:08}"
        return f"{SCHEME}{self.catalog}/{self.table}{snapshot}{schema}{file}"


def is_table(place: str) -> bool:
    """Whether a place is called as a table is."""
    return place.startswith(SCHEME)


def parse(parameter: str, place: str) -> Address:
    """The table of an address; ``parameter`` names it in messages."""
    matched = _ADDRESS.fullmatch(place)
    if matched is None:
        raise ConfigurationError(
            f"`{parameter}` {place}: a table is named iceberg://CATALOG/NAMESPACE.TABLE, with "
            "@SNAPSHOT behind it for one of its snapshots"
        )
    catalog, table, *numbers = matched.groups()
    snapshot, schema, file = (None if number is None else int(number) for number in numbers)
    return Address(catalog, table, snapshot, schema, file)
