"""What recognises e-mail addresses and numbers where Presidio is not installed."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from dxbeam.text.detection import detector, presidio
from dxbeam.text.detection.detector import Detector
from dxbeam.text.detection.spans import Span

PATTERNS = {"EMAIL": r"[\w.]+@\w+\.\w+", "PHONE": r"\+\d[\d ]+\d"}
VERSIONS = (("presidio-analyzer", "0"),)


def recognized(_: object, text: str) -> Iterator[Span]:
    for kind, pattern in PATTERNS.items():
        for match in re.finditer(pattern, text):
            yield Span(*match.span(), kind, 1.0)


def install(monkeypatch: pytest.MonkeyPatch) -> Detector:
    """Lets ``--detect presidio`` find e-mail addresses and numbers by simple patterns."""
    monkeypatch.setattr(presidio, "is_installed", lambda: True)
    monkeypatch.setattr(presidio, "versions", lambda: VERSIONS)
    monkeypatch.setattr(presidio, "open_recognizers", list)
    monkeypatch.setattr(presidio, "recognized", recognized)
    detector._open.cache_clear()
    return Detector(VERSIONS)
