"""A prefix is one run's, which completes its release there or takes back what it wrote."""

from __future__ import annotations

import contextlib
import errno
from pathlib import Path
from typing import Any

import pytest

from dxbeam import storage
from dxbeam.errors import OutputError
from dxbeam.release import claim, manifest
from dxbeam.release.manifest import Shard
from tests.support import calls


def _content(*shards: Shard, **facts: Any) -> dict[str, Any]:
    """What a release.json needs to be completed and verified."""
    described = [shard._asdict() for shard in shards]
    return {"format": manifest.FORMAT, "version": manifest.VERSION, "shards": described, **facts}


def _names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_a_prefix_is_claimed_by_one_run_and_given_up(tmp_path: Path) -> None:
    prefix = f"{tmp_path}/new/out"
    claim.take_fresh(prefix, "one")
    with pytest.raises(OutputError, match="under way or did not finish"):
        claim.take_fresh(prefix, "two")
    claim.let_go(prefix)
    assert list((tmp_path / "new" / "out").iterdir()) == []
    claim.take_fresh(prefix, "two")


def test_of_many_runs_at_once_one_has_the_prefix(tmp_path: Path) -> None:
    place = str(tmp_path / "out")
    won = calls.at_once(16, 32, lambda number: claim.take_fresh(place, f"run {number}"))
    assert sum(won) == 1
    [claimed] = (tmp_path / "out").iterdir()
    assert claimed.read_text() == f"run {won.index(True)}\n"


@pytest.mark.parametrize("name", ["mine.txt", ".hidden", "below/mine.txt", "release.json"])
def test_a_prefix_that_holds_anything_is_not_claimed(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).touch()
    with pytest.raises(OutputError, match=r"is not empty .* choose a fresh one"):
        claim.take_fresh(str(tmp_path), "one")
    assert (tmp_path / name).exists()
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 1


def test_a_prefix_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="cannot be written"):
        claim.take_fresh(str(tmp_path / "file" / "out"), "one")


