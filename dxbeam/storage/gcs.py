"""Cloud Storage, gs://: objects by Beam's file system and by its client, see ``stores``.

Without credentials Beam tries to find some for 20 seconds, and Google's client repeats each refused
or unanswered request for two minutes, before an error that names neither.
"""

from __future__ import annotations

import os
import urllib.error
import urllib.request
from typing import Any, BinaryIO, cast

SCHEME, NAME = "gs://", "Cloud Storage"

_LISTING = "https://storage.googleapis.com/storage/v1/b/{}/o?maxResults=1"
_SECONDS = 5.0
_ATTEMPTS = 20

_let_in: set[str] = set()
"""Buckets that were asked; one that refused is asked again."""


def is_installed() -> bool:
    """Whether what this store needs is installed."""
    try:
        beam_system(SCHEME)
    except (ValueError, OSError):  # as Beam says it
        return False
    return True


def why_no_access(path: str) -> str | None:
    """Why an object is out of reach without credentials, and how to get some; None if it is not."""
    bucket = path[len(SCHEME) :].partition("/")[0]
    if os.environ.get("STORAGE_EMULATOR_HOST") or bucket in _let_in:
        return None
    reason = None if _has_credentials() else _why_not_as_anybody(bucket)
    if reason is None:
        _let_in.add(bucket)
        return None
    return (
        f"{SCHEME}{bucket}: there are no Google credentials here, and {reason}; log in with gcloud "
        "auth application-default login, or name a key file in GOOGLE_APPLICATION_CREDENTIALS"
    )


def beam_system(path: str) -> Any:
    """Beam's file system."""
    from apache_beam.io.filesystems import FileSystems

    return FileSystems.get_filesystem(path)


def open_write(path: str, compression: str) -> BinaryIO:
    """A new object that is complete once it is closed; ``compression`` is one of Beam's."""
    return cast(BinaryIO, beam_system(path).create(path, compression_type=compression))


def read(path: str) -> bytes:
    """All bytes of an object."""
    with beam_system(path).open(path, compression_type="uncompressed") as file:
        return cast(bytes, file.read())


def read_version(path: str) -> tuple[bytes, Any]:
    """The content of an object and its generation; b"" and None where there is none."""
    from google.api_core.exceptions import NotFound, PreconditionFailed

    for _ in range(_ATTEMPTS):
        blob = _blob(path)
        try:
            blob.reload()
            generation = blob.generation
            return blob.download_as_bytes(if_generation_match=generation), generation
        except NotFound:
            return b"", None
        except PreconditionFailed:
            continue  # it was replaced in between
    raise OSError(f"{path} changes all the time")


def exists(path: str) -> bool:
    """Whether there is an object of this very name."""
    return bool(beam_system(path).exists(path))


def replace(path: str, content: bytes, version: Any) -> bool:
    """Writes an object if it is still the one of this generation, None for none; whether it was."""
    from google.api_core.exceptions import PreconditionFailed

    try:
        _blob(path).upload_from_string(content, if_generation_match=version or 0, timeout=60)
    except PreconditionFailed:
        return False
    return True


def delete(path: str) -> None:
    """Deletes an object; silent where there is none."""
    from google.api_core.exceptions import NotFound
    from google.cloud.storage.retry import DEFAULT_RETRY

    try:
        _blob(path).delete(retry=DEFAULT_RETRY, timeout=60)
    except NotFound:
        return


def _blob(path: str) -> Any:
    from apache_beam.io.gcp import gcsio

    bucket, _, name = path[len(SCHEME) :].partition("/")
    # Beam's own client, so that all requests are made by the same account.
    return gcsio.GcsIO().client.bucket(bucket).blob(name)


def _why_not_as_anybody(bucket: str) -> str | None:
    try:
        with urllib.request.urlopen(_LISTING.format(bucket), timeout=_SECONDS):
            return None  # it is public
    except urllib.error.HTTPError as error:
        # Others, such as 404, are reported by the access itself.
        return "the bucket is not public" if error.code in (401, 403) else None
    except (OSError, ValueError) as error:
        return f"Cloud Storage cannot be reached either ({type(error).__name__})"


def _has_credentials() -> bool:
    import google.auth
    from google.auth.exceptions import GoogleAuthError

    try:
        google.auth.default()
    except GoogleAuthError:
        return False
    return True
