"""Bad input: refused in one sentence before work starts, or sent to the dead letters.

Covered: records (JSON, fields, encoding, null bytes, length, duplicate ids), files (missing, empty,
truncated, of the wrong schema), parameters, artifacts, output prefixes, keys, and a disk that fills
up.
"""

from __future__ import annotations

import errno
import gzip
import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from dxbeam import storage
from dxbeam.corpus.settings import Division
from dxbeam.errors import DxbeamError, RunError
from tests.support import tiny

GOOD = [{"id": "a", "text": "w1 w2"}, {"id": "b", "text": "w3"}]


NO_RECORDS: list[tuple[dict[str, Any] | bytes, str]] = [
    (b'{"id": "x", "text": "secret', "not valid JSON"),
    (b"[" * 100_000, "not valid JSON"),
    (b'["secret"]', "not a JSON object"),
    ({"id": "x"}, "no field 'text'"),
    ({"id": "x", "text": None}, "no field 'text'"),
    ({"id": "x", "text": 7}, "not a string"),
    ({"id": ["secret"], "text": "w1"}, "neither a string nor an integer"),
    (b'{"id": "x", "text": "secret \xff"}', "not valid UTF-8 at byte 28"),
    (b'{"id": "x", "text": "sec\x00ret"}', "not valid JSON"),
    (b'{"id": "x", "text": "sec\\u0000ret"}', "null byte"),
    (b'{"id": "x", "text": "secret \\ud800"}', "surrogate"),
]
TOO_LONG: list[tuple[dict[str, Any] | bytes, str]] = [
    ({"id": "x", "text": "secret " * 100}, "longer than 500 bytes")
]


@pytest.mark.parametrize(
    ("records", "largest"), [(NO_RECORDS, 1_000_000), (TOO_LONG, 500)], ids=["none", "too long"]
)
def test_records_that_cannot_be_used_go_to_the_dead_letters(
    uri: str, tmp_path: Path, records: list[tuple[dict[str, Any] | bytes, str]], largest: int
) -> None:
    lines = [GOOD[0], *(record for record, _ in records), GOOD[1]]
    corpus = tiny.write_jsonl(tmp_path / "corpus.jsonl", lines)
    release = tiny.run(uri, corpus, tmp_path / "out", f"--largest_document={largest}")
    assert set(tiny.released(tmp_path / "out")) == {"a", "b"}
    letters = {letter["where"]: letter for letter in tiny.dead_letters(tmp_path / "out")}
    assert set(letters) == {f"corpus.jsonl:{line}" for line in range(2, len(lines))}
    for line, (_, reason) in enumerate(records, 2):
        assert reason in letters[f"corpus.jsonl:{line}"]["reason"]
    assert "secret" not in json.dumps(letters)
    counts = release["documents_in"], release["documents_out"], release["dead_letters"]
    assert counts == (len(lines), 2, len(records))


@pytest.mark.parametrize("megabytes", [3, pytest.param(50, marks=pytest.mark.exhaustive)])
def test_a_long_document_on_one_line(uri: str, tmp_path: Path, megabytes: int) -> None:
    """Longer than the pieces that a file is read in."""
    word = "w7" + "x" * 4998  # long words: the length is what is tried, not the patience
    text = f"{word} " * (200 * megabytes)
    corpus = tiny.write_jsonl(tmp_path / "c.jsonl", [{"id": "a", "text": text}])
    assert corpus.stat().st_size > megabytes * 1_000_000 > 2 * Division().split_bytes
    assert tiny.run(uri, corpus, tmp_path / "out")["tokens"] == 200 * megabytes


def test_an_id_twice_rejects_all_of_its_records_whatever_the_texts_are(
    uri: str, tmp_path: Path
) -> None:
    first = [{"id": f"a{i}", "text": "w1 w2"} for i in range(4)]
    again = [
        {"id": f"a{i}", "text": text} for i, text in enumerate(["w9", first[1]["text"], "\0", 7])
    ]
    corpus = tiny.write_jsonl(tmp_path / "c.jsonl", [*first, GOOD[1], *again])
    release = tiny.run(uri, corpus, tmp_path / "out")
    assert set(tiny.released(tmp_path / "out")) == {"b"}
    letters = sorted(letter["where"] for letter in tiny.dead_letters(tmp_path / "out"))
    assert letters == [f"c.jsonl:{line}" for line in range(1, 10) if line != 5]
    assert (release["documents_in"], release["documents_out"]) == (9, 1)


