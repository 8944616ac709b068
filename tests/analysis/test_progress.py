"""How far long work is, as a worker tells it."""

from __future__ import annotations

import logging
import re

import pytest

from dxbeam.analysis import progress as progress_file
from dxbeam.analysis.measurement import Setting
from dxbeam.analysis.progress import DocumentProgress, Progress, spoken


@pytest.mark.parametrize(
    ("workers", "told"),
    [
        (0, "has done 2 of 8 settings on all workers"),
        (1, r"has done 2 of about 8 settings, about \d+ seconds left"),
        (4, "has done 2 of about 2 settings, about 0 seconds left"),
    ],
)
def test_what_is_done_and_left(workers: int, told: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    progress = Progress("words attacked", workers)
    for epsilon in (1.0, 2.5):
        with progress.of(8, Setting("laplace", (), (epsilon,), ())):
            assert len(caplog.messages) == int(epsilon) - 1
    assert caplog.messages[1].startswith("words attacked under laplace at epsilon = 2.5: ")
    assert re.search(f"{told}$", caplog.messages[1])


@pytest.mark.parametrize(
    ("workers", "told"),
    [
        (0, "this worker has compared 2 of 4,000 documents on all workers"),
        (2, r"this worker has compared 2 of about 2,000 documents, about \d+ \w+ left"),
    ],
)
def test_how_many_documents_are_done(
    workers: int, told: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO)
    progress = DocumentProgress("compared", 4000, workers)
    progress.count()
    assert not caplog.messages, "not for every document"
    monkeypatch.setattr(progress_file, "_SECONDS_PER_REPORT", 0.0)
    progress.count()
    assert re.fullmatch(told, caplog.messages[0])


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.4, "0 seconds"), (89, "89 seconds"), (90, "2 minutes"), (5000, "83 minutes"),
     (9000, "2 hours")],
)  # fmt: skip
def test_durations_as_people_say_them(seconds: float, said: str) -> None:
    assert spoken(seconds) == said
