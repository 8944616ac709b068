"""A Flink cluster loses processes in the middle of the job, and nothing is lost or comes twice."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dxbeam import manifest
from tests import tiny
from tests.engines import corpus
from tests.engines.flink_cluster import ROOT, FlinkCluster, wait_for

pytestmark = pytest.mark.engines

WORDS = 250_000
"""Enough that the job is at work for some seconds in each of its parts."""


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> corpus.Corpus:
    folder = tmp_path_factory.mktemp("large")
    return corpus.write(folder, documents=500, words=WORDS // 500, files=8)


@pytest.fixture(scope="module")
def texts(large: corpus.Corpus) -> dict[str, str]:
    return corpus.expected(large).texts


def _reading(cluster: FlinkCluster, output: Path, texts: dict[str, str]) -> Any:
    """Ids are being compared; nothing has been sanitized."""
    tasks = [
        task
        for job in cluster.running_jobs()
        for task in (cluster.ask(f"/jobs/{job}") or {"vertices": []})["vertices"]
    ]
    return [t for t in tasks if "ConflictingIds" in t["name"] and t["status"] == "RUNNING"]


def _half_written(cluster: FlinkCluster, output: Path, texts: dict[str, str]) -> Any:
    """Half of all bytes lie in pieces."""
    pieces = list((output / manifest.PIECES).glob("*"))
    return sum(map(_size, pieces)) > sum(map(len, texts.values())) / 2


def _published(cluster: FlinkCluster, output: Path, texts: dict[str, str]) -> Any:
    """A shard has been moved to its place; there is no manifest."""
    return list(output.glob("part-*"))


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


@pytest.mark.parametrize(
    ("lost", "moment"),
    [
        ("task-manager-0", _reading),
        ("task-manager-1", _half_written),
        ("task-manager-0", _published),
        ("pool-1", _half_written),
    ],
    ids=["reading", "half written", "published", "worker pool"],
)
def test_a_lost_process_loses_nothing(
    cluster: FlinkCluster,
    large: corpus.Corpus,
    texts: dict[str, str],
    tmp_path: Path,
    lost: str,
    moment: Callable[..., Any],
) -> None:
    cluster.await_task_managers()
    output = tmp_path / "release"
    command = [
        *(sys.executable, "-m", "pipelines.sanitize", f"--input={large.pattern}"),
        *("--vocabulary=demo", f"--output={output}", f"--key_uri={large.key}"),
        *(*corpus.FLAGS, *cluster.flags()),
    ]
    start = time.monotonic()
    with (tmp_path / "said").open("w") as said:
        launcher = subprocess.Popen(command, cwd=ROOT, stdout=said, stderr=said)
    try:
        wait_for(lambda: moment(cluster, output, texts), f"moment to kill {lost}", 120)
        killed = time.monotonic()
        cluster.kill(lost)
        assert not (output / "release.json").exists(), "the job was over already"
        cluster.start(lost)
        assert launcher.wait(200) == 0, (tmp_path / "said").read_text()[-3000:]
    finally:
        launcher.kill()
    seconds = time.monotonic() - killed
    print(
        f"{moment.__name__}: {lost} killed after {killed - start:.1f} s, end {seconds:.1f} s later"
    )
    assert tiny.released(output) == texts
    release = manifest.verify(str(output))
    assert release["documents_out"] == sum(shard["documents"] for shard in release["shards"])
    shards = {shard["name"] for shard in release["shards"]}
    assert {path.name for path in output.iterdir()} == {"release.json", *shards}
    assert len(tiny.dead_letters(output)) == large.dead
