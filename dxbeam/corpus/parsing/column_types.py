"""Columns of text whose values are numbers, booleans or dates, because the user says so.

CSV has no types, and a guess turns the post code 01234 into 1234. So columns hold strings unless
they are named with a type.
"""

from __future__ import annotations

import json
import math

import pyarrow as pa

from dxbeam.errors import ConfigurationError

TYPES: dict[str, pa.DataType] = {
    "string": pa.string(),
    "int64": pa.int64(),
    "float64": pa.float64(),
    "bool": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "timestamp_utc": pa.timestamp("us", "UTC"),
}
"""The types that a kept column can be given, by name."""

Value = str | int | float | bool | None

_BOOLEANS = {"true": True, "false": False}


def parse_types(listed: str) -> tuple[tuple[str, str], ...]:
    """The pairs in a list such as ``"stars=int64, day=date"``."""
    pairs = []
    for part in filter(None, map(str.strip, listed.split(","))):
        name, equals, kind = (piece.strip() for piece in part.rpartition("="))
        if not (name and equals and kind in TYPES):
            raise ConfigurationError(
                "`column_types` is a list such as stars=int64,day=date, of the types "
                f"{', '.join(TYPES)}"
            )
        pairs.append((name, kind))
    return tuple(pairs)


def typed(text: str | None, kind: str) -> Value:
    """The value of a field, as JSON knows it; dates and timestamps stay as text; None is null.

    ``kind`` is a key of TYPES. ValueError: the text is no such value.
    """
    if text is None or kind == "string":
        return text
    if kind == "bool":
        if text.lower() not in _BOOLEANS:
            raise ValueError("no boolean")
        return _BOOLEANS[text.lower()]
    if kind in ("int64", "float64"):
        return _number(text, kind)
    try:
        pa.array([text], pa.string()).cast(TYPES[kind])
    except pa.ArrowException:
        raise ValueError("no date") from None
    return text


def _number(text: str, kind: str) -> int | float:
    if "_" in text or not text.isascii():
        raise ValueError("no number")
    if kind == "int64":
        whole = int(text)
        if not -(2**63) <= whole < 2**63:
            raise ValueError("no number of 64 bits")
        return whole
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("no finite number")
    return value


def as_text(value: object) -> str | None:
    """A value that JSON knows as the text of a field; lists and objects as JSON."""
    return value if isinstance(value, str | None) else json.dumps(value, ensure_ascii=False)
