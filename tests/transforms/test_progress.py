"""What workers count, as they log it and as it is read again."""

from __future__ import annotations

import logging

import pytest

from dxbeam.transforms.progress import Progress, read_report


def test_counts_add_up_and_are_read_again(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    progress = Progress()
    progress.count(documents=2, words=30)
    progress.count(documents=1, found_bytes=7)
    assert not caplog.messages, "not for every document"
    progress.tell()
    report = read_report(caplog.messages[0])
    assert report is not None
    worker, counts = report
    assert counts == {"documents": 3, "words": 30, "found_bytes": 7}
    progress.tell()
    assert read_report(caplog.messages[1]) == (worker, counts)


def test_it_is_told_now_and_then(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    with Progress(seconds=0.0).counted("settings"):
        assert not caplog.messages
    assert caplog.messages[0].endswith(": settings=1")


@pytest.mark.parametrize(
    "message", ["", "progress of worker x: a=1", "progress of worker ab: a=b", "a vocabulary"]
)
def test_other_messages_are_no_reports(message: str) -> None:
    assert read_report(message) is None
