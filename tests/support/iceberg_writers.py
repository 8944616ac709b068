"""Processes that make tables of two releases at once, and what each of them was told."""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from multiprocessing.synchronize import Barrier
from pathlib import Path

from dxbeam.errors import OutputError
from dxbeam.release.output_table import publish

MADE = "made"


def make_at_once(releases: Sequence[Path], tables: Sequence[str]) -> list[list[str]]:
    """Makes each table of each release, by a process for each release; what they were told."""
    spawning = multiprocessing.get_context("spawn")
    together = spawning.Barrier(len(releases))
    with spawning.Pool(len(releases), _remember, (together,)) as processes:
        work = [(str(release), list(tables)) for release in releases]
        return processes.starmap(_make_tables, work, chunksize=1)


_together: Barrier


def _remember(together: Barrier) -> None:
    global _together
    _together = together


def _make_tables(release: str, tables: list[str]) -> list[str]:
    told = []
    for table in tables:
        _together.wait(60)
        try:
            publish(release, table)
            told.append(MADE)
        except OutputError as error:
            told.append(str(error))
    return told
