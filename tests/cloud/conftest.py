"""One server of a kind a session; each test finds it well and its bucket empty."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cloud import bucket, front, s3_server


@pytest.fixture(scope="session")
def server() -> Iterator[front.Front]:
    pytest.importorskip(
        "gcp_storage_emulator", reason="the PyPI package gcp-storage-emulator is not installed"
    )
    with front.running() as running:
        yield running


@pytest.fixture
def cloud(server: front.Front, monkeypatch: pytest.MonkeyPatch) -> front.Front:
    from apache_beam.internal.gcp import auth

    monkeypatch.setenv("STORAGE_EMULATOR_HOST", server.url)
    # Else Beam looks for credentials for 20 seconds in each process, and finds none.
    monkeypatch.setattr(auth._Credentials, "_credentials_init", True)
    server.reset()
    for blob in list(bucket.client().bucket(front.BUCKET).list_blobs()):
        blob.delete()
    server.reset()
    return server


@pytest.fixture(scope="session")
def bigquery_server() -> Iterator[Any]:
    for module in ("google.cloud.bigquery", "google.cloud.bigquery_storage"):
        pytest.importorskip(module, reason="bq:// needs pip install '.[bigquery]'")
    from tests.cloud import bigquery_server

    with bigquery_server.running() as running:
        yield running


@pytest.fixture
def bigquery(bigquery_server: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The servers that play BigQuery, without tables; this process asks them."""
    bigquery_server.reset()
    for name, value in bigquery_server.variables.items():
        monkeypatch.setenv(name, value)
    return bigquery_server


@pytest.fixture(scope="session")
def s3_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the server that plays S3 logs all requests."""
    return tmp_path_factory.mktemp("s3") / "log"


@pytest.fixture(scope="session")
def s3_account(s3_log: Path) -> Iterator[dict[str, str]]:
    """Environment variables of an account of the server that plays S3."""
    pytest.importorskip("boto3", reason="s3:// needs boto3: pip install '.[aws]'")
    pytest.importorskip("moto.server", reason="no server plays S3: pip install 'moto[server]'")
    with s3_server.running(s3_log) as account:
        yield account


@pytest.fixture
def s3(s3_account: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """A client of the account, which this process uses; its bucket is empty."""
    import boto3

    from dxbeam.storage import s3 as store

    for name, value in s3_account.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(store, "_let_in", set())
    client = boto3.client("s3")
    client.create_bucket(Bucket=s3_server.BUCKET)
    for entry in client.list_objects_v2(Bucket=s3_server.BUCKET).get("Contents", []):
        client.delete_object(Bucket=s3_server.BUCKET, Key=entry["Key"])
    return client
