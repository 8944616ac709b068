"""How far a worker is, in its log: numbers only."""

from __future__ import annotations

import logging
import time

_LOG = logging.getLogger(__name__)
_SECONDS_PER_REPORT = 10.0


class Progress:
    """Logs how far this worker is, every ten seconds at most; numbers only."""

    def __init__(self) -> None:
        self._start = self._last = time.monotonic()
        self._documents = self._tokens = 0

    def count(self, documents: int, tokens: int) -> None:
        """Adds so many documents and their tokens."""
        self._documents += documents
        self._tokens += tokens
        now = time.monotonic()
        if now - self._last >= _SECONDS_PER_REPORT:
            self._last = now
            rate = self._tokens / (now - self._start)
            _LOG.info(
                "this worker: %s documents, %s tokens, %s tokens/s",
                f"{self._documents:,}",
                f"{self._tokens:,}",
                f"{rate:,.0f}",
            )
