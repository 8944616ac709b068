"""From S3 to S3: corpora that differ in texts look alike, and no raw word is in any object or log.

The corpora differ in one word of one text. Compared are the exit code, what the program prints
(but for names of runs, times, digests and the share of unchanged words), the objects' names, what
is in release.json but what noise covers, and each record's id, kept fields and number of words.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from pipelines.sanitize import sanitize
from tests.cloud.s3_server import BUCKET, path
from tests.cloud.twins import DRAWN, KEYED, SHARE, secrets
from tests.support import tiny

SECRETS = secrets(60)

CSV = ("--input_format=csv", "--keep_fields=stars", "--column_types=stars=int64")
MODES = {
    "csv": CSV,
    "csv, by a program": CSV,
    "bags": ("--bag_of_words=4", "--stop_words=none", "--keep_fields=stars"),
    "parquet output": ("--keep_fields=stars", "--output_format=parquet"),
}
TWINS = ("w1", "W299", "strange" * 30)
"""What stands in the one place."""


def _objects(s3: Any, prefix: str = "") -> dict[str, bytes]:
    listed = s3.list_objects_v2(Bucket=BUCKET, Prefix=prefix).get("Contents", [])
    return {
        entry["Key"]: s3.get_object(Bucket=BUCKET, Key=entry["Key"])["Body"].read()
        for entry in listed
    }


def _put_corpus(s3: Any, kind: str, word: str) -> None:
    texts = ["w5, w6!", f"the {word}, ran", "", "w7 w8 w9"]
    if MODES[kind] == CSV:
        rows = "".join(f'd{i},"{text}",{i}\n' for i, text in enumerate(texts))
        content = f"id,text,stars\n{rows}"
    else:
        content = "".join(
            json.dumps({"id": f"d{i}", "text": text, "stars": i}) + "\n"
            for i, text in enumerate(texts)
        )
    s3.put_object(Bucket=BUCKET, Key="in/a", Body=content.encode())


def _records(name: str, content: bytes) -> list[Any]:
    if name.endswith(".parquet"):
        rows = pq.read_table(io.BytesIO(content)).to_pylist()
    elif name.endswith(".csv"):
        rows = list(csv.DictReader(io.StringIO(content.decode(), newline="")))
    else:
        rows = [json.loads(line) for line in content.splitlines()]
    return sorted((row["id"], row["stars"], len(row["text"].split())) for row in rows)


def _public(s3: Any) -> Any:
    """All that a reader of the bucket sees of a release, but what noise covers."""
    objects = _objects(s3, "out/")
    release = json.loads(objects.pop("out/release.json"))
    for name in KEYED:
        release.pop(name, None)
    records = [_records(*item) for item in objects.items() if "part-" in item[0]]
    return release, sorted(re.sub("[0-9a-f]{16}", "", name) for name in objects), records


@pytest.mark.slow
@pytest.mark.parametrize(
    "mode",
    [each if each == "csv" else pytest.param(each, marks=pytest.mark.exhaustive) for each in MODES],
)
def test_twins_look_alike(
    uri: str, s3: Any, key: str, capfd: pytest.CaptureFixture[str], mode: str
) -> None:
    """One mode as a program, with its exit code and its log."""
    seen = []
    for word in TWINS if MODES[mode] != CSV else TWINS[1:]:
        for name in _objects(s3):
            s3.delete_object(Bucket=BUCKET, Key=name)
        _put_corpus(s3, mode, word)
        flags = (*MODES[mode], key, "--num_shards=1")
        if mode == "csv, by a program":
            done = tiny.program(uri, path("in/*"), path("out"), *flags)
            assert done.returncode == 0, done.stderr[-2000:]
            said = done.stdout + done.stderr
        else:
            sanitize(tiny.arguments(uri, path("in/*"), path("out"), flags))
            said = "".join(capfd.readouterr())
        assert "Released 4 documents" in said
        seen.append((re.sub(f"{SHARE}|{DRAWN}", "", said), _public(s3)))
    for other in seen[1:]:
        assert other == seen[0]


def _put_secrets(s3: Any) -> None:
    """Good and bad records; an object of them is cut off."""
    secret = iter(SECRETS)
    records: list[dict[str, Any] | bytes] = [
        *({"id": f"d{i}", "text": f"{next(secret)} {next(secret)}, w{i}"} for i in range(10)),
        f'{{"id": "x", "text": "{next(secret)}'.encode(),
        {"id": "y", "text": [next(secret)]},
        b'{"id": "u", "text": "' + next(secret).encode() + b'\xff"}',
    ]
    lines = b"".join(
        (record if isinstance(record, bytes) else json.dumps(record).encode()) + b"\n"
        for record in records
    )
    s3.put_object(Bucket=BUCKET, Key="in/a.jsonl", Body=lines)
    packed = gzip.compress(" ".join(SECRETS).encode() * 50)
    s3.put_object(Bucket=BUCKET, Key="in/cut.jsonl.gz", Body=packed[: len(packed) // 2])


def _leaked(content: bytes) -> set[str]:
    return {secret for secret in SECRETS if secret.encode() in content.lower()}


@pytest.mark.slow
@pytest.mark.parametrize(
    "flag",
    ["--allow_unreadable_files", pytest.param("--epsilon=4", marks=pytest.mark.exhaustive)],
    ids=["released", "failed"],
)
def test_no_raw_word_is_in_an_object_or_a_log(
    uri: str, s3: Any, s3_log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flag: str
) -> None:
    """Of a run that releases, and of one that fails as a file is cut off."""
    _put_secrets(s3)
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    flags = (flag, "--compression=gzip", f"--metrics_output={path('metrics')}")
    done = tiny.program(uri, path("in/*"), path("out"), *flags)
    assert done.returncode == (0 if flag == "--allow_unreadable_files" else 1), done.stderr
    assert not _leaked((done.stdout + done.stderr).encode())
    assert not _leaked(s3_log.read_bytes())
    objects = {
        name: gzip.decompress(content) if name.endswith(".gz") else content
        for name, content in _objects(s3).items()
        if not name.startswith("in/")
    }
    if done.returncode == 0:
        assert any(name.startswith("metrics/dead_letters") for name in objects)
    assert not any(_leaked(content + name.encode()) for name, content in objects.items())
    assert not any(_leaked(file.read_bytes()) for file in tmp_path.rglob("*") if file.is_file())
    assert ("out/release.json" in objects) == (done.returncode == 0)
    assert "Uploads" not in s3.list_multipart_uploads(Bucket=BUCKET)
