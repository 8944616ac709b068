"""release.json says what is promised and done, and vouches for what is next to it."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from dxbeam import storage
from dxbeam.documents import DeadLetterCap
from dxbeam.errors import CorpusError, OutputError, RunError
from dxbeam.mechanisms.laplace import Laplace
from dxbeam.mechanisms.sampling.resampling import RankResampling
from dxbeam.release import claim, manifest
from dxbeam.release.manifest import ReleaseJob, RunOutcome, Shard
from dxbeam.space.artifact.artifact import VocabularyHandle
from dxbeam.text.configuration import Configuration
from dxbeam.text.tally import Tally

CONFIGURATION = Configuration(Laplace(5.0), RankResampling(0.02))
HANDLE = VocabularyHandle("/private/place", "00", 10, 2)


def _job(**settings: Any) -> ReleaseJob:
    return ReleaseJob(CONFIGURATION, HANDLE, True, "the corpus", "the dead letters", **settings)


def _compose(documents: int, rejected: int, *shards: Shard, **facts: Any) -> dict[str, Any]:
    counted = [("", Tally(documents, tokens=20))]
    return manifest.compose(_job(facts=facts), RunOutcome(shards, counted, rejected, "ff"))


def test_a_manifest_says_what_is_promised_and_what_is_not() -> None:
    shards = [Shard("part-1", 1, 9, "bb"), Shard("part-0", 2, 9, "aa")]
    content = _compose(3, 2, *shards, kept_fields=["label"])
    assert content["guarantee"] == CONFIGURATION.guarantee().as_dict()
    assert "document ids" in content["unprotected"]
    assert content["configuration"]["mechanism"]["epsilon"] == 5
    assert content["configuration"]["rank_resampling"] == {"c": 0.02}
    assert content["configuration_digest"] == CONFIGURATION.digest("00")
    assert content["key"] == {"fingerprint": "ff", "kept": True}
    counts = ("documents_in", "documents_out", "dead_letters", "tokens")
    assert [content[name] for name in counts] == [5, 3, 2, 20]
    assert content["kept_fields"] == ["label"]
    assert [shard["name"] for shard in content["shards"]] == ["part-0", "part-1"]
    assert {"python", "dxbeam", "apache-beam", "numpy"} <= set(content["versions"])
    assert HANDLE.uri not in json.dumps(content)  # its place is private


@pytest.mark.parametrize("written", [(), (2,), (2, 2), (4,)])
def test_shards_that_do_not_add_up_are_no_release(written: tuple[int, ...]) -> None:
    shards = [Shard(f"part-{i}", documents, 9, "") for i, documents in enumerate(written)]
    said = f"the shards hold {sum(written)} documents but 3 were sanitized"
    with pytest.raises(OutputError, match=said):
        _compose(3, 0, *shards)


@pytest.mark.parametrize(
    ("rejected", "said"), [(5, "5 records were rejected"), (0, "the corpus holds none")]
)
def test_no_document_is_no_release(rejected: int, said: str) -> None:
    with pytest.raises(CorpusError, match=said):
        _compose(0, rejected)


def test_of_what_and_why_nothing_is_released_is_said_and_not_stored() -> None:
    job = dataclasses.replace(_job(), source="in/*", dead_letters="out-metrics/dead_letters.jsonl")
    with pytest.raises(CorpusError) as refusal:
        manifest.compose(job, RunOutcome([], [], 5000, "ff", [("why", 4000)]))
    assert str(refusal.value) == (
        "no document could be released: 5,000 records were rejected, most often because: why; "
        "out-metrics/dead_letters.jsonl says where in in/* and why"
    )


def test_with_more_dead_letters_than_allowed_nothing_is_released() -> None:
    outcome = RunOutcome([Shard("part-0", 3, 9, "")], [("", Tally(3))], 2, "ff")
    assert manifest.compose(_job(dead_letter_cap=DeadLetterCap(2)), outcome)["dead_letters"] == 2
    with pytest.raises(RunError, match="2 of 5 records went to the dead letters, more than"):
        manifest.compose(_job(dead_letter_cap=DeadLetterCap(1)), outcome)


def test_where_only_a_copy_may_be_released_another_corpus_is_not() -> None:
    outcome = RunOutcome([Shard("part-0", 3, 9, "")], [("", Tally(3))], 0, "ff")
    job = _job(required_digest="dd")
    copy = manifest.compose(job, outcome._replace(corpus_digest="dd"))
    assert copy["corpus_digest"] == "dd"
    for digest in ("ee", ""):
        with pytest.raises(OutputError, match="the corpus is no longer what it was then"):
            manifest.compose(job, outcome._replace(corpus_digest=digest))


def test_verify_notices_every_change(tmp_path: Path) -> None:
    shard = tmp_path / "part-0.jsonl"
    shard.write_text('{"id": "a", "text": "b"}\n')
    digest, size = storage.sha256(str(shard))
    claim.complete(str(tmp_path), _compose(1, 0, Shard(shard.name, 1, size, digest)))
    assert manifest.verify(str(tmp_path))["documents_out"] == 1
    (tmp_path / "part-1.jsonl").write_text("one too many")
    with pytest.raises(OutputError, match="not part of the release"):
        manifest.verify(str(tmp_path))
    (tmp_path / "part-1.jsonl").unlink()
    shard.write_text('{"id": "a", "text": "c"}\n')
    with pytest.raises(OutputError, match="not the file that was released"):
        manifest.verify(str(tmp_path))
    shard.unlink()
    with pytest.raises(OutputError, match="missing"):
        manifest.verify(str(tmp_path))
    (tmp_path / "release.json").unlink()
    with pytest.raises(OutputError, match="no whole release"):
        manifest.verify(str(tmp_path))


@pytest.mark.parametrize(
    "shards",
    [
        None,
        7,
        {},
        ["part-0"],
        [{}],
        [{"name": "part-0"}],
        [{"name": 1, "sha256": "00"}],
        [{"name": "../../evil", "sha256": "00"}],
        [{"name": "/evil", "sha256": "00"}],
        [{"name": "part-/../evil", "sha256": "00"}],
        [{"name": "", "sha256": "00"}],
        [{"name": "part-0", "sha256": None}],
    ],
)
def test_a_manifest_that_names_what_is_no_shard_is_refused(tmp_path: Path, shards: Any) -> None:
    content = {"format": manifest.FORMAT, "version": manifest.VERSION, "shards": shards}
    (tmp_path / "release.json").write_text(json.dumps(content))
    with pytest.raises(OutputError, match="'shards' must list plain names"):
        manifest.verify(str(tmp_path))


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"\xff", b"[" * 100_000, b'"a"'])
def test_what_is_no_manifest_is_refused_in_a_sentence(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "release.json").write_bytes(content)
    with pytest.raises(
        OutputError, match=r"is damaged \(not JSON\)|does not describe a dxbeam release"
    ):
        manifest.verify(str(tmp_path))
