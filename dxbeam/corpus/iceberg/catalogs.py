"""Catalogs and tables, opened by pyiceberg; what goes wrong is one sentence.

A catalog's configuration may hold passwords, and errors of catalogs and readers may quote it, or
values of a table. So of their errors nothing but the kind is ever shown.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from dxbeam.corpus.iceberg.address import Address
from dxbeam.errors import ConfigurationError, CorpusError, DxbeamError, OutputError


def open_catalog(parameter: str, address: Address) -> Any:
    """The catalog of a table, as pyiceberg's configuration describes it.

    ``parameter`` names the table in messages. ConfigurationError says what is missing.
    """
    try:
        from pyiceberg.catalog import load_catalog
        from pyiceberg.exceptions import NotInstalledError
    except ImportError:
        raise ConfigurationError(
            f"`{parameter}` {address}: tables of Iceberg need pyiceberg; install it with: "
            "pip install 'dxbeam[iceberg]'"
        ) from None
    try:
        return load_catalog(address.catalog)
    except (ImportError, NotInstalledError) as error:
        raise ConfigurationError(
            f"`{parameter}` {address}: a package that the catalog {address.catalog!r} needs is not "
            f"installed ({type(error).__name__}); pyiceberg has an extra for each kind of catalog, "
            "such as pip install 'pyiceberg[sql-postgres]'"
        ) from None
    except Exception as error:
        raise ConfigurationError(
            f"`{parameter}` {address}: the catalog {address.catalog!r} cannot be opened "
            f"({type(error).__name__}); describe it in ~/.pyiceberg.yaml, or by variables such as "
            f"PYICEBERG_CATALOG__{address.catalog.upper()}__URI"
        ) from None


def open_table(parameter: str, address: Address) -> Any:
    """A table, as it is now; CorpusError: the catalog has none, or it cannot be read."""
    catalog = open_catalog(parameter, address)
    from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError

    try:
        return catalog.load_table(address.table)
    except (NoSuchTableError, NoSuchNamespaceError):
        raise CorpusError(
            f"`{parameter}` {address}: the catalog has no such table; check its name"
        ) from None
    except Exception as error:
        raise CorpusError(
            f"`{parameter}` {address}: the table cannot be opened ({type(error).__name__}); check "
            "the catalog, and whether this user may read the table's files"
        ) from None


@contextlib.contextmanager
def sentence(
    what: str, kind: type[CorpusError] | type[OutputError] = CorpusError
) -> Iterator[None]:
    """Around calls of pyiceberg: whatever it raises becomes a sentence that quotes none of it."""
    try:
        yield
    except DxbeamError:
        raise
    except Exception as error:
        raise kind(f"{what} ({type(error).__name__})") from None
