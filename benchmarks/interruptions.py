"""How long a run takes to end when it has to stop, at moments spread over the run, under load.

    python -m benchmarks.interruptions --runs 150 --busy 2

starts ``--busy`` processes that do nothing but compute, and stops ``--runs`` runs, in all modes in
turn, by SIGTERM and by Ctrl-C. Prints, for each mode, the seconds from the signal to the end, and
whatever a run said or left that it should not have. To repeat the test itself:

    python -m benchmarks.interruptions --tests 50 --busy 2
"""

from __future__ import annotations

import collections
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.rows import command_line
from tests.support import stopped, tiny

SENTENCES = ("dxbeam: interrupted; nothing was released\n", "so it is released\n")


def stop_runs(runs: int, folder: Path) -> None:
    """Stops this many runs and prints how each mode did."""
    uri = tiny.write_artifact(folder / "vocabulary")
    records = [{"id": f"d{i}", "text": text} for i, text in enumerate(tiny.texts(200))]
    corpus = tiny.write_jsonl(folder / "corpus.jsonl", records)
    lasted, seconds = {}, collections.defaultdict(list)
    for mode in stopped.MODES:
        started = time.monotonic()
        with stopped.running(uri, corpus, folder / f"whole-{mode}", mode) as launcher:
            launcher.communicate()
        lasted[mode] = time.monotonic() - started
    bad = late = 0
    for number in range(runs):
        mode, by = stopped.MODES[number % 3], (signal.SIGTERM, signal.SIGINT)[number // 3 % 2]
        output = folder / f"out{number}"
        with stopped.running(uri, corpus, output, mode) as launcher:
            moment = random.random() * lasted[mode]
            stopped.wait(launcher, moment)
            ending = stopped.stop(launcher, by)
        if ending.code == 0:
            late += 1
            continue
        seconds[mode].append(ending.seconds)
        released = (output / "release.json").exists()
        left = not released and output.exists() and any(output.iterdir())
        sentence = ending.said.endswith(SENTENCES) and "Traceback" not in ending.said
        if ending.code != 1 or not sentence or left:
            bad += 1
            print(f"{mode}, {by.name} after {moment:.2f} s: {ending}, left behind: {left}")
    for mode, taken in seconds.items():
        middle, slow = np.quantile(taken, [0.5, 0.95])
        print(
            f"{mode:16} {len(taken):4} stopped; seconds: median {middle:.2f}, 95 % {slow:.2f}, "
            f"longest {max(taken):.2f} (a whole run took {lasted[mode]:.1f})"
        )
    print(f"{late} had ended before the signal came; {bad} did not end as they should")


def repeat_tests(times: int) -> None:
    """Runs the test file this many times and prints how often it failed."""
    command = [sys.executable, "-m", "pytest", "-q", "tests/pipelines/test_interruptions.py"]
    failed = 0
    for number in range(times):
        started = time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        failed += done.returncode != 0
        print(f"{number + 1}: exit code {done.returncode}, {time.monotonic() - started:.0f} s")
        if done.returncode:
            print(done.stdout[-4000:])
    print(f"{failed} of {times} failed")


def main() -> None:
    """Reads the flags."""
    parser = command_line(__doc__)
    parser.add_argument("--runs", type=int, default=0)
    parser.add_argument("--tests", type=int, default=0)
    parser.add_argument("--busy", type=int, default=2)
    asked = parser.parse_args()
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(asked.busy)]
    try:
        with tempfile.TemporaryDirectory() as folder:
            if asked.runs:
                stop_runs(asked.runs, Path(folder))
        repeat_tests(asked.tests)
    finally:
        for process in busy:
            process.kill()


if __name__ == "__main__":
    main()
