"""Lines of a ledger."""

from __future__ import annotations

import dataclasses

from dxbeam.release import ledger
from dxbeam.release.ledger_lines import Entry


def entry(run: str, **changes: object) -> Entry:
    begun = Entry(
        "begun", run, "2026-01-01T00:00:00+00:00", "notes", "out", 10.0, 0.0, "d", "laplace", "c1",
        "v1", "k1",
    )  # fmt: skip
    return dataclasses.replace(begun, **changes)


def released(path: str, run: str, digest: str, **changes: object) -> Entry:
    begun = entry(run, **changes)
    ledger.begin(path, begun, None)
    ledger.end(path, begun, digest, 7)
    return begun
