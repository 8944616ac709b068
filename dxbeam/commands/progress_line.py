"""One line that says how far a run is, all workers together, on the standard error output.

On a terminal the line is written again and again in its place, and log lines appear above it.
Elsewhere, as in a file, it is a log line every half minute.
"""

from __future__ import annotations

import logging
import sys
import time
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple, TextIO

from dxbeam.release.plan import duration
from dxbeam.transforms.progress import EXPECTED, read_report

if TYPE_CHECKING:  # before Python 3.11 the class takes no parameter at run time
    _Handler = logging.StreamHandler[TextIO]
else:
    _Handler = logging.StreamHandler

_SECONDS_BEFORE_FIRST_LINE = 10.0
_SECONDS_PER_LINE = 30.0  # where it is no terminal
_CLEAR = "\r\x1b[K"
_BYTES = "bytes"


class _Begun(NamedTuple):
    """When a total was first known, and the share that was done by then."""

    at: float
    share: float


class ProgressLine(_Handler):
    """Shows log records, and the reports of ``Progress`` among them as one line."""

    def __init__(self, stream: TextIO | None = None):
        super().__init__(stream or sys.stderr)
        self._restart()

    def _restart(self) -> None:
        self._counts: dict[str, dict[str, int]] = {}
        self._begun: dict[str, _Begun] = {}
        self._shown = ""
        self._told = time.monotonic() + _SECONDS_BEFORE_FIRST_LINE - _SECONDS_PER_LINE

    def emit(self, record: logging.LogRecord) -> None:
        """Adds a report up, or shows a record above the line."""
        report = read_report(record.getMessage())
        if report is None:
            shown = self._shown
            self._show("")
            super().emit(record)
            self._show(shown)
            return
        worker, counts = report
        self._counts[worker] = counts
        if line := self.line():
            if self.stream.isatty():
                self._show(line)
            elif time.monotonic() - self._told >= _SECONDS_PER_LINE:
                self._told = time.monotonic()
                record.msg, record.args = line, ()
                super().emit(record)

    def line(self) -> str:
        """How far the run is; "" where nothing is done."""
        total: Counter[str] = Counter()
        for counts in self._counts.values():
            total.update(counts)
        named = [
            f"{total[name]:,} {name}"
            for name in total
            if name != _BYTES and not name.startswith(EXPECTED) and not total[EXPECTED + name]
        ]
        expected = [name.removeprefix(EXPECTED) for name in total if name.startswith(EXPECTED)]
        for name in sorted(expected, key=lambda name: total[name] >= total[EXPECTED + name])[:1]:
            named += self._share_of(name, total[name], total[EXPECTED + name])
        return ", ".join(named)

    def _share_of(self, name: str, done: int, expected: int) -> list[str]:
        share = min(1.0, done / expected)
        now = time.monotonic()
        begun = self._begun.setdefault(name, _Begun(now, share))
        said = f"{share:.0%} of the input" if name == _BYTES else f"{done:,} of {expected:,} {name}"
        if share <= begun.share or done >= expected:
            return [said] if done else []
        left = (now - begun.at) * (1 - share) / (share - begun.share)
        return [said, f"about {duration(left)} left"]

    def _show(self, line: str) -> None:
        """Replaces the line on a terminal."""
        if line or self._shown:
            self._shown = line
            self.stream.write(_CLEAR + line)
            self.flush()

    def end(self) -> None:
        """Takes the line away, as the run is over; a further run starts anew."""
        self._show("")
        self._restart()


def end() -> None:
    """Takes the line away, wherever this process shows one."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler, ProgressLine):
            handler.end()
