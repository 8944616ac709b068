"""attackers.parquet: a row per attacker, measure and release."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa

from dxbeam import storage
from dxbeam.analysis.exposure.attack import Attack
from dxbeam.analysis.measure.tables import Row, numbers, texts, write_table

ATTACKERS = "attackers.parquet"

COLUMNS = pa.schema([
    *texts("release", "attacker", "sees", "knows", "measure"),
    *numbers("success", "low", "high", "chance"), ("n", pa.int64()),
])  # fmt: skip
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
