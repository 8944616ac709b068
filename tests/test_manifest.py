"""A prefix is one run's, and release.json vouches for what lies there."""

from __future__ import annotations

import contextlib
import errno
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from dxbeam import manifest, storage
from dxbeam.artifact import VocabularyHandle
from dxbeam.configuration import Configuration
from dxbeam.errors import CorpusError, OutputError
from dxbeam.manifest import Shard
from dxbeam.mechanisms.laplace import Laplace
from dxbeam.resampling import RankResampling
from dxbeam.tally import Tally

CONFIGURATION = Configuration(Laplace(5.0), RankResampling(0.02))
HANDLE = VocabularyHandle("/private/place", "00", 10, 2)


def _compose(documents: int, rejected: int, *shards: Shard, **facts: Any) -> dict[str, Any]:
    tally = Tally(documents, tokens=20)
    return manifest.compose(CONFIGURATION, HANDLE, "ff", True, tally, rejected, shards, facts)


def _names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_a_prefix_is_claimed_by_one_run_and_given_up(tmp_path: Path) -> None:
    prefix = f"{tmp_path}/new/out"
    manifest.claim(prefix, "one")
    with pytest.raises(OutputError, match="under way or did not finish"):
        manifest.claim(prefix, "two")
    manifest.give_up_claim(prefix)
    assert list((tmp_path / "new" / "out").iterdir()) == []
    manifest.claim(prefix, "two")


def test_of_many_runs_at_once_one_has_the_prefix(tmp_path: Path) -> None:
    def claim(number: int) -> bool:
        try:
            manifest.claim(str(tmp_path / "out"), f"run {number}")
        except OutputError:
            return False
        return True

    with ThreadPoolExecutor(16) as pool:
        won = list(pool.map(claim, range(32)))
    assert sum(won) == 1
    [claimed] = (tmp_path / "out").iterdir()
    assert claimed.read_text() == f"run {won.index(True)}\n"


@pytest.mark.parametrize("name", ["mine.txt", ".hidden", "below/mine.txt", "release.json"])
def test_a_prefix_that_holds_anything_is_not_claimed(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).touch()
    with pytest.raises(OutputError, match=r"is not empty .* choose a fresh one"):
        manifest.claim(str(tmp_path), "one")
    assert (tmp_path / name).exists()
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 1


def test_a_prefix_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="cannot be written"):
        manifest.claim(str(tmp_path / "file" / "out"), "one")


def test_an_abandoned_prefix_holds_what_was_not_the_runs_own(tmp_path: Path) -> None:
    manifest.claim(str(tmp_path), "one")
    for name in ("part-00000-of-00001.jsonl", "unfinished-parts/a", "mine.txt", "below/part-1"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    manifest.abandon(str(tmp_path), "one")
    assert _names(tmp_path) == ["below", "below/part-1", "mine.txt"]


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
    assert HANDLE.uri not in json.dumps(content)  # where the vocabulary lies is nobody's business


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


def test_a_release_is_completed_once(tmp_path: Path) -> None:
    prefix = str(tmp_path)
    manifest.claim(prefix, "one")
    content = _compose(3, 0, Shard("part-0", 3, 9, ""), note="é", run="one")
    for name in ("part-0", "part-1", "unfinished-parts/part-2"):  # two are left of failed attempts
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    manifest.write(prefix, content)
    assert _names(tmp_path) == ["part-0", "release.json"]
    assert manifest.read(prefix) == content
    manifest.write(prefix, content)  # a retried bundle
    (tmp_path / "part-3").touch()
    repeated = _compose(3, 0, Shard("part-3", 3, 9, ""), note="é", run="one")
    manifest.write(prefix, repeated)  # the whole run again: what was complete first stays
    assert _names(tmp_path) == ["part-0", "release.json"]
    with pytest.raises(OutputError, match="another run"):
        manifest.write(prefix, {**content, "run": "two"})
    assert manifest.read(prefix) == content


@pytest.mark.parametrize("step", ["_decide", "check_claim", "_tidy", "give_up_claim"])
@pytest.mark.parametrize("before", [True, False])
def test_a_launcher_that_gives_up_while_a_worker_completes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, before: bool
) -> None:
    """At whatever step: either the whole release is there, or nothing of it."""
    prefix = str(tmp_path)
    manifest.claim(prefix, "one")
    (tmp_path / "part-0").touch()
    monkeypatch.setattr(manifest, "_COMPLETING_SECONDS", 0.0)
    plain = getattr(manifest, step)

    def interrupted(*arguments: Any) -> Any:
        monkeypatch.setattr(manifest, step, plain)
        result = None if before else plain(*arguments)
        with contextlib.suppress(OutputError):
            manifest.abandon(prefix, "one")
        return plain(*arguments) if before else result

    monkeypatch.setattr(manifest, step, interrupted)
    with contextlib.suppress(OutputError):
        manifest.write(prefix, _compose(3, 0, Shard("part-0", 3, 9, ""), run="one"))
    assert _names(tmp_path) in ([], ["part-0", "release.json"])


def test_a_launcher_that_is_stopped_after_the_release_was_complete(tmp_path: Path) -> None:
    prefix = str(tmp_path)
    manifest.claim(prefix, "one")
    (tmp_path / "part-0").touch()
    manifest.write(prefix, _compose(3, 0, Shard("part-0", 3, 9, ""), run="one"))
    with pytest.raises(OutputError, match="so it is released"):
        manifest.abandon(prefix, "one")
    assert _names(tmp_path) == ["part-0", "release.json"]


def test_a_full_disk_does_not_keep_a_launcher_from_tidying_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prefix = str(tmp_path)
    manifest.claim(prefix, "one")
    (tmp_path / "part-0").touch()

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(storage, "create_once", full)
    manifest.abandon(prefix, "one")
    assert _names(tmp_path) == []


def test_a_launcher_learns_what_became_of_a_release_under_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prefix = str(tmp_path)
    manifest.claim(prefix, "one")
    monkeypatch.setattr(manifest, "_COMPLETING_SECONDS", 0.0)
    (tmp_path / "unfinished-decision").write_text("release one\n")
    with pytest.raises(OutputError, match="delete the directory"):
        manifest.abandon(prefix, "one")
    (tmp_path / "release.json").touch()
    with pytest.raises(OutputError, match="so it is released"):
        manifest.abandon(prefix, "one")


def test_a_run_that_was_given_up_releases_nothing(tmp_path: Path) -> None:
    prefix = str(tmp_path)
    manifest.claim(prefix, "one")
    manifest.abandon(prefix, "one")
    content = _compose(3, 0, Shard("part-0", 3, 9, ""), run="one")
    with pytest.raises(OutputError, match="given the prefix up"):
        manifest.write(prefix, content)
    manifest.claim(prefix, "two")
    (tmp_path / "part-9").touch()
    with pytest.raises(OutputError, match="given the prefix up"):
        manifest.write(prefix, content)
    assert (tmp_path / "part-9").exists(), "the other run's shards are left alone"


def test_verify_notices_every_change(tmp_path: Path) -> None:
    shard = tmp_path / "part-0.jsonl"
    shard.write_text('{"id": "a", "text": "b"}\n')
    digest, size = storage.sha256(str(shard))
    manifest.write(str(tmp_path), _compose(1, 0, Shard(shard.name, 1, size, digest)))
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
