"""A hundred thousand records in each format, from gs:// to gs://, read by Google's client."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cloud import bucket, front
from tests.support import large_corpora, tiny


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", large_corpora.WRITE)
def test_every_record_is_released_once(uri: str, cloud: front.Front, kind: str) -> None:
    """By the job as a program; its claim, ledger and metrics are there, too."""
    place = f"gs://{front.BUCKET}"
    rows = large_corpora.records()
    for name, content in large_corpora.files(rows, kind).items():
        bucket.put(f"in/{name}", content)
    for file in Path(uri).iterdir():
        bucket.put(f"vocabulary/{file.name}", file.read_bytes())
    flags = [*large_corpora.flags(kind), f"--output_format={kind}", f"--ledger={place}/ledger"]
    vocabulary, corpus, output = (f"{place}/{name}" for name in ("vocabulary", "in/*", "out"))
    done = tiny.program(vocabulary, corpus, output, "--corpus_id=c", *flags)
    assert done.returncode == 0, done.stderr[-2000:]
    stored = bucket.client().bucket(front.BUCKET)
    names = bucket.names("out/part-")
    shards = {name: stored.blob(name).download_as_bytes() for name in names}
    large_corpora.check(kind, rows, shards)
    assert stored.blob("ledger").download_as_bytes().count(b"\n") == 2
