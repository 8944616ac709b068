"""attackers.parquet: a row per attacker, measure and release."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa

from dxbeam import storage
from dxbeam.analysis.exposure.attack import Attack
from dxbeam.analysis.measure.tables import Row, write_table

ATTACKERS = "attackers.parquet"

COLUMNS = pa.schema(
    [
        ("release", pa.string()),
        ("attacker", pa.string()),
        ("sees", pa.string()),
        ("knows", pa.string()),
        ("measure", pa.string()),
        ("success", pa.float64()),
        ("low", pa.float64()),
        ("high", pa.float64()),
        ("chance", pa.float64()),
        ("n", pa.int64()),
    ]
)
"""Of attackers.parquet. ``chance`` is null where it is not known."""


def attack_rows(places: Sequence[str], attacks: Iterable[tuple[int, Attack]]) -> list[Row]:
    """The rows, those of a release together, in an order that does not depend on workers.

    Args:
      places: where each release is.
      attacks: with the numbers of releases.
    """
    rows = [(number, Attack(*attack)) for number, attack in attacks]
    rows.sort(key=lambda row: (row[0], row[1].knows, row[1].attacker, row[1].measure))
    return [{"release": places[number], **attack._asdict()} for number, attack in rows]


def attacks_of(place: str, rows: Sequence[Row]) -> list[Row]:
    """The rows of one release."""
    return [row for row in rows if row["release"] == place]


def write_attacks(output: str, rows: Sequence[Row]) -> None:
    """Writes the table, if it has rows."""
    if rows:
        write_table(storage.join(output, ATTACKERS), rows, COLUMNS)
