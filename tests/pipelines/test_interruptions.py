"""Runs that are stopped at any moment, and runs that start at once: no release, or a whole one."""

from __future__ import annotations

import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from dxbeam.errors import OutputError
from dxbeam.release import claim, manifest
from dxbeam.storage import changes
from tests.support import stopped, tiny

RECORDS = [{"id": f"d{i}", "text": text} for i, text in enumerate(tiny.texts(200))]
LOGGED = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} ")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.write_jsonl(tmp_path_factory.mktemp("corpus") / "corpus.jsonl", RECORDS)


def _is_one_sentence(ending: stopped.Ending) -> bool:
    """Whether nothing but what is logged came before, and one line of the launcher's own."""
    *before, last = ending.said.splitlines() or [""]
    return last.startswith("dxbeam: ") and all(map(LOGGED.match, before))


def _whole(output: Path) -> bool:
    return manifest.verify(str(output))["documents_out"] == len(RECORDS)


LONGER = {"in_memory": 1.0, "multi_threading": 1.1, "multi_processing": 2.2}
"""How long a run takes in each mode, as multiples of one in memory: only that one is measured."""


@pytest.fixture(scope="module")
def lasts(
    uri: str, corpus: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], float]:
    """Seconds that a whole run takes in a mode, about."""
    output = tmp_path_factory.mktemp("whole") / "out"
    start = time.monotonic()
    with stopped.running(uri, corpus, output, "in_memory") as launcher:
        launcher.communicate()
    assert _whole(output)
    seconds = time.monotonic() - start
    return lambda mode: seconds * LONGER[mode]


@pytest.mark.parametrize(
    ("mode", "moments"),
    [
        ("in_memory", 2),
        ("multi_threading", 1),
        ("multi_processing", 1),
        *(pytest.param(mode, 24, marks=pytest.mark.exhaustive) for mode in stopped.MODES),
    ],
)
def test_a_run_that_is_told_to_stop_says_so_and_leaves_nothing(
    uri: str, corpus: Path, tmp_path: Path, lasts: Callable[[str], float], mode: str, moments: int
) -> None:
    """Moments are spread over a run, one in each part of it, and differ between test runs."""
    (temporary := tmp_path / "temporary").mkdir()
    for number in range(moments):
        output = tmp_path / f"out{number}"
        with stopped.running(uri, corpus, output, mode, TMPDIR=str(temporary)) as launcher:
            stopped.wait(launcher, lasts(mode) * (number + random.random()) / moments)
            ending = stopped.stop(launcher, (signal.SIGTERM, signal.SIGINT)[number % 2])
        if ending.code == 0:  # it was too late
            assert _whole(output)
            continue
        assert ending.code == 1, ending
        assert _is_one_sentence(ending), ending.said
        if "so it is released" in ending.said:
            assert _whole(output)
        else:
            assert ending.said.endswith("dxbeam: interrupted; nothing was released\n")
            claim.take_fresh(str(output), "another")  # so there is nothing
    assert not list(temporary.glob("beam-pipeline-temp*"))


@pytest.mark.parametrize(
    ("mode", "moments"),
    [
        ("in_memory", 1),
        pytest.param("in_memory", 12, marks=pytest.mark.exhaustive),
        pytest.param("multi_processing", 12, marks=pytest.mark.exhaustive),
    ],
)
def test_a_run_that_is_killed_has_released_nothing_or_all(
    uri: str, corpus: Path, tmp_path: Path, lasts: Callable[[str], float], mode: str, moments: int
) -> None:
    for number in range(moments):
        output = tmp_path / f"out{number}"
        with stopped.running(uri, corpus, output, mode) as launcher:
            stopped.wait(launcher, lasts(mode) * (number + random.random()) / moments)
            stopped.stop(launcher, signal.SIGKILL)
        if (output / "release.json").exists():
            assert _whole(output)
        elif output.exists() and any(output.iterdir()):
            with pytest.raises(OutputError, match="if none is under way, delete the directory"):
                claim.take_fresh(str(output), "another")


STUCK = {
    "importing": """
class Stuck:
    def find_spec(self, name, path=None, target=None):
        if name == "apache_beam": stick()
if "pipelines.sanitize" in sys.orig_argv: sys.meta_path.insert(0, Stuck())
""",
    "publishing": """
def rename(*_): stick()
os.rename = rename
""",
    "a worker that comes up": """
import signal
if "apache_beam.runners.worker.sdk_worker_main" in sys.orig_argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    stick()
""",
    "a worker at work": """
import signal
if "apache_beam.runners.worker.sdk_worker_main" in sys.orig_argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    def rename(*_): stick()
    os.rename = rename
""",
}
"""Code for Python's start-up that makes a process get stuck somewhere for ever."""

STICK = """
import os, sys, threading
def stick():
    open(os.environ["STUCK"], "w").close()
    threading.Event().wait()
"""


