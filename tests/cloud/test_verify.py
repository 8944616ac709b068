"""dxbeam verify and dxbeam ledger on Cloud Storage."""

from __future__ import annotations

from pathlib import Path

import pytest

from dxbeam import storage
from dxbeam.errors import DamagedReleaseError, OutputError
from dxbeam.release import ledger
from dxbeam.release.verification.verify import verify_release
from pipelines.ledger import show_ledger
from tests.cloud.bucket import client, put
from tests.cloud.front import BUCKET, Front
from tests.support import tiny
from tests.support.ledgers import released


@pytest.mark.parametrize("flag", ["--output_format=parquet", "--compression=zstd"])
def test_a_release_in_a_bucket_is_checked(cloud: Front, flag: str, tmp_path: Path) -> None:
    uri = tiny.write_artifact(tmp_path / "vocabulary")
    corpus = tiny.write_jsonl(tmp_path / "corpus.jsonl", [{"id": "a", "text": "w1 w2"}])
    tiny.run(uri, corpus, tmp_path / "out", flag)
    prefix = f"gs://{BUCKET}/rel[1]"
    with pytest.raises(OutputError, match="there is no whole release") as refusal:
        verify_release(prefix)
    assert not isinstance(refusal.value, DamagedReleaseError)
    for path in (tmp_path / "out").iterdir():
        put(f"rel[1]/{path.name}", path.read_bytes())
    digest, _ = storage.sha256(f"{prefix}/release.json")
    verified = verify_release(prefix, uri, digest=digest)
    assert (verified.unchanged, verified.unchecked) == (True, ())
    assert verified.manifest["documents_out"] == 1
    put("rel[1]/sub/raw.jsonl", b"raw")
    with pytest.raises(DamagedReleaseError, match="sub/ is not part of the release"):
        verify_release(prefix)
    client().bucket(BUCKET).blob("rel[1]/sub/raw.jsonl").delete()
    [shard] = [path.name for path in (tmp_path / "out").glob("part-*")]
    client().bucket(BUCKET).blob(f"rel[1]/{shard}").delete()
    with pytest.raises(DamagedReleaseError, match="is missing"):
        verify_release(prefix)


def test_a_ledger_in_a_bucket_is_shown(cloud: Front, capsys: pytest.CaptureFixture[str]) -> None:
    path = f"gs://{BUCKET}/ledger.jsonl"
    with pytest.raises(OutputError, match="there is no such file"):
        show_ledger([path])
    released(path, "1", "d1")
    assert show_ledger([path, "--max_epsilon=30"]) == 0
    assert f"{path}: what was released of each corpus" in capsys.readouterr().out
    assert ledger.spent(ledger.read(path), "notes") == (10.0, 0.0)
