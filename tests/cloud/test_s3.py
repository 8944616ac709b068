"""s3://: reading, writing, and writes that only one of several can make."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import pytest

from dxbeam import storage
from dxbeam.errors import ConfigurationError
from dxbeam.release import ledger, manifest
from dxbeam.storage import s3 as s3_store
from tests.cloud.s3_server import BUCKET
from tests.cloud.s3_server import path as _path
from tests.support import calls, tiny
from tests.support.ledgers import entry


def test_the_server_checks_credentials(s3: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    storage.create_once(_path("a"), b"1")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    with pytest.raises(OSError, match="from S3"):
        storage.read(_path("a"))
    with pytest.raises(OSError, match="from S3"):
        storage.create_once(_path("b"), b"1")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    s3_store._let_in.clear()
    with pytest.raises(ConfigurationError, match="there are no AWS credentials"):
        storage.read(_path("a"))


def test_files_are_written_listed_moved_and_deleted(s3: Any) -> None:
    with storage.open_write(_path("a/1")) as file:
        file.write(b"1")
    storage.create_once(_path("a/b/2[x]"), b"22")
    with storage.open_write(_path("empty")):
        pass
    assert storage.read(_path("empty")) == b""
    assert storage.match(_path("a/*")) == [(_path("a/1"), 1)]
    assert sorted(storage.names_below(_path("a"))) == ["1", "b/2[x]"]
    assert storage.names_in(_path("a")) == {"1", "b/"}
    storage.move(_path("a/1"), _path("a/3"))
    assert storage.read(_path("a/3")) == b"1"
    assert not storage.exists(_path("a/1"))
    with pytest.raises(FileNotFoundError):
        storage.read(_path("a/1"))
    storage.delete(_path("a"))
    storage.delete(_path("a"))
    assert storage.first_file_below(_path("a")) is None


def test_all_requests_are_made_by_one_client(s3: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Making one takes more processor time than most requests do."""
    import boto3

    storage.create_once(_path("a"), b"1")
    clients = tiny.counted(monkeypatch, boto3.session.Session, "client")
    with storage.open_write(_path("b")) as file:
        file.write(b"2")
    storage.move(_path("b"), _path("c"))
    assert storage.match(_path("*")) == [(_path("a"), 1), (_path("c"), 1)]
    with storage.open_read(_path("c")) as one, storage.open_read(_path("a")) as other:
        assert one.read() + other.read() == b"21"
    assert clients == []


@pytest.mark.parametrize("name", ["a", "a.gz"])
@pytest.mark.parametrize("compress", [False, True])
def test_a_write_that_fails_before_its_first_byte_leaves_nothing(
    s3: Any, name: str, compress: bool
) -> None:
    def fail() -> None:
        with storage.open_write(_path(name), compress):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    storage.open_write(_path(name), compress)  # and nobody closes it
    gc.collect()
    assert "Contents" not in s3.list_objects_v2(Bucket=BUCKET)
    assert "Uploads" not in s3.list_multipart_uploads(Bucket=BUCKET)
    with storage.open_write(_path(name), compress):
        pass
    with storage.open_read(_path(name), decompress=True) as file:
        assert file.read() == b""


def test_a_ledger_takes_each_line_once_and_keeps_its_cap(s3: Any) -> None:
    path = _path("ledger")

    def begin(number: int) -> str:
        return ledger.begin(path, entry(str(number), key=f"k{number}"), 30.0)

    assert sum(calls.at_once(6, 6, begin)) == 3
    assert ledger.spent(ledger.read(path), "notes") == (30.0, 0)


def test_a_store_that_ignores_conditions_is_refused(
    s3: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Careless:
        def put_object(self, IfNoneMatch: str, **written: Any) -> None:  # noqa: N803
            s3.put_object(**written)

        def delete_object(self, **named: Any) -> None:
            s3.delete_object(**named)

    monkeypatch.setattr(s3_store, "_client", Careless)
    with pytest.raises(OSError, match="writes over objects although it is asked not to"):
        storage.create_once(_path("x"), b"1")
    monkeypatch.undo()
    assert "Contents" not in s3.list_objects_v2(Bucket=BUCKET)


@pytest.mark.slow
def test_a_release_from_s3_to_s3(uri: str, s3: Any, tmp_path: Path) -> None:
    """The job as a program, its ledger there too; it is what a local run releases."""
    records = [{"id": f"d{i}", "text": text} for i, text in enumerate(tiny.texts(20))]
    corpus = tiny.write_jsonl(tmp_path / "in.jsonl", records)
    key = tmp_path / "key"
    key.write_text(tiny.KEY.hex())
    storage.copy(str(corpus), _path("in/a.jsonl"))
    done = tiny.program(
        uri,
        _path("in/*.jsonl"),
        _path("out"),
        f"--key_uri={key}",
        f"--ledger={_path('ledger')}",
        "--corpus_id=notes",
        "--num_shards=1",
    )
    assert done.returncode == 0, done.stderr[-2000:]
    release = manifest.verify(_path("out"))
    tiny.run(uri, corpus, tmp_path / "out", f"--key_uri={key}", "--num_shards=1")
    [shard] = release["shards"]
    assert (
        storage.read(_path(f"out/{shard['name']}"))
        == next((tmp_path / "out").glob("part-*")).read_bytes()
    )
    assert [line.state for line in ledger.read(_path("ledger"))] == ["begun", "released"]
    again = tiny.program(uri, _path("in/*.jsonl"), _path("out"))
    assert again.returncode == 2
    assert "is not empty" in again.stderr