@pytest.mark.parametrize(
    ("mode", "where"),
    [
        ("in_memory", "importing"),
        ("in_memory", "publishing"),
        ("multi_threading", "publishing"),
        ("multi_processing", "a worker that comes up"),
        ("multi_processing", "a worker at work"),
    ],
)
def test_a_run_that_is_stuck_can_be_stopped(
    uri: str, corpus: Path, tmp_path: Path, mode: str, where: str
) -> None:
    """Also by those who ask twice."""
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "sitecustomize.py").write_text(STICK + STUCK[where])
    path = ":".join([str(tmp_path / "code"), *filter(None, sys.path)])
    output, mark = tmp_path / "out", tmp_path / "stuck"
    started = stopped.running(
        uri, corpus, output, mode, workers=1, PYTHONPATH=path, STUCK=str(mark)
    )
    with started as launcher:
        while launcher.poll() is None and not mark.exists():
            stopped.wait(launcher, 0.02)
        ending = stopped.stop(launcher, signal.SIGTERM, times=2)
    assert (ending.code, ending.late) == (1, False), ending
    assert _is_one_sentence(ending), ending.said
    claim.take_fresh(str(output), "another")


def test_ctrl_c_in_a_worker_makes_it_say_nothing() -> None:
    """A terminal sends it to workers too, which would each print a trace."""
    worker = f"{sys.executable} -c 'import os, signal; os.kill(os.getpid(), signal.SIGINT)'"
    launcher = (
        "import subprocess; from dxbeam import stopping; stopping.watch(); "
        f"raise SystemExit(subprocess.call({worker!r}, shell=True))"
    )
    done = subprocess.run(
        [sys.executable, "-c", launcher], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("undo", "said"),
    [
        (
            "lambda stop_writers: stop_writers()",
            "the job is cancelled\ndxbeam: interrupted; nothing was released\n",
        ),
        ("lambda stop_writers: threading.Event().wait()", "there was no time to tidy up"),
        ("lambda stop_writers: 1 / 0", "there was no time to tidy up"),
    ],
    ids=["cancels", "hangs", "fails"],
)
def test_a_job_elsewhere_is_cancelled_and_nothing_is_waited_for_without_end(
    undo: str, said: str
) -> None:
    launcher = (
        "import os, sys, threading; from dxbeam import stopping; stopping.watch()\n"
        "out = os.dup(2)\n"
        "def cancel():\n"
        "    os.write(out, b'the job is cancelled\\n')\n"
        "    threading.Event().wait()\n"
        f"with stopping.undone_on_failure({undo}), stopping.cancelled_by(cancel):\n"
        "    print('ready', flush=True)\n"
        "    threading.Event().wait()\n"
    )
    started = subprocess.Popen(
        [sys.executable, "-c", launcher],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert started.stdout is not None
    started.stdout.readline()
    started.send_signal(signal.SIGTERM)
    _, told = started.communicate(timeout=stopped.HANGS)
    assert started.returncode == 1
    assert said in told


def test_nothing_is_written_once_a_run_is_being_undone(tmp_path: Path) -> None:
    """A thread that was about to write waits; one that is writing is waited for."""
    gate, written, order = changes._Writing(), threading.Event(), []
    inside, go_on = threading.Event(), threading.Event()

    def write() -> None:
        with gate(), gate():
            inside.set()
            go_on.wait()
            order.append("written")
        with gate():
            written.set()

    def undo() -> None:
        gate.close_to_others(60)
        with gate():
            order.append("undone")

    writer, undoing = (threading.Thread(target=work, daemon=True) for work in (write, undo))
    writer.start()
    inside.wait()
    undoing.start()
    while gate._only is None:
        pass
    go_on.set()
    undoing.join()
    assert order == ["written", "undone"]
    assert not written.is_set()


def test_of_two_runs_that_start_at_once_one_releases(
    uri: str, corpus: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out"
    with (
        stopped.running(uri, corpus, output, "in_memory") as one,
        stopped.running(uri, corpus, output, "in_memory") as two,
    ):
        said = [launcher.communicate(timeout=300)[1] for launcher in (one, two)]
    codes = [launcher.returncode for launcher in (one, two)]
    assert sorted(codes) == [0, 2], said
    [refusal] = [text for code, text in zip(codes, said, strict=True) if code]
    assert refusal.strip().splitlines()[-1].startswith("dxbeam: "), refusal
    assert any(
        words in refusal
        for words in ("another run has just started", "is not empty", "run that is under way")
    )
    assert _whole(output)


def test_a_prefix_that_two_runs_claim_belongs_to_the_first(tmp_path: Path) -> None:
    claim.take_fresh(str(tmp_path), "one")
    with pytest.raises(OutputError, match="under way or did not finish"):
        claim.take_fresh(str(tmp_path), "two")
    claim.abandon(str(tmp_path), "two")
    assert claim.holds(str(tmp_path), "one"), "who has not claimed it gives nothing up"
