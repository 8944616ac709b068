"""How far long work is: a line for each task, or every ten seconds, with the time that is left."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Iterator

from dxbeam.analysis.measurement import Setting

_LOG = logging.getLogger(__name__)
_SECONDS_PER_REPORT = 10.0


class Progress:
    """Logs which setting was done and how long the rest may take; numbers and settings only.

    Args:
      what: is done with a setting, such as "words attacked".
      workers: processes among which tasks are divided evenly; 0 where their number is unknown, and
        then no time is given.
    """

    def __init__(self, what: str, workers: int):
        self._what = what
        self._workers = workers
        self._done, self._seconds = 0, 0.0

    @contextlib.contextmanager
    def of(self, tasks: int, setting: Setting) -> Iterator[None]:
        """Around the work on a task.

        Args:
          tasks: how many there are on all workers together.
          setting: what it is about, of one epsilon.
        """
        started = time.monotonic()
        yield
        self._done += 1
        self._seconds += time.monotonic() - started
        _LOG.info(
            "%s under %s at epsilon = %g: this worker has done %d %s",
            self._what,
            setting.mechanism,
            setting.epsilons[0],
            self._done,
            self._left(tasks),
        )

    def _left(self, tasks: int) -> str:
        if not self._workers:
            return f"of {tasks} settings on all workers"
        own = max(self._done, round(tasks / self._workers))
        left = (own - self._done) * self._seconds / self._done
        return f"of about {own} settings, about {spoken(left)} left"


class DocumentProgress:
    """Logs, every ten seconds at most, how many documents a worker has done; numbers only.

    Args:
      what: was done with them, such as "compared".
      documents: how many there are on all workers together.
      workers: as for ``Progress``.
    """

    def __init__(self, what: str, documents: int, workers: int):
        self._what = what
        self._documents, self._workers = documents, workers
        self._done = 0
        self._started = self._told = time.monotonic()

    def count(self) -> None:
        """One more is done."""
        self._done += 1
        now = time.monotonic()
        if now - self._told < _SECONDS_PER_REPORT:
            return
        self._told = now
        _LOG.info("this worker has %s %s %s", self._what, f"{self._done:,}", self._left(now))

    def _left(self, now: float) -> str:
        if not self._workers:
            return f"of {self._documents:,} documents on all workers"
        own = max(self._done, round(self._documents / self._workers))
        left = (own - self._done) * (now - self._started) / self._done
        return f"of about {own:,} documents, about {spoken(left)} left"


def spoken(seconds: float) -> str:
    """A duration as people say it."""
    for size, unit in ((3600, "hours"), (60, "minutes")):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} seconds"
