"""bq://: tables that differ in texts look alike, and no raw word is in any file, request or log.

The tables differ in one word of one text. Compared are what the program prints (but for names of
runs, times, digests and the share of unchanged words), what is in release.json but what noise
covers, each row's id, kept fields and number of words, and what is asked of BigQuery.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from pipelines.sanitize import sanitize
from tests.cloud.bigquery_tables import DATASET, PROJECT, column
from tests.cloud.twins import DRAWN, KEYED, SHARE, secrets
from tests.support import tiny

SECRETS = secrets(20)
COLUMNS = [column("id", "STRING"), column("text", "STRING"), column("stars", "INTEGER")]


TARGET = f"{PROJECT}.{DATASET}.released"
OUTPUT_TABLE = f"--output_table=bq://{TARGET}"


def _requests(bigquery: Any) -> tuple[set[bytes], list[Any]]:
    """What was asked, but for names that are drawn, and how rows were loaded, but for the rows."""
    asked = {
        re.sub(rb"[0-9a-f]{32,64}", b"", each)
        for each in bigquery.requests
        if b"/upload/" not in each
    }
    loads = [job["configuration"]["load"] for job in bigquery.jobs.values()]
    for load in loads:
        del load["destinationTableProperties"]  # the digest of release.json
    return asked, loads


@pytest.mark.parametrize("mode", [(), ("--bag_of_words=4", "--stop_words=none")])
def test_twins_look_alike(
    bigquery: Any,
    uri: str,
    key: str,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    mode: tuple[str, ...],
) -> None:
    seen = []
    for number, word in enumerate(("w1", "strange" * 30)):
        bigquery.reset()
        texts = ["w5, w6!", f"the {word}, ran", "", "w7 w8 w9"]
        rows = [{"id": f"d{i}", "text": text, "stars": i} for i, text in enumerate(texts)]
        source = bigquery.put("reviews", COLUMNS, rows)
        output = tmp_path / str(number) / "out"
        flags = (*mode, key, "--keep_fields=stars", "--num_shards=1", OUTPUT_TABLE)
        sanitize(tiny.arguments(uri, source, output, flags))
        release = json.loads((output / "release.json").read_text())
        for name in KEYED:
            release.pop(name, None)
        [shard] = output.glob("part-*")
        released = pq.read_table(shard)
        shown = sorted((r["id"], r["stars"], len(r["text"].split())) for r in released.to_pylist())
        said = capfd.readouterr().out.replace(str(output), "OUT")
        seen.append(
            (
                re.sub(f"{SHARE}|{DRAWN}", "", said),
                release,
                released.schema,
                shown,
                bigquery.tables[TARGET].columns,
                _requests(bigquery),
            )
        )
    assert seen[0] == seen[1]


def _leaked(content: bytes) -> set[str]:
    return {secret for secret in SECRETS if secret.encode() in content.lower()}


def test_no_raw_word_is_in_a_file_a_request_or_a_log(
    bigquery: Any, uri: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a run with rows that are rejected, one way or another."""
    rows = [{"id": f"d{n}", "text": " ".join(SECRETS[n : n + 3])} for n in range(17)]
    rows += [
        {"id": None, "text": SECRETS[17]},
        {"id": "d1", "text": SECRETS[18]},
        {"id": "x", "text": f"{SECRETS[19]}\0"},
    ]
    source = bigquery.put("reviews", COLUMNS[:2], rows)
    bigquery.block_rows, bigquery.broken, bigquery.unavailable = 5, 1, 1
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    flags = (OUTPUT_TABLE, f"--metrics_output={tmp_path}/metrics", "--epsilon=0.1")
    done = tiny.program(uri, source, tmp_path / "out", *flags)
    assert done.returncode == 0, done.stderr
    assert not _leaked(str(bigquery.tables[TARGET].rows.to_pylist()).encode())
    assert not _leaked(str(bigquery.jobs).encode())
    assert not _leaked((done.stdout + done.stderr).encode())
    assert (tmp_path / "metrics" / "dead_letters.jsonl").stat().st_size
    assert not _leaked(b"".join(bigquery.requests))
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert not any(_leaked(file.read_bytes()) for file in files)
    assert not any(_leaked(tiny.told(file).encode()) for file in files if file.suffix == ".parquet")
