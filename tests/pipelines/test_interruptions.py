"""Runs that are stopped at any moment, and runs that start at once: no release, or a whole one."""

from __future__ import annotations

import contextlib
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from dxbeam import manifest
from dxbeam.errors import OutputError
from tests import tiny

MOMENTS = 10
RECORDS = [{"id": f"d{i}", "text": text} for i, text in enumerate(tiny.texts(200))]


@pytest.fixture(scope="module")
def uri(tmp_path_factory: pytest.TempPathFactory) -> str:
    return tiny.write_artifact(tmp_path_factory.mktemp("vocabulary"))


def _start(uri: str, corpus: Path, output: Path, *flags: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "pipelines.sanitize"]
    arguments = tiny._arguments(uri, corpus, output, flags)
    return subprocess.Popen(
        command + arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )


def _end(running: subprocess.Popen[str]) -> str:
    return running.communicate(timeout=120)[1]


def _gone(processes: list[psutil.Process]) -> bool:
    _, alive = psutil.wait_procs(processes, timeout=30)
    return not alive


@pytest.mark.parametrize("mode", ["in_memory", "multi_processing"])
def test_whatever_the_moment_there_is_no_release_or_a_whole_one(
    uri: str, tmp_path: Path, mode: str
) -> None:
    """Half of the runs are asked to stop, half are killed; moments are spread over a run."""
    corpus = tiny.write_jsonl(tmp_path / "corpus.jsonl", RECORDS)
    flags = [f"--direct_running_mode={mode}", "--direct_num_workers=1"]
    start = time.monotonic()
    _end(_start(uri, corpus, tmp_path / "whole", *flags))
    lasted = time.monotonic() - start
    whole = manifest.verify(str(tmp_path / "whole"))
    generator = random.Random(mode)
    for number in range(MOMENTS // 2):
        output = tmp_path / f"out{number}"
        running = _start(uri, corpus, output, *flags)
        try:  # one moment in each fifth of a run; none before Python itself is up
            moment = 0.2 + (lasted - 0.2) * (number + generator.random()) * 2 / MOMENTS
            running.wait(timeout=moment)
        except subprocess.TimeoutExpired:
            pass
        going = running.poll() is None
        family = psutil.Process(running.pid).children(recursive=True) if going else []
        sent = signal.SIGTERM if number % 2 else signal.SIGKILL
        running.send_signal(sent)
        if sent == signal.SIGKILL:  # as the host would be gone, or its container
            for process in family:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
        said = _end(running)
        assert _gone(family), "worker processes end with their launcher"
        if (output / "release.json").exists():
            assert manifest.verify(str(output))["documents_out"] == whole["documents_out"]
            continue
        again = tiny.program(uri, corpus, output, *flags)
        if again.returncode:
            assert sent == signal.SIGKILL, f"a run that was asked to stop cleans up: {said}"
            assert "if none is under way, delete the directory" in again.stderr
        else:
            assert manifest.verify(str(output))["documents_out"] == whole["documents_out"]


def test_of_two_runs_that_start_at_once_one_releases(uri: str, tmp_path: Path) -> None:
    corpus = tiny.write_jsonl(tmp_path / "corpus.jsonl", RECORDS)
    output = tmp_path / "out"
    both = [_start(uri, corpus, output) for _ in range(2)]
    said = [_end(running) for running in both]
    codes = [running.returncode for running in both]
    assert sorted(codes) == [0, 2], said
    [refusal] = [text for code, text in zip(codes, said, strict=True) if code]
    assert refusal.strip().splitlines()[-1].startswith("dxbeam: "), refusal
    assert any(
        words in refusal
        for words in ("another run has just started", "is not empty", "run that is under way")
    )
    assert manifest.verify(str(output))["documents_out"] == len(RECORDS)


def test_a_prefix_that_two_runs_claim_belongs_to_the_first(tmp_path: Path) -> None:
    manifest.claim(str(tmp_path), "one")
    with pytest.raises(OutputError, match="under way or did not finish"):
        manifest.claim(str(tmp_path), "two")
