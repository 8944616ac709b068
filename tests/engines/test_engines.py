"""One job, one key, every engine: the same documents, metrics, dead letters and counts."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dxbeam.documents import REPEATED_ID
from dxbeam.release import manifest
from tests.engines.corpus import FLAGS, SECRET, Corpus, Expected
from tests.engines.flink_cluster import FlinkCluster
from tests.support import tiny

pytestmark = pytest.mark.engines

LOCAL = ["one process", "two processes"]
REMOTE = ["prism", "flink", "spark", "flink cluster"]


@dataclass(frozen=True)
class Run:
    """What a run left, and what it said."""

    output: Path
    said: str

    @property
    def metrics(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(Path(f"{self.output}-metrics/metrics.json").read_text())
        return found


@pytest.fixture(scope="module")
def run(flags: tuple[str, ...], small: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Run:
    output = tmp_path_factory.mktemp("run") / "release"
    key = f"--key_uri=file://{small.key}"
    done = tiny.program("demo", small.pattern, output, *FLAGS, key, *flags)
    assert done.returncode == 0, done.stderr[-2000:]
    return Run(output, done.stdout + done.stderr)


@pytest.mark.parametrize("flags", LOCAL + REMOTE, indirect=True, scope="module")
class TestEveryEngine:
    def test_documents_are_those_that_the_sanitizer_makes_alone(
        self, run: Run, expected: Expected
    ) -> None:
        assert tiny.released(run.output) == expected.texts

    def test_metrics_are_those_of_these_documents(
        self, run: Run, small: Corpus, expected: Expected
    ) -> None:
        metrics = run.metrics
        assert {name: metrics[name] for name in expected.whole} == expected.whole
        assert metrics["groups"] == expected.groups
        assert metrics["dead_letters"] == small.dead

    def test_dead_letters_say_where_and_why(self, run: Run, small: Corpus) -> None:
        letters = tiny.dead_letters(run.output)
        assert len(letters) == small.dead
        assert sorted(letter["where"].split(":")[0] for letter in letters) == [
            f"{number}.jsonl" for number in range(4)
        ]
        assert sum(letter["reason"] == REPEATED_ID for letter in letters) == 2

    def test_the_release_is_whole_and_nothing_else_is_left(self, run: Run, small: Corpus) -> None:
        release = manifest.verify(str(run.output))
        assert release["documents_out"] == len(small.documents)
        assert release["documents_in"] == len(small.documents) + small.dead
        assert release["dead_letters"] == small.dead
        shards = {shard["name"] for shard in release["shards"]}
        assert {path.name for path in run.output.iterdir()} == {"release.json", *shards}

    def test_no_word_of_the_corpus_is_said(self, run: Run) -> None:
        assert SECRET not in run.said


@pytest.mark.parametrize("flags", ["flink cluster"], indirect=True, scope="module")
def test_each_host_of_a_cluster_opens_the_vocabulary_once(
    run: Run, flags: tuple[str, ...], cluster: FlinkCluster
) -> None:
    """Two worker pools with a process each, and slots that share them."""
    assert manifest.verify(str(run.output))["tokens"]
    opened = re.findall(r"process (\d+) opens a vocabulary of", cluster.logs())
    assert 1 <= len(opened) <= 2
    assert len(set(opened)) == len(opened)


@pytest.mark.parametrize("flags", ["prism", "flink", "spark"], indirect=True, scope="module")
def test_what_a_worker_refuses_arrives_as_one_sentence(
    flags: tuple[str, ...], tmp_path: Path
) -> None:
    corpus = tiny.write_jsonl(tmp_path / "bad.jsonl", [b"not JSON", b"nor this"])
    done = tiny.program("demo", corpus, tmp_path / "out", *flags)
    assert done.returncode == 2, done.stderr[-2000:]
    [sentence] = [line for line in done.stderr.splitlines() if line.startswith("dxbeam: ")]
    assert sentence.startswith("dxbeam: no document could be released: 2 records were rejected")
    assert not (tmp_path / "out").exists() or not list((tmp_path / "out").iterdir())
