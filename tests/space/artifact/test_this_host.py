"""What this host keeps: notes of which files were checked, and copies of artifacts elsewhere."""

from __future__ import annotations

import os
import re
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dxbeam.errors import ArtifactError
from dxbeam.space.artifact import artifact, this_host
from dxbeam.space.artifact import contents as artifact_contents
from dxbeam.space.artifact.manifest import MANIFEST, VECTORS
from tests.support import elsewhere, tiny
from tests.support.artifacts import FILES, WRITE, every_version, is_mapped, open_artifact


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An artifact of 300 words."""
    return Path(tiny.write_artifact(tmp_path / "vocabulary"))


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """This host's folder of temporary files, and a file system elsewhere that works."""
    path = tmp_path / "host"
    path.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(path))
    elsewhere.Elsewhere.opened.clear()
    elsewhere.Elsewhere.broken.clear()
    return path


def _let_the_clock_tick(folder: Path) -> None:
    """Returns as soon as a file that is written has a later time of change than those that are."""
    last, clock = max(path.stat().st_ctime_ns for path in folder.iterdir()), folder.parent / "clock"
    clock.touch()
    while clock.stat().st_ctime_ns <= last:
        clock.touch()


@pytest.fixture
def checks(host: Path, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Paths of the files that were checked, an hour after they were written."""
    tiny.let_an_hour_pass(monkeypatch)
    return tiny.counted(monkeypatch, artifact_contents, "check_file")


@every_version
def test_files_are_checked_by_the_first_that_opens_them_and_again_once_they_are_touched(
    tmp_path: Path, checks: list[Any], version: int
) -> None:
    folder = Path(WRITE[version](tmp_path / "vocabulary"))
    names = set(artifact.read_manifest(str(folder))["files"])
    for _ in range(3):
        assert len(open_artifact(folder)) == 300
    assert sorted(path.name for path in checks) == sorted(names)
    for name in names:
        (folder / name).write_bytes((folder / name).read_bytes())
        checks.clear()
        open_artifact(folder)
        assert {path.name for path in checks} == names


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_changed_after_it_was_checked_is_found(
    folder: Path, checks: list[Any], name: str
) -> None:
    """Though neither its size nor its name is another."""
    _let_the_clock_tick(folder)
    open_artifact(folder)
    with (folder / name).open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        [last] = file.read()
        file.seek(-1, os.SEEK_END)
        file.write(bytes([last ^ 1]))
    for _ in range(2):
        with pytest.raises(ArtifactError, match=f"{name} is damaged"):
            open_artifact(folder)


def test_another_artifact_in_the_same_place_is_checked(folder: Path, checks: list[Any]) -> None:
    open_artifact(folder)
    checks.clear()
    tiny.write_artifact(folder, tiny.vocabulary(seed=1))
    open_artifact(folder)
    assert len(checks) == len(FILES)


def test_of_many_that_open_at_once_one_checks(folder: Path, checks: list[Any]) -> None:
    handle = artifact.handle(str(folder))
    with ThreadPoolExecutor(8) as pool:
        assert len(list(pool.map(artifact.open_vocabulary, [handle] * 8))) == 8
    assert len(checks) == len(FILES)


def test_a_file_that_changed_a_moment_ago_is_checked_every_time(
    folder: Path, checks: list[Any], host: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its next change might bear the same time."""
    now = folder.stat().st_ctime
    monkeypatch.setattr(this_host, "time", SimpleNamespace(time=lambda: now))
    for times in (1, 2):
        open_artifact(folder)
        assert len(checks) == times * len(FILES)
    assert not list(host.glob("*/*"))


def test_files_are_checked_again_after_the_host_was_started_again(
    folder: Path, checks: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    open_artifact(folder)
    monkeypatch.setattr(this_host, "_start", lambda: "another start")
    open_artifact(folder)
    assert len(checks) == 2 * len(FILES)


def test_a_note_that_others_could_have_written_is_not_trusted(
    folder: Path, checks: list[Any], host: Path
) -> None:
    open_artifact(folder)
    [home] = host.iterdir()
    assert home.stat().st_mode & 0o777 == 0o700
    home.chmod(0o777)
    for times in (2, 3):
        assert len(open_artifact(folder)) == 300
        assert len(checks) == times * len(FILES)


def test_where_no_note_can_be_kept_each_opening_checks(
    folder: Path, checks: list[Any], host: Path
) -> None:
    host.rmdir()
    for times in (1, 2):
        assert len(open_artifact(folder)) == 300
        assert len(checks) == times * len(FILES)


def test_a_note_holds_nothing_of_the_files(folder: Path, checks: list[Any], host: Path) -> None:
    open_artifact(folder)
    [note] = host.glob("*/*")
    assert re.fullmatch("checked-[0-9a-f]{64}", note.name)
    assert note.read_bytes() == b"whole"


def _copies(host: Path) -> list[str]:
    return [path.name for path in host.glob("*/*") if path.is_dir()]


def test_an_artifact_elsewhere_is_copied_once(folder: Path, host: Path) -> None:
    handle = artifact.handle(elsewhere.uri(folder))
    for _ in range(3):
        opened = artifact.open_vocabulary(handle)
    assert np.array_equal(opened.vectors, tiny.vocabulary().vectors)
    assert is_mapped(opened.vectors)
    copied = [name for name in elsewhere.Elsewhere.opened if name != MANIFEST]
    assert sorted(copied) == sorted(FILES)
    assert _copies(host) == [handle.digest]
    assert [path.stat().st_mode & 0o777 for path in host.iterdir()] == [0o700]


def test_of_many_that_copy_at_once_all_find_one_whole_copy(folder: Path, host: Path) -> None:
    handle = artifact.handle(elsewhere.uri(folder))
    with ThreadPoolExecutor(8) as pool:
        opened = list(pool.map(artifact.open_vocabulary, [handle] * 8))
    assert {vocabulary.digest for vocabulary in opened} == {handle.digest}
    assert _copies(host) == [handle.digest]


def test_a_copy_that_breaks_off_is_not_taken_for_a_whole_one(folder: Path, host: Path) -> None:
    handle = artifact.handle(elsewhere.uri(folder))
    elsewhere.Elsewhere.broken.add(VECTORS)
    with pytest.raises(ArtifactError, match=f"{VECTORS} cannot be copied to this host"):
        artifact.open_vocabulary(handle)
    assert _copies(host) == []
    elsewhere.Elsewhere.broken.clear()
    assert len(artifact.open_vocabulary(handle)) == 300


def test_a_copy_that_was_damaged_is_made_again(folder: Path, host: Path) -> None:
    handle = artifact.handle(elsewhere.uri(folder))
    artifact.open_vocabulary(handle)
    [copy] = host.glob(f"*/{handle.digest}")
    (copy / VECTORS).write_bytes(b"cut short")
    assert len(artifact.open_vocabulary(handle)) == 300


def test_a_folder_of_copies_that_others_may_write_is_refused(folder: Path, host: Path) -> None:
    handle = artifact.handle(elsewhere.uri(folder))
    artifact.open_vocabulary(handle)
    [home] = host.iterdir()
    home.chmod(0o777)
    with pytest.raises(ArtifactError, match="can be written by others"):
        artifact.open_vocabulary(handle)
