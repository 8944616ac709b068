"""The line that says how far a run is: all workers together, once, and above it the log."""

from __future__ import annotations

import io
import itertools
import json
import logging
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dxbeam.commands import progress_line
from dxbeam.commands.progress_line import ProgressLine
from tests.support import tiny


class _Screen(io.StringIO):
    """A terminal of one line and what scrolled away above it."""

    def __init__(self, is_terminal: bool):
        super().__init__()
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal

    def lines(self) -> list[str]:
        return [line.rpartition("\x1b[K")[2] for line in self.getvalue().split("\n")]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Ten seconds pass whenever somebody looks."""
    ticks = itertools.count(0.0, 10.0)
    monkeypatch.setattr(progress_line.time, "monotonic", lambda: next(ticks))
    return iter(())


def _report(handler: logging.Handler, message: str) -> None:
    handler.emit(logging.LogRecord("dxbeam", logging.INFO, "", 0, message, None, None))


def test_all_workers_are_added_up(clock: None) -> None:
    handler = ProgressLine(_Screen(True))
    _report(handler, "progress of worker aa: found_bytes=1000")
    assert handler.line() == ""
    _report(handler, "progress of worker bb: documents=5 words=1000 bytes=100")
    _report(handler, "progress of worker cc: documents=7 words=3000 bytes=150")
    _report(handler, "progress of worker cc: documents=9 words=4000 bytes=150")
    line = handler.line()
    assert line.startswith("14 documents, 5,000 words, 25% of the input, about ")
    assert line.endswith(" left")


def test_work_in_pieces_that_was_begun_before(clock: None) -> None:
    handler = ProgressLine(_Screen(True))
    _report(handler, "progress of worker aa: found_words=1000 words=500")
    _report(handler, "progress of worker aa: found_words=1000 words=750")
    found = re.fullmatch(r"750 of 1,000 words, about (\d+) seconds left", handler.line())
    assert found
    assert int(found[1]) <= 60, "what was there before took no time"


def test_on_a_terminal_log_lines_stand_above_the_line() -> None:
    screen = _Screen(True)
    handler = ProgressLine(screen)
    _report(handler, "progress of worker aa: found_settings=4")
    _report(handler, "progress of worker bb: settings=1")
    _report(handler, "something else")
    assert screen.lines()[0] == "something else"
    assert screen.lines()[1].startswith("1 of 4 settings")
    handler.end()
    assert screen.lines()[1] == ""
    assert handler.line() == "", "a further run begins anew"


def test_in_a_file_it_is_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(progress_line.time, "monotonic", lambda: now[0])
    screen = _Screen(False)
    handler = ProgressLine(screen)
    for second in range(100):
        now[0] = float(second)
        _report(handler, f"progress of worker aa: documents={second + 1} words={second}")
    handler.end()
    counted = [int(line.split()[0]) - 1 for line in screen.getvalue().splitlines()]
    assert counted == [10, 40, 70]


@pytest.mark.slow
def test_a_worker_process_is_reported_by_the_launcher(tmp_path: Path) -> None:
    rows = [{"id": str(i), "text": "good morning " * 300} for i in range(60)]
    corpus = tiny.write_jsonl(tmp_path / "corpus.jsonl", rows)
    program = (
        "import sys, dxbeam.commands.progress_line as l\n"
        "from dxbeam.__main__ import main\n"
        "l._SECONDS_BEFORE_FIRST_LINE = l._SECONDS_PER_LINE = 0.0\n"
        "main(sys.argv[1:])\n"
    )
    flags = ["--vocabulary=demo", "--epsilon=10", f"--output={tmp_path / 'release'}"]
    ended = subprocess.run(
        [
            *(sys.executable, "-c", program, "sanitize", f"--input={corpus}"),
            *(*flags, "--direct_running_mode=multi_processing", "--direct_num_workers=1"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    release = json.loads((tmp_path / "release" / "release.json").read_text())
    assert release["documents_out"] == 60
    assert "100% of the input" in ended.stderr
    assert "progress of worker" not in ended.stderr
    assert "of the input" not in ended.stdout
