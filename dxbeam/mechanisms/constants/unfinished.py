"""What a scan has found so far, so that one that was stopped goes on where it was.

Rows of the sums Z and of the pairs are added in order, so a scan that goes on finds the same to the
last bit as one that was never stopped.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dxbeam.mechanisms.constants.pair_scan import Pairs, ScanState
from dxbeam.space.search.neighbors import Floats

Arrays = Mapping[str, Any]

_SECONDS = 30.0
"""Between two writes."""


class Unfinished:
    """What is kept of one scan, written as arrays by name.

    Writes are ``seconds`` apart, at least. ``kept`` is what a stopped scan of the same exponents
    wrote; nothing for a new one.
    """

    def __init__(
        self,
        kept: Arrays | None = None,
        write: Callable[[Arrays], None] = lambda _: None,
        seconds: float = _SECONDS,
    ):
        self._kept, self._write, self._seconds = dict(kept or {}), write, seconds
        self._written = time.monotonic()

    def sums(self, count: int) -> tuple[int, Floats]:
        """How many rows of this many were added up, and the sums so far, float64 [count]."""
        if "sums" not in self._kept:
            return 0, np.zeros(count)
        return int(self._kept["rows"]), np.array(self._kept["sums"], np.float64)

    def keep_sums(self, rows: int, sums: Floats) -> None:
        """Keeps them, if it is time."""
        self._keep(lambda: {"rows": np.array(rows), "sums": sums})

    @property
    def log_sums(self) -> Floats | None:
        """Log Z of all sources, where they are known."""
        return self._kept.get("log_sums")

    def pairs(self) -> tuple[int, ScanState] | None:
        """How many blocks of rows were scanned for pairs, and what they showed."""
        if "blocks" not in self._kept:
            return None
        of = self._kept
        pair = (int(of["pair"][0]), int(of["pair"][1])) if len(of["pair"]) else None
        left = Pairs(of["first"], of["second"], of["upper"], float(of["dropped"]))
        return int(of["blocks"]), ScanState(float(of["excess"]), pair, left)

    def keep_pairs(self, log_sums: Floats, blocks: int, state: ScanState) -> None:
        """Keeps them, if it is time."""
        self._keep(
            lambda: {
                "log_sums": log_sums,
                "blocks": np.array(blocks),
                "excess": np.array(state.excess),
                "pair": np.array(state.pair or (), np.int64),
                "first": state.open.first,
                "second": state.open.second,
                "upper": state.open.upper,
                "dropped": np.array(state.open.dropped),
            }
        )

    def _keep(self, arrays: Callable[[], Arrays]) -> None:
        if time.monotonic() - self._written >= self._seconds:
            self._write(arrays())
            self._written = time.monotonic()
