"""The file that dxbeam scan-constant wrote."""

from __future__ import annotations

import json
from typing import Any

from dxbeam import storage
from dxbeam.errors import ConfigurationError
from dxbeam.mechanisms.exact_constant import ExactConstant, constant_of


def read_record(path: str) -> dict[str, Any]:
    """The record in a file.

    Raises:
      ConfigurationError: it cannot be read, or is no record.
    """
    try:
        record = json.loads(storage.read(path))
        constant_of(record)
    except OSError as error:
        raise ConfigurationError(
            f"`constant_scan` {path}: cannot be read ({type(error).__name__}); dxbeam "
            "scan-constant writes it"
        ) from None
    except (ValueError, ConfigurationError):
        raise ConfigurationError(
            f"`constant_scan` {path}: this is no record of dxbeam scan-constant"
        ) from None
    return dict(record)


def read_constant(path: str) -> ExactConstant:
    """The constant that a scan found, from the file that dxbeam scan-constant wrote.

    Raises:
      ConfigurationError: it cannot be read, or is no record of a scan.
    """
    return constant_of(read_record(path))
