"""How far a job is: counts that workers log, and that a launcher on the same machine adds up.

Counts only, never anything of a text. A count ``NAME`` may have a total, ``found_NAME``, which
workers count as they find work; so a launcher can tell which share is done.
"""

from __future__ import annotations

import contextlib
import logging
import re
import time
import uuid
from collections.abc import Iterator

EXPECTED = "found_"
"""The beginning of the name of a total."""

_LOG = logging.getLogger(__name__)
_REPORT = re.compile(r"progress of worker ([0-9a-f]+):((?: [a-z_]+=[0-9]+)+)$")


class Progress:
    """Counts what this worker has done, and logs it after this many seconds at least."""

    def __init__(self, seconds: float = 5.0) -> None:
        self._seconds = seconds
        self._worker = uuid.uuid4().hex[:12]
        self._counts: dict[str, int] = {}
        self._told = time.monotonic()

    def count(self, **done: int) -> None:
        """Adds to counts, such as ``documents=1, words=20``."""
        for name, number in done.items():
            self._counts[name] = self._counts.get(name, 0) + number
        if time.monotonic() - self._told >= self._seconds:
            self.tell()

    @contextlib.contextmanager
    def counted(self, what: str) -> Iterator[None]:
        """Around one piece of work, which counts when it is done."""
        yield
        self.count(**{what: 1})

    def tell(self) -> None:
        """Logs the counts now."""
        self._told = time.monotonic()
        if self._counts:
            said = " ".join(f"{name}={number}" for name, number in self._counts.items())
            _LOG.info("progress of worker %s: %s", self._worker, said)


def read_report(message: str) -> tuple[str, dict[str, int]] | None:
    """The worker and the counts of a message of ``Progress``; None for any other message."""
    reported = _REPORT.search(message)
    if reported is None:
        return None
    counts = (each.split("=") for each in reported[2].split())
    return reported[1], {name: int(number) for name, number in counts}
