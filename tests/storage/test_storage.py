"""Bytes at a path, and writes that succeed for one writer only."""

from __future__ import annotations

import gzip
import hashlib
import multiprocessing
import os
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import pytest

from dxbeam import storage
from dxbeam.errors import OutputError
from dxbeam.storage import local


@pytest.mark.parametrize(
    ("path", "plain", "local"),
    [
        ("/a/b", "/a/b", True),
        ("a/b", "a/b", True),
        ("file:///a/b", "/a/b", True),
        ("gs://bucket/b", "gs://bucket/b", False),
        ("./a://b", "./a://b", True),
    ],
)
def test_paths_of_this_machine_are_known(path: str, plain: str, local: bool) -> None:
    assert storage.without_file_scheme(path) == plain
    assert storage.is_local(path) == local


@pytest.mark.parametrize("directory", ["/a", "/a/", "file:///a", "gs://b/a", "gs://b/a/"])
def test_names_are_joined_in_the_style_of_their_directory(directory: str) -> None:
    root = "gs://b/a" if directory.startswith("gs:") else "/a"
    assert storage.join(directory, "sub", "name") == f"{root}/sub/name"


def test_a_file_is_read_and_written_as_it_is(tmp_path: Path) -> None:
    content = gzip.compress(b"text\n")
    target = tmp_path / "new" / "folder" / "a.gz"
    with storage.open_write(f"file://{target}") as file:
        file.write(content)
    assert storage.read(f"file://{target}") == target.read_bytes() == content
    with storage.open_read(str(target), decompress=True) as file:
        assert file.read() == b"text\n"


@pytest.mark.parametrize("size", [0, 1, (1 << 20) - 1, 1 << 20, (2 << 20) + 1])
def test_digests_and_copies_of_every_size(tmp_path: Path, size: int) -> None:
    content = os.urandom(size)
    (tmp_path / "a").write_bytes(content)
    storage.copy(str(tmp_path / "a"), str(tmp_path / "below" / "b"))
    expected = (hashlib.sha256(content).hexdigest(), size)
    assert storage.sha256(str(tmp_path / "below" / "b")) == expected


def test_matches_come_in_order_with_their_sizes(tmp_path: Path) -> None:
    for name, size in {"b.txt": 2, "a.txt": 3, "c.log": 1}.items():
        (tmp_path / name).write_bytes(bytes(size))
    found = storage.match(f"file://{tmp_path}/*.txt")
    assert found == [(f"{tmp_path}/a.txt", 3), (f"{tmp_path}/b.txt", 2)]
    assert storage.match(f"{tmp_path}/*.none") == []


def test_a_file_counts_as_there_and_a_directory_does_not(tmp_path: Path) -> None:
    (tmp_path / "folder" / "empty").mkdir(parents=True)
    assert storage.first_file_below(str(tmp_path)) is None
    assert storage.first_file_below(str(tmp_path / "missing")) is None
    hidden = tmp_path / "folder" / ".hidden"
    hidden.touch()
    assert storage.exists(str(hidden))
    assert storage.first_file_below(f"file://{tmp_path}") == str(hidden)
    assert not storage.exists(str(tmp_path / "folder"))


def test_files_directories_and_nothing_can_be_deleted(tmp_path: Path) -> None:
    (tmp_path / "folder" / "below").mkdir(parents=True)
    (tmp_path / "folder" / "below" / "a").touch()
    (tmp_path / "b").touch()
    for name in ("folder", "b", "missing"):
        storage.delete(str(tmp_path / name))
    assert list(tmp_path.iterdir()) == []


ODD = ["rel[1]", "*", "r?l", "{a,b}", "**", "a b", "#1%2F", "é\n"]
"""Names of directories that a glob would take for something else."""


@pytest.mark.parametrize("name", ODD)
def test_a_directory_is_named_literally(tmp_path: Path, name: str) -> None:
    for folder in (name, "rel1", "rxl", "other", "a"):
        (tmp_path / folder / "below").mkdir(parents=True)
        (tmp_path / folder / "part-1").touch()
        (tmp_path / folder / "below" / ".x").touch()
    for place in (f"{tmp_path}/{name}", f"file://{tmp_path}//{name}/"):
        assert sorted(storage.names_below(place)) == ["below/.x", "part-1"]
    storage.delete(f"{tmp_path}/{name}/part-1")
    storage.delete(f"{tmp_path}/{name}")
    storage.delete(f"{tmp_path}/{name}")
    assert {entry.name for entry in tmp_path.iterdir()} == {"rel1", "rxl", "other", "a"}
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 8


def test_only_a_place_that_can_be_written_once_is_written_or_deleted() -> None:
    for act in (storage.delete, lambda path: storage.create_once(path, b"")):
        with pytest.raises(OutputError, match="must be a local path or one that starts with gs://"):
            act("elsewhere://a/b")


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_what_is_written_once_has_the_rights_of_any_new_file(tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        storage.create_once(str(tmp_path / "once"), b"one")
    finally:
        os.umask(before)
    assert (tmp_path / "once").stat().st_mode & 0o777 == 0o666 & ~mask


def test_the_first_writer_wins_and_a_repeat_is_accepted(tmp_path: Path) -> None:
    path = tmp_path / "below" / "once"
    storage.create_once(str(path), b"one")
    storage.create_once(f"file://{path}", b"one")
    with pytest.raises(OutputError, match="another run"):
        storage.create_once(str(path), b"two")
    assert path.read_bytes() == b"one"
    assert [entry.name for entry in path.parent.iterdir()] == ["once"]


def _attempt(path: str, number: int) -> bool:
    try:
        storage.create_once(path, b"%d" % number * 100_000)
    except OutputError:
        return False
    return True


@pytest.mark.slow
@pytest.mark.parametrize(
    "pool",
    [
        lambda: ThreadPoolExecutor(16),
        lambda: ProcessPoolExecutor(2, multiprocessing.get_context("spawn")),
    ],
    ids=["threads", "processes"],
)
def test_of_many_writers_at_once_one_wins(tmp_path: Path, pool: type[Executor]) -> None:
    path = tmp_path / "once"
    with pool() as writers:
        won = list(writers.map(_attempt, [str(path)] * 32, range(32)))
    assert sum(won) == 1
    assert path.read_bytes() == b"%d" % won.index(True) * 100_000
    assert list(tmp_path.iterdir()) == [path]


def test_a_write_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(local.os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        storage.create_once(str(tmp_path / "once"), b"one")
    assert list(tmp_path.iterdir()) == []


def test_a_place_may_be_a_path(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    assert storage.read(storage.join(tmp_path, "a")) == b"x"
    assert storage.without_file_scheme(tmp_path / "a") == str(tmp_path / "a")
