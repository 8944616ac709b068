"""One server a session; each test finds it well and its bucket empty."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cloud import bucket, front


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
