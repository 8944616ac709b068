"""A hundred thousand records in each format, from files to files, read by other readers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import large_corpora, tiny


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", large_corpora.WRITE)
def test_every_record_is_released_once(uri: str, tmp_path: Path, kind: str) -> None:
    rows = large_corpora.records()
    (tmp_path / "in").mkdir()
    for name, content in large_corpora.files(rows, kind).items():
        (tmp_path / "in" / name).write_bytes(content)
    packed = [] if kind == "parquet" else ["--compression=gzip"]
    flags = [*large_corpora.flags(kind), f"--output_format={kind}", *packed]
    release = tiny.run(uri, f"{tmp_path}/in/*", tmp_path / "out", *flags)
    assert release["documents_out"] == large_corpora.RECORDS
    shards = {path.name: path.read_bytes() for path in (tmp_path / "out").glob("part-*")}
    large_corpora.check(kind, rows, shards)
