"""A prefix is one run's, and release.json vouches for what lies there."""

from __future__ import annotations

import contextlib
import errno
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from dxbeam import storage
from dxbeam.errors import CorpusError, OutputError
from dxbeam.mechanisms.laplace import Laplace
from dxbeam.mechanisms.resampling import RankResampling
from dxbeam.release import manifest
from dxbeam.release.manifest import Shard
from dxbeam.space.artifact import VocabularyHandle
from dxbeam.tally import Tally
from dxbeam.text.configuration import Configuration

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


@pytest.mark.parametrize("name", ["rel[1]", "*", "r?l", "**", "./rel", "a//b"])
def test_other_releases_are_left_alone_whatever_a_prefix_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for other in ("rel1", "ral", "b", "below/c"):
        (tmp_path / other / manifest.PIECES).mkdir(parents=True)
        (tmp_path / other / "part-0").touch()
        (tmp_path / other / manifest.PIECES / "part-1").touch()
    before = _names(tmp_path)

    def wrote() -> None:
        for piece in ("part-8", "unfinished-parts/part-9"):
            with storage.open_write(storage.join(name, piece)) as file:
                file.write(b"{}\n")

    manifest.claim(name, "one")
    wrote()
    manifest.abandon(name, "one")
    assert set(_names(tmp_path)) - set(before) <= {str(Path(name)), "a", "a/b"}
    assert not list(storage.names_below(name))
    manifest.claim(name, "two")
    wrote()
    shard = Shard("part-8", 3, 3, storage.sha256(f"{name}/part-8")[0])
    manifest.write(name, _compose(3, 0, shard, run="two"))
    assert set(before) <= set(_names(tmp_path))
    assert sorted(storage.names_below(name)) == ["part-8", "release.json"]
    manifest.verify(name)
    with storage.open_write(storage.join(name, "part-7")) as file:
        file.write(b"{}\n")
    with pytest.raises(OutputError, match="not part of the release"):
        manifest.verify(name)


def test_a_run_abandons_nothing_but_its_own(tmp_path: Path) -> None:
    """Neither where it was refused the prefix, nor once it had given it up."""
    manifest.claim(str(tmp_path), "one")
    (tmp_path / "part-0").touch()
    manifest.abandon(str(tmp_path), "two")
    assert _names(tmp_path) == ["part-0", "unfinished-run"]


def test_files_beside_the_shards_belong_to_the_release_or_go_with_the_run(tmp_path: Path) -> None:
    prefix = str(tmp_path)
    for run, released in (("one", False), ("two", True)):
        manifest.claim(prefix, run)
        for name in ("part-0", manifest.PROJECTION, manifest.SENSITIVITY):
            (tmp_path / name).touch()
        if released:
            manifest.write(prefix, _compose(3, 0, Shard("part-0", 3, 0, ""), run=run))
            with pytest.raises(OutputError, match="so it is released"):
                manifest.abandon(prefix, run)
        else:
            manifest.abandon(prefix, run)
            assert _names(tmp_path) == []
    assert _names(tmp_path) == ["part-0", "projection.npy", "release.json", "sensitivity.json"]


def test_a_claim_may_be_repeated_by_the_run_that_holds_it(tmp_path: Path) -> None:
    manifest.claim(str(tmp_path), "one")
    (tmp_path / "part-0").touch()
    manifest.claim(str(tmp_path), "one")
    with pytest.raises(OutputError, match="is not empty"):
        manifest.claim(str(tmp_path), "two")


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


def test_of_what_and_why_nothing_is_released_is_said_and_not_stored() -> None:
    names = {"source": "in/*", "dead_letters": "out-metrics/dead_letters.jsonl"}
    with pytest.raises(CorpusError) as refusal:
        manifest.compose(
            CONFIGURATION,
            HANDLE,
            "ff",
            True,
            Tally(),
            5000,
            [],
            {},
            **names,
            commonest_reason="why",
        )
    assert str(refusal.value) == (
        "no document could be released: 5,000 records were rejected, most often because: why; "
        "out-metrics/dead_letters.jsonl says where in in/* and why"
    )


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
    with pytest.raises(OutputError, match=r"is damaged \(not JSON\)|does not describe a release"):
        manifest.verify(str(tmp_path))
