"""A Flink cluster releases what every engine does, also where it loses processes in the middle.

All tests that need the cluster are in one file, so that one process of pytest starts one cluster.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dxbeam.release import manifest
from tests.engines import corpus, losses
from tests.engines.flink_cluster import ROOT, FlinkCluster, wait_for
from tests.engines.same_release import Run, SameRelease
from tests.support import tiny

pytestmark = pytest.mark.engines

on_the_cluster = pytest.mark.parametrize("flags", ["flink cluster"], indirect=True, scope="module")


@on_the_cluster
class TestFlinkCluster(SameRelease):
    pass


@on_the_cluster
def test_each_host_of_a_cluster_opens_the_vocabulary_once(
    run: Run, flags: tuple[str, ...], cluster: FlinkCluster
) -> None:
    """Two worker pools with a process each, and slots that share them."""
    assert manifest.verify(str(run.output))["tokens"]
    opened = re.findall(r"process (\d+) opens a vocabulary of", cluster.logs())
    assert 1 <= len(opened) <= 2
    assert len(set(opened)) == len(opened)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> corpus.Corpus:
    """So much that the job is at work for some seconds in each of its parts."""
    return corpus.write(tmp_path_factory.mktemp("large"), documents=400, words=500, files=8)


@pytest.fixture(scope="module")
def texts(large: corpus.Corpus) -> dict[str, str]:
    return corpus.expected(large).texts


@pytest.mark.parametrize("lost", ["TaskManager", "worker pool"])
def test_lost_processes_lose_nothing(
    cluster: FlinkCluster,
    large: corpus.Corpus,
    texts: dict[str, str],
    tmp_path: Path,
    lost: str,
) -> None:
    output = tmp_path / "release"
    losses.run(cluster, large, output, *(x for name, x in losses.LOSSES.items() if lost in name))
    assert tiny.released(output) == texts
    release = manifest.verify(str(output))
    assert sum(shard["documents"] for shard in release["shards"]) == len(texts)
    shards = {shard["name"] for shard in release["shards"]}
    assert {path.name for path in output.iterdir()} == {"release.json", *shards}
    assert len(tiny.dead_letters(output)) == large.dead


def test_what_a_stopped_launcher_leaves_behind_releases_nothing(
    cluster: FlinkCluster, large: corpus.Corpus, tmp_path: Path
) -> None:
    cluster.await_task_managers()
    output = tmp_path / "release"
    command = [
        *(sys.executable, "-m", "pipelines.sanitize", f"--input={large.pattern}"),
        *("--vocabulary=demo", f"--output={output}", *corpus.FLAGS, *cluster.flags()),
    ]
    launcher = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    try:
        wait_for(lambda: list(output.glob("unfinished-parts/*")), "piece", 120)
        launcher.send_signal(signal.SIGTERM)
        said = launcher.communicate(timeout=60)[1]
    finally:
        launcher.kill()
    assert launcher.returncode == 1
    assert "dxbeam: interrupted; nothing was released" in said
    [job] = cluster.running_jobs() or [None]
    if job is not None:  # Beam does not cancel it, and Flink would try it again some times
        refusal = "given the prefix up"
        wait_for(lambda: refusal in str(cluster.ask(f"/jobs/{job}/exceptions")), "refusal", 120)
        cluster.cancel(job)
        wait_for(lambda: not cluster.running_jobs(), "end of the job", 60)
    assert not list(output.glob("part-*"))
    assert not (output / "release.json").exists()
