"""Changes of files happen wholly, or not at all once a process is closed to them."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator


class _Writing:
    """Lets changes of files through, until the process stops."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._depth = threading.local()
        self._inside = 0
        self._only: int | None = None

    @contextlib.contextmanager
    def __call__(self) -> Iterator[None]:
        depth = getattr(self._depth, "value", 0)
        if not depth:  # a change within a change is part of it
            with self._changed:
                while self._only not in (None, threading.get_ident()):
                    self._changed.wait()  # until the process ends
                self._inside += 1
        self._depth.value = depth + 1
        try:
            yield
        finally:
            self._depth.value = depth
            if not depth:
                with self._changed:
                    self._inside -= 1
                    self._changed.notify_all()

    def close_to_others(self, seconds: float) -> None:
        """Keeps all other threads from changing files, once they are through with theirs."""
        with self._changed:
            self._only = threading.get_ident()
            self._changed.wait_for(lambda: not self._inside, seconds)


writing = _Writing()
"""``with writing():`` around a change of files that is to happen wholly or, where the gate is
closed, not at all: then the thread waits there until the process ends."""
