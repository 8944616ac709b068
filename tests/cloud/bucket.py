"""The bucket of the server that plays Cloud Storage, as a client sees it."""

from __future__ import annotations

from typing import Any

from tests.cloud import front


def client() -> Any:
    from google.cloud import storage

    return storage.Client()


def put(name: str, content: bytes) -> str:
    """Uploads an object and returns its gs:// path."""
    client().bucket(front.BUCKET).blob(name).upload_from_string(content)
    return f"gs://{front.BUCKET}/{name}"


def names(prefix: str = "") -> list[str]:
    """The objects below a prefix."""
    return sorted(blob.name for blob in client().bucket(front.BUCKET).list_blobs(prefix=prefix))