def _with_unreadable_files(folder: Path, kind: str) -> tuple[str, tuple[str, ...], set[str]]:
    """A corpus of GOOD and of files that cannot be read: glob, flags, names of those."""
    (folder / "in").mkdir()
    if kind == "parquet":
        table = pa.table({name: [record[name] for record in GOOD] for name in ("id", "text")})
        pq.write_table(table, folder / "in" / "1.parquet")
        pq.write_table(table.rename_columns(["id", "body"]), folder / "in" / "2.parquet")
        whole = (folder / "in" / "1.parquet").read_bytes()
        (folder / "in" / "3.parquet").write_bytes(whole[:-9])
        flags = ("--input_format=parquet", "--output_format=jsonl")
        return f"{folder}/in/*", flags, {"2.parquet", "3.parquet"}
    many = tiny.write_jsonl(
        folder / "plain", ({"id": str(i), "text": f"w{i % 300} {i * i}"} for i in range(5_000))
    ).read_bytes()
    packed = gzip.compress(many) if kind == ".gz" else zstandard.compress(many)
    (folder / "in" / f"cut.jsonl{kind}").write_bytes(packed[: len(packed) * 2 // 3])
    tiny.write_jsonl(folder / "in" / "good.jsonl", GOOD)
    return f"{folder}/in/*", (), {f"cut.jsonl{kind}"}


@pytest.mark.parametrize("kind", [".gz", ".zst", "parquet"])
def test_a_file_that_cannot_be_read_to_its_end_fails_the_run(
    uri: str, tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pattern, flags, unreadable = _with_unreadable_files(tmp_path, kind)
    with pytest.raises(RunError, match="nothing is released") as failed:
        tiny.run(uri, pattern, tmp_path / "out", *flags)
    assert not _contents(tmp_path / "out")
    assert all(f"{name}: " in str(failed.value) for name in unreadable)
    release = tiny.run(uri, pattern, tmp_path / "two", *flags, "--allow_unreadable_files")
    assert set(tiny.released(tmp_path / "two")) == {"a", "b"}, "nothing of what is damaged"
    assert (release["documents_in"], release["dead_letters"]) == (2, 0), "counts are of records"
    assert {file["file"] for file in release["unreadable_files"]} == unreadable
    assert all(file["reason"] for file in release["unreadable_files"])
    counts = json.loads((tmp_path / "two-metrics" / "metrics.json").read_text())
    assert counts["unreadable_files"] == release["unreadable_files"]
    printed = capsys.readouterr().out
    assert all(f"{name}: " in printed for name in unreadable)
    assert "left out" in printed


def test_an_unreadable_file_is_one_sentence_and_exit_code_1(uri: str, tmp_path: Path) -> None:
    pattern, flags, [name] = _with_unreadable_files(tmp_path, ".gz")
    finished = tiny.program(uri, pattern, tmp_path / "out", *flags)
    assert finished.returncode == 1
    assert "Traceback" not in finished.stderr
    [line] = [line for line in finished.stderr.splitlines() if line.startswith("dxbeam")]
    assert f"1 file could not be read ({name}: " in line


def test_zeros_after_a_packed_file_lose_no_document(uri: str, tmp_path: Path) -> None:
    records = [{"id": str(i), "text": f"w{i}"} for i in range(24)]
    plain = tiny.write_jsonl(tmp_path / "plain", records)
    (tmp_path / "c.jsonl.gz").write_bytes(gzip.compress(plain.read_bytes()) + bytes(512))
    assert tiny.run(uri, tmp_path / "c.jsonl.gz", tmp_path / "out")["documents_out"] == 24


@pytest.mark.parametrize(
    ("cap", "passes"), [("1", True), ("34%", True), ("0", False), ("33%", False)]
)
def test_a_cap_on_dead_letters(uri: str, tmp_path: Path, cap: str, passes: bool) -> None:
    corpus = tiny.write_jsonl(tmp_path / "c.jsonl", [*GOOD, {"id": "c"}])
    if passes:
        tiny.run(uri, corpus, tmp_path / "out", f"--max_dead_letters={cap}")
        return
    with pytest.raises(RunError, match="1 of 3 records went to the dead letters"):
        tiny.run(uri, corpus, tmp_path / "out", f"--max_dead_letters={cap}")
    assert not _contents(tmp_path / "out")
    assert len(tiny.dead_letters(tmp_path / "out")) == 1, "they say what was wrong"


def test_a_corpus_named_with_its_scheme(uri: str, tmp_path: Path) -> None:
    tiny.write_jsonl(tmp_path / "c.jsonl", GOOD)
    tiny.run(uri, f"file://{tmp_path}/*.jsonl", tmp_path / "out", "--keep_fields=")
    assert set(tiny.released(tmp_path / "out")) == {"a", "b"}


def test_a_job_does_not_read_its_own_files(uri: str, tmp_path: Path) -> None:
    tiny.write_jsonl(tmp_path / "in" / "c.jsonl", GOOD)
    said = _refusal(uri, f"{tmp_path}/in/**", tmp_path / "in" / "rel")
    assert "takes in what the job itself writes" in said
    metrics = f"--metrics_output={tmp_path / 'in' / 'metrics'}"
    said = _refusal(uri, f"{tmp_path}/in/**", tmp_path / "out", metrics)
    assert "takes in what the job itself writes" in said


def test_the_raw_text_does_not_come_out_under_another_name(uri: str, tmp_path: Path) -> None:
    """A kept field called text stood in the place of the sanitized one."""
    record = {"id": "a", "body": "w1 secret", "text": "w1 secret", "key": "k"}
    corpus, out = tiny.write_jsonl(tmp_path / "c.jsonl", [record]), tmp_path / "out"
    assert "its own field with this name" in _refusal(
        uri, corpus, out, "--text_field=body", "--keep_fields=text"
    )
    assert "its own field with this name" in _refusal(
        uri, corpus, out, "--id_field=key", "--keep_fields=id"
    )
    assert "id_field names" in _refusal(uri, corpus, out, "--id_field=text")
    assert "group_by names" in _refusal(uri, corpus, out, "--group_by=text")
    assert "never kept" in _refusal(uri, corpus, out, "--keep_fields=key, text")
    assert "has a field 'body2'" in _refusal(uri, corpus, out, "--keep_fields=key, body2")
    tiny.run(uri, corpus, out, "--keep_fields=key, body")
    [line] = [line for shard in out.glob("part-*") for line in shard.open()]
    assert list(json.loads(line)) == ["id", "text", "key", "body"]


def _refuse_below(folder: Path) -> Callable[[str], BinaryIO]:
    """Opens every file but those below a folder."""
    open_read = storage.open_read

    def opened(path: str) -> BinaryIO:
        if str(folder) in path:
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return open_read(path)

    return opened


def _refusal(uri: str, corpus: Path | str, output: Path, *flags: str) -> str:
    before = _contents(output.parent)
    with pytest.raises(DxbeamError) as refusal:
        tiny.run(uri, corpus, output, *flags)
    assert not (output / "release.json").exists()
    assert _contents(output.parent) == before, "a refused run leaves nothing behind"
    return str(refusal.value)


def _contents(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("flag", "said"),
    [
        ("--epsilon=0", "epsilon must be a positive"),
        ("--epsilon=-1", "epsilon must be a positive"),
        ("--epsilon=nan", "is not a number"),
        ("--epsilon=inf", "epsilon must be a positive"),
        ("--epsilon=1e-9", "only noise"),
        ("--epsilon=1e9", "the original text"),
        ("--epsilon=many", "is not a number"),
        ("--rank_c=-0.1", "rank_c must be a positive"),
        ("--rank_c=0", "rank_c must be a positive"),
        ("--rank_c=nan", "is not a number"),
        ("--rank_c=1e-300", "rank_c must be a positive"),
        ("--epsilom=5", "did you mean --epsilon?"),
        ("--mechanism=magic", "no such mechanism"),
        ("--unknown_words=publish", "unknown_words is one of"),
        ("--input_format=xml", "--input_format is one of"),
        ("--keep_fields=text", "never"),
        ("--metrics_output=OUT/metrics", "is within --output"),
        ("--key_uri=/nowhere/key", "cannot be read"),
        ("--key_uri=env:DXBEAM_NO_SUCH", "not set"),
        ("--bag_of_words=0", "not a whole number from 1"),
        ("--bag_of_words=many", "not a whole number from 1"),
        ("--stop_words=none", "only of use with --bag_of_words"),
        ("--repair_model=m", "--repair_endpoint is needed"),
        ("--repair_endpoint=http://localhost/v1", "--repair_model is needed"),
        ("--config=/nowhere.yaml", "cannot be read"),
        ("--output_format=docx", "--output_format is one of"),
        ("--compression=rar", "--compression is one of"),
        ("--largest_document=0", "not a whole number from 1"),
        ("--largest_document=-7", "not a whole number from 1"),
        ("--max_dead_letters=few", "max_dead_letters few"),
        ("--max_dead_letters=-1", "max_dead_letters -1"),
        ("--document_per=file", "is for --input_format text"),
        ("--input_format=text", "use --input_format jsonl"),
        ("--num_shards=-1", "not a whole number from 1"),
        ("--runtime_type_check", "quotes elements"),
        ("--experiments=enable_data_sampling", "shows elements"),
    ],
)
def test_flags_that_cannot_be_used(uri: str, tmp_path: Path, flag: str, said: str) -> None:
    corpus = tiny.write_jsonl(tmp_path / "c.jsonl", GOOD)
    flag = flag.replace("OUT", str(tmp_path / "out"))
    assert said in _refusal(uri, corpus, tmp_path / "out", flag)


@pytest.mark.parametrize("content", [b"short", bytes(32), b"0" * 64], ids=["short", "0", "hex 0"])
def test_a_key_that_is_none(uri: str, tmp_path: Path, content: bytes) -> None:
    corpus = tiny.write_jsonl(tmp_path / "c.jsonl", GOOD)
    (tmp_path / "key").write_bytes(content)
    said = _refusal(uri, corpus, tmp_path / "out", f"--key_uri={tmp_path / 'key'}")
    assert "key" in said
    assert "0000" not in said


def test_corpora_that_cannot_be_read(
    uri: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    assert "no file matches" in _refusal(uri, f"{tmp_path}/*.nothing", out)
    (tmp_path / "empty.jsonl").touch()
    assert "the corpus is empty" in _refusal(uri, tmp_path / "empty.jsonl", out)
    (tmp_path / "in").mkdir()
    tiny.write_jsonl(tmp_path / "in" / "good.jsonl", GOOD)
    with monkeypatch.context() as patch:  # file modes would not stop root
        patch.setattr(storage, "open_read", _refuse_below(tmp_path / "in"))
        assert "good.jsonl cannot be read" in _refusal(uri, f"{tmp_path}/in/*", out)
    pq.write_table(pa.table({"body": ["w1"]}), tmp_path / "a.parquet")
    said = _refusal(uri, tmp_path / "a.parquet", out, "--input_format=parquet")
    assert "no column 'text'" in said
    pq.write_table(pa.table({"text": [1]}), tmp_path / "b.parquet")
    said = _refusal(uri, tmp_path / "b.parquet", out, "--input_format=parquet")
    assert "holds int64, not strings" in said


def test_a_corpus_without_one_document_is_no_release(uri: str, tmp_path: Path) -> None:
    (tmp_path / "blank.jsonl").write_text("\n\n\n")
    with pytest.raises(DxbeamError, match=r"blank\.jsonl holds none"):
        tiny.run(uri, tmp_path / "blank.jsonl", tmp_path / "out")
    assert not _contents(tmp_path / "out")
    corpus = tiny.write_jsonl(tmp_path / "c.jsonl", [{"id": ["a"], "text": "w1"}])
    with pytest.raises(DxbeamError) as refusal:
        tiny.run(uri, corpus, tmp_path / "out2")
    [letters] = (tmp_path / "out2-metrics").iterdir()
    assert str(refusal.value) == (
        "no document could be released: 1 records were rejected, most often because: "
        "the field 'id' is neither a string nor an integer; "
        f"{letters} says where in {corpus} and why"
    )
    assert not _contents(tmp_path / "out2")
    assert len(tiny.dead_letters(tmp_path / "out2")) == 1, "they say what was wrong"


def test_artifacts_that_are_missing_newer_truncated_or_damaged(uri: str, tmp_path: Path) -> None:
    corpus, out = tiny.write_jsonl(tmp_path / "c.jsonl", GOOD), tmp_path / "out"
    assert "no vocabulary here" in _refusal(str(tmp_path / "none"), corpus, out)
    for number, name in enumerate(sorted(path.name for path in Path(uri).iterdir())):
        damaged = tmp_path / f"flipped{number}"
        shutil.copytree(uri, damaged)
        content = bytearray((damaged / name).read_bytes())
        content[len(content) // 2] ^= 1
        (damaged / name).write_bytes(content)
        assert "damaged" in _refusal(str(damaged), corpus, out), name
        (damaged / name).write_bytes(content[:-5])
        said = _refusal(str(damaged), corpus, out)
        assert "bytes where the manifest says" in said or "damaged" in said
        (damaged / name).unlink()
        assert "build" in _refusal(str(damaged), corpus, out)
    newer = tmp_path / "newer"
    shutil.copytree(uri, newer)
    manifest = json.loads((newer / "manifest.json").read_text())
    (newer / "manifest.json").write_text(json.dumps({**manifest, "version": 3}))
    assert "format version 3" in _refusal(str(newer), corpus, out)


def test_an_output_that_is_not_empty_is_left_alone(uri: str, tmp_path: Path) -> None:
    corpus = tiny.write_jsonl(tmp_path / "c.jsonl", GOOD)
    out = tmp_path / "out"
    tiny.run(uri, corpus, out)
    shutil.rmtree(tmp_path / "out-metrics")
    assert "is not empty" in _refusal_keeping(uri, corpus, out)
    (out / "release.json").rename(out / "unfinished-run")
    assert "did not finish" in _refusal_keeping(uri, corpus, out)


def _refusal_keeping(uri: str, corpus: Path, output: Path) -> str:
    before = {path: path.read_bytes() for path in _contents(output)}
    with pytest.raises(DxbeamError) as refusal:
        tiny.run(uri, corpus, output)
    assert {path: path.read_bytes() for path in _contents(output)} == before
    return str(refusal.value)


def test_metrics_of_another_run_are_left_alone(uri: str, tmp_path: Path) -> None:
    corpus = tiny.write_jsonl(tmp_path / "c.jsonl", GOOD)
    tiny.run(uri, corpus, tmp_path / "one", f"--metrics_output={tmp_path / 'metrics'}")
    said = _refusal(uri, corpus, tmp_path / "two", f"--metrics_output={tmp_path / 'metrics'}")
    assert "metrics of another run" in said


def test_a_refusal_is_one_sentence_and_a_non_zero_exit(uri: str, tmp_path: Path) -> None:
    finished = tiny.program(uri, tmp_path / "none.jsonl", tmp_path / "out")
    assert finished.returncode == 2
    assert "Traceback" not in finished.stderr
    # A library may warn of its own on some Python; we say one thing.
    [line] = [line for line in finished.stderr.splitlines() if line.startswith("dxbeam")]
    assert line.startswith("dxbeam: --input")
    assert not finished.stdout


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)]
    if (
        not shutil.which("mount")
        or subprocess.run(mount, check=False, capture_output=True).returncode
    ):
        pytest.skip("mounting a small tmpfs is not permitted here")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def test_a_disk_that_fills_up(uri: str, tmp_path: Path, small_disk: Path) -> None:
    records = [{"id": str(i), "text": "w1 w2 w3 " * 40} for i in range(1000)]
    corpus = tiny.write_jsonl(tmp_path / "c.jsonl", records)
    metrics = f"--metrics_output={tmp_path / 'metrics'}"
    finished = tiny.program(uri, corpus, small_disk / "out", metrics)
    assert finished.returncode == 2
    assert "the disk filled up" in finished.stderr.splitlines()[-1]
    assert "Traceback" not in finished.stderr
    assert not _contents(small_disk), "what was written is cleared away"
    subprocess.run(["mount", "-o", "remount,size=4m", str(small_disk)], check=True)
    assert tiny.run(uri, corpus, small_disk / "out", metrics)["documents_out"] == 1000