def test_an_abandoned_prefix_holds_what_was_not_the_runs_own(tmp_path: Path) -> None:
    claim.take_fresh(str(tmp_path), "one")
    for name in ("part-00000-of-00001.jsonl", "unfinished-parts/a", "mine.txt", "below/part-1"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    claim.abandon(str(tmp_path), "one")
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

    claim.take_fresh(name, "one")
    wrote()
    claim.abandon(name, "one")
    assert set(_names(tmp_path)) - set(before) <= {str(Path(name)), "a", "a/b"}
    assert not list(storage.names_below(name))
    claim.take_fresh(name, "two")
    wrote()
    shard = Shard("part-8", 3, 3, storage.sha256(f"{name}/part-8")[0])
    claim.complete(name, _content(shard, run="two"))
    assert set(before) <= set(_names(tmp_path))
    assert sorted(storage.names_below(name)) == ["part-8", "release.json"]
    manifest.verify(name)
    with storage.open_write(storage.join(name, "part-7")) as file:
        file.write(b"{}\n")
    with pytest.raises(OutputError, match="not part of the release"):
        manifest.verify(name)


def test_a_run_abandons_nothing_but_its_own(tmp_path: Path) -> None:
    """Neither where it was refused the prefix, nor once it had given it up."""
    claim.take_fresh(str(tmp_path), "one")
    (tmp_path / "part-0").touch()
    claim.abandon(str(tmp_path), "two")
    assert _names(tmp_path) == ["part-0", "unfinished-run"]


def test_files_beside_the_shards_belong_to_the_release_or_go_with_the_run(tmp_path: Path) -> None:
    prefix = str(tmp_path)
    for run, released in (("one", False), ("two", True)):
        claim.take_fresh(prefix, run)
        for name in ("part-0", manifest.PROJECTION, manifest.SENSITIVITY):
            (tmp_path / name).touch()
        if released:
            claim.complete(prefix, _content(Shard("part-0", 3, 0, ""), run=run))
            with pytest.raises(OutputError, match="so it is released"):
                claim.abandon(prefix, run)
        else:
            claim.abandon(prefix, run)
            assert _names(tmp_path) == []
    assert _names(tmp_path) == ["part-0", "projection.npy", "release.json", "sensitivity.json"]


def test_a_claim_may_be_repeated_by_the_run_that_holds_it(tmp_path: Path) -> None:
    claim.take_fresh(str(tmp_path), "one")
    (tmp_path / "part-0").touch()
    claim.take_fresh(str(tmp_path), "one")
    with pytest.raises(OutputError, match="is not empty"):
        claim.take_fresh(str(tmp_path), "two")


def test_a_release_is_completed_once(tmp_path: Path) -> None:
    prefix = str(tmp_path)
    claim.take_fresh(prefix, "one")
    content = _content(Shard("part-0", 3, 9, ""), note="é", run="one")
    for name in ("part-0", "part-1", "unfinished-parts/part-2"):  # two are left of failed attempts
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    claim.complete(prefix, content)
    assert _names(tmp_path) == ["part-0", "release.json"]
    assert manifest.read(prefix) == content
    claim.complete(prefix, content)  # a retried bundle
    (tmp_path / "part-3").touch()
    repeated = _content(Shard("part-3", 3, 9, ""), note="é", run="one")
    claim.complete(prefix, repeated)  # the whole run again: what was complete first stays
    assert _names(tmp_path) == ["part-0", "release.json"]
    with pytest.raises(OutputError, match="another run"):
        claim.complete(prefix, {**content, "run": "two"})
    assert manifest.read(prefix) == content


@pytest.mark.parametrize("step", ["_decide", "check", "_delete_shards_but", "let_go"])
@pytest.mark.parametrize("before", [True, False])
def test_a_launcher_that_gives_up_while_a_worker_completes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, before: bool
) -> None:
    """At whatever step: either the whole release is there, or nothing of it."""
    prefix = str(tmp_path)
    claim.take_fresh(prefix, "one")
    (tmp_path / "part-0").touch()
    plain = getattr(claim, step)

    def interrupted(*arguments: Any) -> Any:
        monkeypatch.setattr(claim, step, plain)
        result = None if before else plain(*arguments)
        with contextlib.suppress(OutputError):
            claim.abandon(prefix, "one", completing_seconds=0.0)
        return plain(*arguments) if before else result

    monkeypatch.setattr(claim, step, interrupted)
    with contextlib.suppress(OutputError):
        claim.complete(prefix, _content(Shard("part-0", 3, 9, ""), run="one"))
    assert _names(tmp_path) in ([], ["part-0", "release.json"])


def test_a_launcher_that_is_stopped_after_the_release_was_complete(tmp_path: Path) -> None:
    prefix = str(tmp_path)
    claim.take_fresh(prefix, "one")
    (tmp_path / "part-0").touch()
    claim.complete(prefix, _content(Shard("part-0", 3, 9, ""), run="one"))
    with pytest.raises(OutputError, match="so it is released"):
        claim.abandon(prefix, "one")
    assert _names(tmp_path) == ["part-0", "release.json"]


def test_a_full_disk_does_not_keep_a_launcher_from_tidying_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prefix = str(tmp_path)
    claim.take_fresh(prefix, "one")
    (tmp_path / "part-0").touch()

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(storage, "create_once", full)
    claim.abandon(prefix, "one")
    assert _names(tmp_path) == []


def test_a_launcher_learns_what_became_of_a_release_under_way(tmp_path: Path) -> None:
    prefix = str(tmp_path)
    claim.take_fresh(prefix, "one")
    (tmp_path / "unfinished-decision").write_text("release one\n")
    with pytest.raises(OutputError, match="delete the directory"):
        claim.abandon(prefix, "one", completing_seconds=0.0)
    (tmp_path / "release.json").touch()
    with pytest.raises(OutputError, match="so it is released"):
        claim.abandon(prefix, "one")


def test_a_run_that_was_given_up_releases_nothing(tmp_path: Path) -> None:
    prefix = str(tmp_path)
    claim.take_fresh(prefix, "one")
    claim.abandon(prefix, "one")
    content = _content(Shard("part-0", 3, 9, ""), run="one")
    with pytest.raises(OutputError, match="given the prefix up"):
        claim.complete(prefix, content)
    claim.take_fresh(prefix, "two")
    (tmp_path / "part-9").touch()
    with pytest.raises(OutputError, match="given the prefix up"):
        claim.complete(prefix, content)
    assert (tmp_path / "part-9").exists(), "the other run's shards are left alone"
