"""Writes for one writer only, claims of a prefix, and what a manifest vouches for."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from dxbeam import manifest, storage
from dxbeam.artifact import VocabularyHandle
from dxbeam.configuration import Configuration
from dxbeam.errors import CorpusError, OutputError
from dxbeam.manifest import Shard
from dxbeam.mechanisms.laplace import Laplace
from dxbeam.tally import Tally

CONFIGURATION = Configuration(Laplace(5.0))
HANDLE = VocabularyHandle("somewhere", "00", 10, 2)


def test_the_first_writer_wins_and_a_repeat_is_accepted(tmp_path: Path) -> None:
    path = str(tmp_path / "below" / "once")
    storage.create_once(path, b"one")
    storage.create_once(path, b"one")
    with pytest.raises(OutputError, match="another run"):
        storage.create_once(path, b"two")
    assert storage.read(path) == b"one"
    assert [entry.name for entry in (tmp_path / "below").iterdir()] == ["once"]


def test_of_many_writers_at_once_one_wins(tmp_path: Path) -> None:
    winners: list[int] = []

    def write(number: int) -> None:
        try:
            storage.create_once(str(tmp_path / "once"), b"%d" % number)
        except OutputError:
            return
        winners.append(number)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [b"%d" % number for number in winners] == [storage.read(str(tmp_path / "once"))]


def test_a_prefix_is_claimed_by_one_run_and_given_up(tmp_path: Path) -> None:
    prefix = str(tmp_path / "out")
    manifest.claim(prefix, "one")
    with pytest.raises(OutputError, match="did not finish"):
        manifest.claim(prefix, "two")
    (tmp_path / "out" / "part-00000-of-00001.jsonl").touch()
    (tmp_path / "out" / "mine.txt").touch()
    manifest.abandon(prefix)
    assert [entry.name for entry in (tmp_path / "out").iterdir()] == ["mine.txt"]


def _compose(documents: int, rejected: int, shards: list[Shard]) -> dict[str, object]:
    tally = Tally(documents, 20)
    return manifest.compose(CONFIGURATION, HANDLE, "ff", True, tally, rejected, shards, {"x": 1})


def test_shards_that_do_not_add_up_are_no_release() -> None:
    assert _compose(3, 1, [Shard("a", 2, 9, ""), Shard("b", 1, 9, "")])["documents_in"] == 4
    with pytest.raises(OutputError, match="the shards hold 2 documents but 3 were sanitized"):
        _compose(3, 0, [Shard("a", 2, 9, "")])
    with pytest.raises(CorpusError, match="5 records were rejected"):
        _compose(0, 5, [])


def test_verify_notices_every_change(tmp_path: Path) -> None:
    shard = tmp_path / "part-0.jsonl"
    shard.write_text('{"id": "a", "text": "b"}\n')
    digest, size = storage.sha256(str(shard))
    manifest.write(str(tmp_path), _compose(1, 0, [Shard(shard.name, 1, size, digest)]))
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


def test_every_option_that_changes_the_guarantee_is_named() -> None:
    plain = CONFIGURATION.guarantee()
    assert plain.epsilon == 5
    assert "exp(5 * d(x, x'))" in plain.sentence
    for rule in ("mask", "drop", "keep"):
        other = Configuration(Laplace(5.0), unknown_words=rule)
        assert len(other.guarantee().caveats) == len(plain.caveats) + 1
        assert any(rule in entry for entry in other.unprotected)
    json.dumps(plain.as_dict())
