"""The whole job under gs://: corpus, artifact, key, release, metrics and ledger over HTTP."""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from dxbeam import storage
from dxbeam.errors import DxbeamError
from dxbeam.release import ledger, manifest
from dxbeam.space.artifact import artifact
from pipelines.sanitize import sanitize
from tests.cloud.bucket import names, put
from tests.cloud.front import BUCKET, Front
from tests.support import tiny

ROOT = f"gs://{BUCKET}"
RECORDS = [{"id": f"d{i}", "text": text} for i, text in enumerate(tiny.texts(20))]
RUN_OFF_LINE = (
    "import sys; from apache_beam.internal.gcp import auth; "
    "auth._Credentials._credentials_init = True; "
    "from dxbeam.commands import launch; from pipelines.sanitize import sanitize; "
    "launch.main(sanitize)"
)


@pytest.fixture
def flags(cloud: Front, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # a host without copies of artifacts
    monkeypatch.setattr("tempfile.tempdir", None)
    local = Path(tiny.write_artifact(tmp_path / "vocabulary"))
    for path in local.iterdir():
        put(f"vocabulary/{path.name}", path.read_bytes())
    lines = "".join(json.dumps(record) + "\n" for record in RECORDS)
    put("corpus/a.jsonl", lines.encode())
    put("key", tiny.KEY.hex().encode())
    cloud.reset()
    return [
        f"--input={ROOT}/corpus/*.jsonl",
        f"--vocabulary={ROOT}/vocabulary",
        f"--key_uri={ROOT}/key",
        f"--output={ROOT}/out",
        f"--ledger={ROOT}/ledger",
        "--corpus_id=c",
        "--epsilon=5",
    ]


def _released() -> dict[str, str]:
    texts = {}
    for path, _ in storage.match(f"{ROOT}/out/part-*"):
        for line in storage.read(path).splitlines():
            record = json.loads(line)
            texts[record["id"]] = record["text"]
    return texts


def _local(tmp_path: Path) -> dict[str, str]:
    corpus = tiny.write_jsonl(tmp_path / "corpus.jsonl", RECORDS)
    (tmp_path / "key").write_text(tiny.KEY.hex())
    tiny.run(str(tmp_path / "vocabulary"), corpus, tmp_path / "here", f"--key_uri={tmp_path}/key")
    return tiny.released(tmp_path / "here")


def test_the_release_is_the_one_made_locally(
    flags: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sanitize(flags)
    assert re.search(
        rf"\([\d.]+ %\) came out unchanged.* {ROOT}/out-metrics/metrics.json\n",
        capsys.readouterr().out,
    )
    release = manifest.verify(f"{ROOT}/out")
    assert release["documents_out"] == len(RECORDS)
    assert _released() == _local(tmp_path)
    left = [name for name in names("out") if not name.startswith("out/part-")]
    assert [name for name in left if name.startswith("out/")] == ["out/release.json"]
    assert "out-metrics/metrics.json" in left
    assert [entry.state for entry in ledger.read(f"{ROOT}/ledger")] == ["begun", "released"]


def test_the_artifact_may_be_replaced_and_is_noticed(flags: list[str]) -> None:
    handle = artifact.handle(f"{ROOT}/vocabulary")
    put("vocabulary/vectors.npy", b"not what was digested")
    with pytest.raises(DxbeamError, match=r"vectors.npy has .* bytes where the manifest says"):
        artifact.open_vocabulary(handle)


def test_a_server_that_is_busy_now_and_then(cloud: Front, flags: list[str], tmp_path: Path) -> None:
    cloud.unavailable, cloud.lost, cloud.dropped = 3, 2, 2
    sanitize(flags)
    assert (cloud.unavailable, cloud.lost, cloud.dropped) == (0, 0, 0)
    manifest.verify(f"{ROOT}/out")
    assert _released() == _local(tmp_path)
    assert [entry.state for entry in ledger.read(f"{ROOT}/ledger")] == ["begun", "released"]


def test_a_read_only_bucket_is_refused_in_a_sentence(cloud: Front, flags: list[str]) -> None:
    cloud.read_only = True
    forbidden = re.escape(f"{ROOT}/out cannot be written (OSError: Forbidden")
    with pytest.raises(DxbeamError, match=forbidden):
        sanitize(flags)
    assert not names("out")


def test_of_two_schedulers_one_releases(flags: list[str], cloud: Front) -> None:
    both = [
        subprocess.Popen(
            [sys.executable, "-c", RUN_OFF_LINE, *flags], stderr=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    said = [running.communicate(timeout=120)[1] for running in both]
    codes = [running.returncode for running in both]
    assert sorted(codes) == [0, 2], said
    manifest.verify(f"{ROOT}/out")
    assert names("out/release.json") == ["out/release.json"]
    states = [entry.state for entry in ledger.read(f"{ROOT}/ledger")]
    assert states == ["begun", "released"], "who was refused the output never began"


@contextmanager
def _service_account(folder: Path, token: str) -> Iterator[Path]:
    """The file of an account, for which a server on this machine issues a token as Google does."""
    private = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    asked_by = []

    class Issuer(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            head, claims, signature = asked["assertion"][0].split(".")
            private.public_key().verify(
                _bytes(signature), f"{head}.{claims}".encode(), PKCS1v15(), SHA256()
            )
            asked_by.append(json.loads(_bytes(claims))["iss"])
            answer = {"access_token": token, "expires_in": 3600, "token_type": "Bearer"}
            content = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Issuer)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    pem = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    account = {
        "type": "service_account",
        "project_id": "p",
        "private_key_id": "k",
        "private_key": pem,
        "client_email": "job@p.example",
        "token_uri": f"http://127.0.0.1:{server.server_port}/token",
    }
    (folder / "account.json").write_text(json.dumps(account))
    try:
        yield folder / "account.json"
        assert set(asked_by) == {"job@p.example"}
    finally:
        server.shutdown()
        server.server_close()


def _bytes(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def test_a_service_account_in_the_environment_is_used_for_every_request(
    cloud: Front, flags: list[str], tmp_path: Path
) -> None:
    """Where there is none, or a library is missing, Beam asks as nobody, and is refused."""
    cloud.token = "issued to the job"
    with _service_account(tmp_path, cloud.token) as account:
        done = subprocess.run(
            [sys.executable, "-m", "pipelines.sanitize", *flags],
            env={**os.environ, "GOOGLE_APPLICATION_CREDENTIALS": str(account)},
            capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    cloud.token = None
    assert manifest.verify(f"{ROOT}/out")["documents_out"] == len(RECORDS)
    assert [entry.state for entry in ledger.read(f"{ROOT}/ledger")] == ["begun", "released"]
