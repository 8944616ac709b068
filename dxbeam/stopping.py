"""Stopping a run: SIGTERM and Ctrl-C end it within seconds, whatever it is doing.

At that moment the main thread may import, compute in C, or wait without end for workers that never
came up, and an exception raised in it would have to pass all of Beam. So it is left alone: a
separate thread waits for the signal, closes this process to all further writing, undoes what the
run began, ends the processes below this one, says so in one sentence and ends this process.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

from dxbeam.errors import DxbeamError
from dxbeam.storage.changes import writing

STOPPED = "interrupted; nothing was released"
_NO_TIME = (
    "interrupted, and there was no time to tidy up: where there is no release.json, delete the "
    "directory of --output"
)

StopWriters = Callable[[], None]
"""Ends what may still write for the run: its job on a cluster, and processes below this one."""

Undo = Callable[[StopWriters], None]
"""Undoes what a run began, if it began; calls its argument before it deletes anything.

Raises DxbeamError where the run was complete already.
"""

_EXIT_CODE = 1
_UNDOING_SECONDS = 7.0
_CANCELLING_SECONDS = 3.0
_WRITING_SECONDS = 2.0  # how long a write that is under way is waited for
_KILLING_SECONDS = 1.0


class _Run:
    """What this process is doing, as far as stopping it is concerned."""

    def __init__(self) -> None:
        self.watched = False
        self.undo: Undo | None = None
        self.cancel: Callable[[], Any] | None = None
        self.exit_code = _EXIT_CODE
        self.temporary: list[str] = []
        self._ending = threading.Lock()
        self._ended_by: int | None = None

    def end(self) -> bool:
        """Whether this thread is the one that ends the run: the first that asks."""
        with self._ending:
            self._ended_by = self._ended_by or threading.get_ident()
            return self._ended_by == threading.get_ident()

    def begin(self, undo: Undo) -> bool:
        """Whether a run may begin, which it may not in a process that is being stopped."""
        with self._ending:
            if not self.watched:
                self._ended_by = None  # a further run in this process, as in a notebook
            may = self._ended_by in (None, threading.get_ident())
            self.undo = undo if may else self.undo
            return may


_run = _Run()


def watch() -> None:
    """From here on SIGTERM and Ctrl-C stop this process; to be called in its main thread."""
    if _run.watched:
        return
    _run.watched = True
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    # The system's own handler writes to this pipe at once, wherever the main thread is.
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    if sys.platform == "linux":
        # A terminal sends Ctrl-C to workers too, which would each print a trace. They inherit that
        # it is ignored. Where it is blocked as well, this process can wait for it all the same;
        # but blocked in every thread, or one that does not wait for it takes and ignores it.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_wait_for_signal, args=(reader,), name="stopping", daemon=True).start()
    if sys.platform == "linux":
        threading.Thread(target=_wait_for_ctrl_c, args=(writer,), daemon=True).start()
    else:
        signal.signal(signal.SIGINT, lambda *_: None)
    signal.signal(signal.SIGTERM, lambda *_: None)


def temporary(folder: str) -> None:
    """Names a folder that goes when the process is stopped, as nothing else deletes it then."""
    _run.temporary.append(folder)


def begin(undo: Undo) -> None:
    """Undoes what a run begins from here on, if the process is stopped before it has ended."""
    if not _run.begin(undo):
        _wait_for_the_end()


@contextlib.contextmanager
def undone_on_failure(undo: Undo) -> Iterator[None]:
    """Undoes what a run began in this block, if the block fails or the process is stopped; once."""
    begin(undo)
    try:
        yield
    except BaseException:
        ended()
        undo(lambda: None)
        raise
    ended()


@contextlib.contextmanager
def cancelled_by(cancel: Callable[[], Any]) -> Iterator[None]:
    """Calls ``cancel`` if the process is stopped in this block: it ends the job elsewhere."""
    _run.cancel = cancel
    yield
    _run.cancel = None


def ended() -> None:
    """The run ends by itself now; where the process is being stopped, waits until it has ended."""
    if not _run.end():
        _wait_for_the_end()


def _wait_for_the_end() -> None:
    threading.Event().wait()


def leave(exit_code: int) -> NoReturn:
    """Ends this process, whose run has ended.

    Without taking Python apart, which takes a second after Beam: a signal in that time would kill
    the process as if nothing had been released.
    """
    _run.exit_code = exit_code
    ended()
    with contextlib.suppress(Exception):
        atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # nobody reads it any more
            stream.flush()
    os._exit(exit_code)


def _wait_for_ctrl_c(writer: int) -> None:
    os.write(writer, bytes([signal.sigwait({signal.SIGINT})]))


def _wait_for_signal(reader: int) -> None:
    while os.read(reader, 1)[0] not in (signal.SIGINT, signal.SIGTERM):
        pass
    try:
        if _run.end():
            _stop()
        else:
            time.sleep(_UNDOING_SECONDS)  # it is ending anyway
    finally:
        os._exit(_run.exit_code)  # the orderly way would wait for threads that wait for workers


def _stop() -> None:
    logging.disable()
    descriptor = 2
    with contextlib.suppress(OSError):
        descriptor = os.dup(2)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # what Beam's threads say from here on
    sentence = [STOPPED]
    if _run.undo is not None:
        sentence = [_NO_TIME]
        undoing = threading.Thread(target=_undo, args=(_run.undo, sentence), daemon=True)
        undoing.start()
        undoing.join(_UNDOING_SECONDS)
    _kill_processes_below()
    writing.close_to_others(_WRITING_SECONDS)
    for folder in _run.temporary:
        shutil.rmtree(folder, ignore_errors=True)
    with contextlib.suppress(OSError):
        clear = "\r\x1b[K" if os.isatty(descriptor) else ""  # of how far the run was
        os.write(descriptor, f"{clear}dxbeam: {sentence[0]}\n".encode())


def _undo(undo: Undo, sentence: list[str]) -> None:
    try:
        writing.close_to_others(_WRITING_SECONDS)
        undo(_stop_writers)
        sentence[0] = STOPPED
    except DxbeamError as error:
        sentence[0] = str(error)
    except Exception as error:
        sentence[0] = f"{_NO_TIME} ({type(error).__name__})"


def _stop_writers() -> None:
    if _run.cancel is not None:
        cancelling = threading.Thread(target=_quietly, args=(_run.cancel,), daemon=True)
        cancelling.start()
        cancelling.join(_CANCELLING_SECONDS)
    _kill_processes_below()


def _quietly(cancel: Callable[[], Any]) -> None:
    with contextlib.suppress(Exception):
        cancel()


def _kill_processes_below() -> None:
    """Kills what this process started, and what that started, where the system lists it (Linux)."""
    subprocess.Popen = _start_nothing  # type: ignore[misc, assignment]
    until = time.monotonic() + _KILLING_SECONDS
    while (running := _processes_below()) and time.monotonic() < until:
        for pid in running:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)


def _start_nothing(*_: Any, **__: Any) -> None:
    _wait_for_the_end()


def _processes_below() -> list[int]:
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
        except (OSError, ValueError):  # it has just ended
            continue
        if state != "Z":  # it has ended, and nobody asked how
            children.setdefault(int(parent), []).append(int(folder.name))
    below = list(children.get(os.getpid(), []))
    for pid in below:  # which grows
        below += children.get(pid, [])
    return below
