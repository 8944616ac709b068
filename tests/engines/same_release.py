"""What every engine must make of one job and one key; each module of engines runs these tests."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dxbeam.documents import REPEATED_ID
from dxbeam.release import manifest
from tests.engines.corpus import SECRET, Corpus, Expected
from tests.support import tiny


@dataclass(frozen=True)
class Run:
    """What a run left, and what it said."""

    output: Path
    said: str

    @property
    def metrics(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(Path(f"{self.output}-metrics/metrics.json").read_text())
        return found


class SameRelease:
    """The same documents, metrics, dead letters and counts."""

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
