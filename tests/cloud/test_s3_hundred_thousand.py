"""A hundred thousand records in each format, from S3 to S3, read by boto3 and other readers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cloud.s3_server import BUCKET, path
from tests.support import large_corpora, tiny


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", large_corpora.WRITE)
def test_every_record_is_released_once(uri: str, s3: Any, kind: str) -> None:
    """By the job as a program; its claim, ledger and metrics are on S3, too."""
    rows = large_corpora.records()
    for name, content in large_corpora.files(rows, kind).items():
        s3.put_object(Bucket=BUCKET, Key=f"in/{name}", Body=content)
    for file in Path(uri).iterdir():
        s3.upload_file(str(file), BUCKET, f"vocabulary/{file.name}")
    flags = [*large_corpora.flags(kind), f"--output_format={kind}", f"--ledger={path('ledger')}"]
    done = tiny.program(path("vocabulary"), path("in/*"), path("out"), "--corpus_id=c", *flags)
    assert done.returncode == 0, done.stderr[-2000:]
    shards = {}
    for entry in s3.list_objects_v2(Bucket=BUCKET, Prefix="out/part-")["Contents"]:
        shards[entry["Key"]] = s3.get_object(Bucket=BUCKET, Key=entry["Key"])["Body"].read()
    large_corpora.check(kind, rows, shards)
    assert s3.get_object(Bucket=BUCKET, Key="ledger")["Body"].read().count(b"\n") == 2
