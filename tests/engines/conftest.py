"""The engines as fixtures: each skips with a reason where it cannot be had."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.engines import corpus, installed
from tests.engines.flink_cluster import FlinkCluster
from tests.engines.same_release import Run
from tests.support import tiny

Fetched = dict[str, "Future[Path]"]


@pytest.fixture(scope="session")
def fetched() -> Iterator[Fetched]:
    """Fetches all engines at once, while tests of the first are running."""
    with ThreadPoolExecutor(3) as pool:
        yield {
            "prism": pool.submit(installed.prism),
            "flink": pool.submit(installed.job_server, installed.FLINK),
            "spark": pool.submit(installed.job_server, installed.SPARK),
        }


def got(fetched: Fetched, name: str) -> Path:
    """Where an engine is, or skips."""
    try:
        return fetched[name].result()
    except installed.Unavailable as reason:
        pytest.skip(f"{name} is not to be had: {reason}")


@pytest.fixture(scope="session")
def cluster(fetched: Fetched, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlinkCluster]:
    """A Flink cluster of two TaskManagers with two slots each."""
    with FlinkCluster(got(fetched, "flink"), tmp_path_factory.mktemp("flink")) as running:
        yield running


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> corpus.Corpus:
    """12,000 words in 60 documents and four records that cannot be used."""
    return corpus.write(tmp_path_factory.mktemp("small"), documents=60, words=200)


@pytest.fixture(scope="session")
def flags(request: pytest.FixtureRequest, fetched: Fetched) -> tuple[str, ...]:
    """The flags that choose an engine; parametrised with its name."""
    match request.param:
        case "one process":
            return ("--runner=FnApiRunner",)
        case "two processes":
            return (
                "--runner=FnApiRunner",
                "--direct_running_mode=multi_processing",
                "--direct_num_workers=2",
                *corpus.DECODED,
            )
        case "prism":
            return ("--runner=PrismRunner", f"--prism_location={got(fetched, 'prism')}")
        case "flink":
            return (
                "--runner=FlinkRunner",
                "--flink_master=[local]",
                f"--flink_job_server_jar={got(fetched, 'flink')}",
                "--parallelism=2",
                *corpus.DECODED,
            )
        case "spark":
            return (
                "--runner=SparkRunner",
                "--spark_master_url=local[2]",
                f"--spark_job_server_jar={got(fetched, 'spark')}",
            )
    running: FlinkCluster = request.getfixturevalue("cluster")
    return running.flags()


@pytest.fixture(scope="module")
def run(
    flags: tuple[str, ...], small: corpus.Corpus, tmp_path_factory: pytest.TempPathFactory
) -> Run:
    output = tmp_path_factory.mktemp("run") / "release"
    key = f"--key_uri=file://{small.key}"
    done = tiny.program("demo", small.pattern, output, *corpus.FLAGS, key, *flags)
    assert done.returncode == 0, done.stderr[-2000:]
    return Run(output, done.stdout + done.stderr)


@pytest.fixture(scope="module")
def expected(flags: tuple[str, ...], small: corpus.Corpus) -> corpus.Expected:
    """What must come of it."""
    return corpus.expected(small, decoded=set(corpus.DECODED) <= set(flags))
