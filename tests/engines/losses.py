"""Processes of a Flink cluster that are killed at chosen moments of a job."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dxbeam.release import manifest
from tests.engines.corpus import FLAGS, Corpus
from tests.engines.flink_cluster import ROOT, FlinkCluster, wait_for

_SECONDS = 200


@dataclass(frozen=True)
class Loss:
    """A process that is killed, and when.

    Attributes:
      process: its name in the cluster.
      moment: whether it has come; takes the cluster, the release's folder and the size of all
        texts.
    """

    process: str
    moment: Callable[[FlinkCluster, Path, int], bool]


def _comparing_ids(cluster: FlinkCluster, output: Path, size: int) -> bool:
    return any(
        "RepeatedIds" in task["name"] and task["status"] in ("RUNNING", "FINISHED")
        for job in cluster.running_jobs()
        for task in (cluster.ask(f"/jobs/{job}") or {"vertices": []})["vertices"]
    )


def _half_written(cluster: FlinkCluster, output: Path, size: int) -> bool:
    pieces = (output / manifest.PIECES).glob("*")
    return sum(piece.stat().st_size for piece in pieces if piece.exists()) > size / 2


def _published(cluster: FlinkCluster, output: Path, size: int) -> bool:
    return any(output.glob(f"{manifest.SHARD_PREFIX}-*"))


LOSSES = {
    "a TaskManager, while ids are compared": Loss("task-manager-0", _comparing_ids),
    "a TaskManager, half of the output written": Loss("task-manager-1", _half_written),
    "a TaskManager, shards published": Loss("task-manager-0", _published),
    "a worker pool, half of the output written": Loss("pool-1", _half_written),
}


def run(cluster: FlinkCluster, corpus: Corpus, output: Path, *losses: Loss) -> float:
    """Sanitizes a corpus on a cluster that loses processes, which are started again at once.

    Returns:
      Seconds from start to end.

    Raises:
      AssertionError: a moment did not come, or the job failed; with what it said.
    """
    cluster.await_task_managers()
    command = [
        *(sys.executable, "-m", "pipelines.sanitize", f"--input={corpus.pattern}"),
        *("--vocabulary=demo", f"--output={output}", f"--key_uri={corpus.key}"),
        *(*FLAGS, *cluster.flags()),
    ]
    size = sum(len(document.text) for document, _ in corpus.documents)
    log = output.with_name(f"{output.name}.log")
    start = time.monotonic()
    with log.open("w") as said:
        launcher = subprocess.Popen(command, cwd=ROOT, stdout=said, stderr=said)
    try:
        for loss in losses:
            wait_for(
                lambda loss=loss: launcher.poll() is not None or loss.moment(cluster, output, size),
                "moment to kill",
                _SECONDS,
            )
            assert launcher.poll() is None, f"over before the moment: {log.read_text()[-3000:]}"
            cluster.kill(loss.process)
            cluster.start(loss.process)
        code = launcher.wait(_SECONDS)
    finally:
        launcher.kill()
    assert code == 0, log.read_text()[-3000:]
    return time.monotonic() - start
