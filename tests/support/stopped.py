"""The launcher in a separate process, stopped at a moment."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.support import tiny

MODES = ("in_memory", "multi_threading", "multi_processing")
HANGS = 60
"""Seconds after which a run that was told to stop is taken to hang. Ten are promised; this is for
machines that have much else to do."""


@dataclass(frozen=True)
class Ending:
    """How a run ended.

    Attributes:
      code: exit code.
      said: what it wrote to stderr.
      seconds: from the signal to the end.
      late: whether it had ended before the signal came.
    """

    code: int
    said: str
    seconds: float
    late: bool


@contextlib.contextmanager
def running(
    uri: str,
    corpus: Path,
    output: Path,
    mode: str,
    *,
    workers: int | None = None,
    **environment: str,
) -> Iterator[subprocess.Popen[str]]:
    """The launcher ``sanitize``, from when it can be told to stop on; with these workers."""
    workers = workers or 1 + (mode != MODES[0])
    flags = (f"--direct_running_mode={mode}", f"--direct_num_workers={workers}")
    command = ["-m", "pipelines.sanitize", *tiny.arguments(uri, corpus, output, flags)]
    with process(command, **environment) as launcher:
        yield launcher


@contextlib.contextmanager
def process(command: list[str], **environment: str) -> Iterator[subprocess.Popen[str]]:
    """Python in a separate process group, from when it can be told to stop on."""
    launcher = subprocess.Popen(
        [sys.executable, *command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, **environment},
    )
    try:
        while launcher.poll() is None and not _listens(launcher.pid):
            time.sleep(0.001)  # Python itself is coming up
        yield launcher
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(launcher.pid, signal.SIGKILL)
        launcher.wait()


def _listens(pid: int) -> bool:
    """Whether a process has a handler for SIGTERM (Linux)."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("SigCgt:"):
                return bool(int(line.split()[1], 16) >> (signal.SIGTERM - 1) & 1)
    return False


def wait(launcher: subprocess.Popen[str], seconds: float) -> None:
    """Lets it run for so long, or to its end."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        launcher.wait(timeout=seconds)


def stop(launcher: subprocess.Popen[str], by: signal.Signals, times: int = 1) -> Ending:
    """Sends a signal and waits for the end, its processes' ends too.

    SIGINT goes to the whole group, as from a terminal; SIGKILL too, as if the host were gone.
    """
    late = launcher.poll() is not None
    family = [] if late else psutil.Process(launcher.pid).children(recursive=True)
    sent = time.monotonic()
    with contextlib.suppress(ProcessLookupError):
        for _ in range(times):
            if by == signal.SIGTERM:
                launcher.send_signal(by)
            else:
                os.killpg(launcher.pid, by)
    said = launcher.communicate(timeout=HANGS)[1]
    seconds = time.monotonic() - sent
    _, alive = psutil.wait_procs(family, timeout=HANGS)
    assert not alive, "worker processes end with their launcher"
    return Ending(launcher.returncode, said, seconds, late)
