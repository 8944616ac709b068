"""No raw word leaves a run by any way but the mechanism.

A corpus of secrets, random strings that no vocabulary holds, goes through a normal run and through
every error path. Then all that was written anywhere (shards, metrics, dead letters, manifest,
temporary files), printed or logged is searched for any of them.
"""

from __future__ import annotations

import gzip
import json
import logging
import random
import string
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from dxbeam.errors import DxbeamError
from dxbeam.mechanisms.laplace import Laplace
from pipelines.sanitize import sanitize
from tests.support import tiny

_RANDOM = random.Random(5)
ALLOWED = ("--allow_unreadable_files", "--largest_document=5000")
SECRETS = ["".join(_RANDOM.choices(string.ascii_letters, k=12)) for _ in range(300)]


@pytest.fixture
def corpus(tmp_path: Path) -> str:
    """Files with good and with bad records of every kind, all of secrets."""
    folder = tmp_path / "in"
    secret = iter(SECRETS)

    def text() -> str:
        return " ".join(next(secret) for _ in range(6))

    records = [
        *({"id": f"doc{i}", "text": f"{text()}, W{i}"} for i in range(10)),
        {"id": "twice", "text": text()},
        {"id": "twice", "text": text()},
        f'{{"id": "x", "text": "{text()}'.encode(),
        f'["{text()}"]'.encode(),
        text().encode(),
        {"id": "y", "body": text()},
        {"id": "z", "text": [text()]},
        {"id": {"inner": text()}, "text": text()},
        b'{"id": "u", "text": "' + text().encode() + b'\xff"}',
        f'{{"id": "v", "text": "{text()} \\u0000"}}'.encode(),
        f'{{"id": "w", "text": "{text()} \\ud800"}}'.encode(),
        {"id": "long", "text": " ".join([text()] * 200)},
    ]
    lines = tiny.write_jsonl(folder / "a.jsonl", records).read_bytes()
    packed = gzip.compress(lines * 50)
    (folder / "cut.jsonl.gz").write_bytes(packed[: len(packed) // 2])
    return f"{folder}/*"


def _found(content: bytes) -> set[str]:
    lowered = content.lower()
    return {secret for secret in SECRETS if secret.lower().encode() in lowered}


def _leaks(folder: Path, *but: Path) -> dict[str, set[str]]:
    """Secrets in names and contents of the files below a folder, packed ones unpacked."""
    leaks = {}
    for path in folder.rglob("*"):
        if any(path.is_relative_to(other) for other in but) or not path.is_file():
            continue
        content = path.read_bytes()
        if path.suffix == ".gz":
            content += gzip.decompress(content)
        if path.suffix == ".zst":
            content += zstandard.ZstdDecompressor().stream_reader(content).read()
        if path.suffix == ".parquet":
            content += json.dumps(pq.read_table(path).to_pylist()).encode()
        if found := _found(content + str(path).encode()):
            leaks[str(path)] = found
    return leaks


@pytest.fixture
def in_fresh_tmpdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return temporary


@pytest.mark.parametrize(
    "flags",
    [
        ("--unknown_words=mask", "--allow_unsound", "--output_format=parquet"),
        ("--unknown_words=drop", "--allow_unsound", "--compression=gzip", "--num_shards=2"),
        ("--bag_of_words=20", "--stop_words=none"),
        ("--mechanism=fluent", "--language_model=demo", "--rank_c=0.05"),
    ],
    ids=["mask", "drop", "bag", "fluent"],
)
@pytest.mark.usefixtures("in_fresh_tmpdir")
def test_no_secret_leaves_a_run(
    uri: str, corpus: str, tmp_path: Path, capfd: Any, caplog: Any, flags: tuple[str, ...]
) -> None:
    with caplog.at_level(logging.INFO):
        uri = "demo" if "--language_model=demo" in flags else uri
        tiny.run(uri, corpus, tmp_path / "out", *ALLOWED, *flags)
    assert len(tiny.dead_letters(tmp_path / "out")) == 12
    printed = capfd.readouterr()
    assert not _found((caplog.text + printed.out + printed.err).encode())
    assert not _leaks(tmp_path, tmp_path / "in")


@pytest.mark.parametrize(
    "flags",
    [
        ("--direct_running_mode=multi_processing", "--direct_num_workers=1"),
        ("--rank_c=0.05", "--compression=zstd", "--direct_runner_bundle_repeat=1"),
    ],
    ids=["processes", "resampled"],
)
def test_no_secret_leaves_a_program(
    uri: str, corpus: str, tmp_path: Path, in_fresh_tmpdir: Path, flags: tuple[str, ...]
) -> None:
    output = tmp_path / "out"
    finished = tiny.program(uri, corpus, output, *ALLOWED, *flags)
    assert finished.returncode == 0, finished.stderr
    assert len(tiny.dead_letters(output)) == 12
    assert not _found((finished.stdout + finished.stderr).encode())
    assert not _leaks(tmp_path, tmp_path / "in")


@pytest.mark.parametrize(
    "flags",
    [("--unknown_words=keep", "--allow_unsound"), ("--bag_of_words=20", "--stop_words=none")],
    ids=["keep", "bag"],
)
@pytest.mark.usefixtures("in_fresh_tmpdir")
def test_no_secret_is_in_a_plan(
    uri: str, corpus: str, tmp_path: Path, capfd: Any, caplog: Any, flags: tuple[str, ...]
) -> None:
    """Though a sample of them is sanitized, and next to texts that cannot be."""
    sample = f"--input={Path(corpus).parent}/a.jsonl"
    given = [f"--vocabulary={uri}", f"--output={tmp_path}/out", "--epsilon=5", "--dry_run"]
    with caplog.at_level(logging.DEBUG, logger="dxbeam"):
        sanitize([sample, *given, *flags])
    printed = capfd.readouterr()
    assert "Expected, measured on a sample of the corpus" in printed.out
    assert not _found((caplog.text + printed.out + printed.err).encode())
    assert not _leaks(tmp_path, tmp_path / "in")


def test_the_search_finds_what_is_kept_on_purpose(uri: str, corpus: str, tmp_path: Path) -> None:
    for number, flags in enumerate(
        [("--compression=gzip",), ("--compression=zstd",), ("--output_format=parquet",)]
    ):
        kept = ("--unknown_words=keep", "--allow_unsound")
        tiny.run(uri, corpus, tmp_path / f"out{number}", *ALLOWED, *kept, *flags)
        leaks = _leaks(tmp_path / f"out{number}")
        assert set().union(*leaks.values()) >= set(SECRETS[:60])


def test_no_secret_is_in_logs_even_at_their_most_talkative(
    uri: str,
    corpus: str,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    with caplog.at_level(logging.DEBUG, logger="dxbeam"):
        tiny.run(uri, corpus, tmp_path / "out", *ALLOWED)
    printed = capfd.readouterr()
    assert not _found((caplog.text + printed.out + printed.err).encode())


@pytest.mark.parametrize("error", [RuntimeError("broken"), DxbeamError("broken")])
def test_no_secret_is_in_what_a_crash_leaves(
    uri: str,
    corpus: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    error: Exception,
) -> None:
    def crash(*_: object) -> None:
        raise error

    monkeypatch.setattr(Laplace, "release", crash)
    with pytest.raises(Exception, match="broken") as crashed:
        tiny.run(uri, corpus, tmp_path / "out", *ALLOWED)
    printed = capfd.readouterr()
    assert not _found((str(crashed.value) + caplog.text + printed.out + printed.err).encode())
    assert not _leaks(tmp_path, tmp_path / "in")
    assert not any(path.is_file() for path in (tmp_path / "out").rglob("*"))


def test_a_crash_within_parquet_leaves_nothing_either(uri: str, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    table = pa.table({"id": [str(i) for i in range(100)], "text": SECRETS[:100]})
    pq.write_table(table, tmp_path / "in" / "a.parquet", row_group_size=10, compression="none")
    content = bytearray((tmp_path / "in" / "a.parquet").read_bytes())
    content[200:400] = bytes(200)
    (tmp_path / "in" / "b.parquet").write_bytes(content)
    flags = ("--input_format=parquet", "--allow_unreadable_files")
    tiny.run(uri, f"{tmp_path}/in/*", tmp_path / "out", *flags)
    assert not _leaks(tmp_path, tmp_path / "in")


@pytest.mark.parametrize("flag", ["--largest_document=5000", "--max_dead_letters=3"])
def test_no_secret_is_in_what_a_failed_run_says(
    uri: str, corpus: str, tmp_path: Path, in_fresh_tmpdir: Path, flag: str
) -> None:
    """A file that is cut off, and too many dead letters."""
    allowed = [flag] if flag.startswith("--largest") else [flag, *ALLOWED]
    finished = tiny.program(uri, corpus, tmp_path / "out", *allowed)
    assert finished.returncode == 1
    [said] = [line for line in finished.stderr.splitlines() if line.startswith("dxbeam: ")]
    assert "nothing is released" in said
    assert not _found((finished.stdout + finished.stderr).encode())
    assert not _leaks(tmp_path, tmp_path / "in")
    assert not any(path.is_file() for path in (tmp_path / "out").rglob("*"))
