"""Whether object stores let this process in, and writes to S3 that only one of several can make.

Without credentials Beam tries to find some for 20 seconds, and Google's client repeats each refused
or unanswered request for two minutes, before an error that names neither.
"""

from __future__ import annotations

import importlib.util
import os
import time
import urllib.error
import urllib.request
import uuid
from typing import Any

_CLOUD = "gs://"
S3 = "s3://"
_ATTEMPTS = 8
_LISTING = "https://storage.googleapis.com/storage/v1/b/{}/o?maxResults=1"
_SECONDS = 5.0

_let_in: set[str] = set()
"""Buckets that were asked; one that refused is asked again."""


def why_no_access(path: str) -> str | None:
    """Why a path is out of reach without credentials, and how to get some; None if it is not.

    Args:
      path: of any kind; other kinds pass.
    """
    if path.startswith(S3):
        return _why_no_s3()
    bucket = path[len(_CLOUD) :].partition("/")[0]
    local = not path.startswith(_CLOUD) or os.environ.get("STORAGE_EMULATOR_HOST")
    if local or bucket in _let_in:
        return None
    reason = None if _has_credentials() else _why_not_as_anybody(bucket)
    if reason is None:
        _let_in.add(bucket)
        return None
    return (
        f"{_CLOUD}{bucket}: there are no Google credentials here, and {reason}; log in with gcloud "
        "auth application-default login, or name a key file in GOOGLE_APPLICATION_CREDENTIALS"
    )


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


def _why_no_s3() -> str | None:
    if importlib.util.find_spec("boto3") is None:
        return "s3:// needs boto3: pip install 'dxbeam[aws]'"
    if S3 in _let_in:
        return None
    import boto3

    if boto3.session.Session().get_credentials() is None:
        return (
            "s3://: there are no AWS credentials here; set AWS_ACCESS_KEY_ID and "
            "AWS_SECRET_ACCESS_KEY, or configure a profile"
        )
    _let_in.add(S3)
    return None


def create_on_s3(client: Any, path: str, content: bytes) -> None:
    """Makes an object that is not there; of several that try, one succeeds.

    Raises:
      FileExistsError: it is there.
      OSError: the store does not answer, or does not heed the condition.
    """
    bucket, name = _parts(path)
    _check_conditions(client, bucket, name)
    if not _put(client, bucket, name, content, IfNoneMatch="*"):
        raise FileExistsError(path)


def read_on_s3(client: Any, path: str) -> tuple[bytes, str | None]:
    """The content of an object and its tag; b"" and None where there is none."""
    bucket, name = _parts(path)
    try:
        found = client.get_object(Bucket=bucket, Key=name)
        return found["Body"].read(), found["ETag"]
    except client.exceptions.NoSuchKey:
        return b"", None


def put_on_s3(client: Any, path: str, content: bytes) -> None:
    """Writes an object, whatever was there."""
    bucket, name = _parts(path)
    client.put_object(Bucket=bucket, Key=name, Body=content)


def exists_on_s3(client: Any, path: str) -> bool:
    """Whether there is an object of this very name."""
    bucket, name = _parts(path)
    found = client.list_objects_v2(Bucket=bucket, Prefix=name, MaxKeys=1).get("Contents", [])
    return [each["Key"] for each in found] == [name]


def replace_on_s3(client: Any, path: str, content: bytes, tag: str | None) -> bool:
    """Writes an object if it is still the one of this tag; whether it was."""
    bucket, name = _parts(path)
    _check_conditions(client, bucket, name)
    condition = {"IfNoneMatch": "*"} if tag is None else {"IfMatch": tag}
    return _put(client, bucket, name, content, **condition)


def delete_on_s3(client: Any, path: str) -> None:
    """Deletes an object; silent where there is none."""
    bucket, name = _parts(path)
    client.delete_object(Bucket=bucket, Key=name)


def _parts(path: str) -> tuple[str, str]:
    bucket, _, name = path[len(S3) :].partition("/")
    return bucket, name


def _put(client: Any, bucket: str, name: str, content: bytes, **condition: str) -> bool:
    """Whether the object was written; False where the condition was not met."""
    from botocore.exceptions import ClientError

    for attempt in range(_ATTEMPTS):
        try:
            client.put_object(Bucket=bucket, Key=name, Body=content, **condition)
        except ClientError as error:
            status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode")
            if status == 412:
                return False
            if status != 409:  # another write of this object was under way
                raise
            time.sleep(min(2.0, 0.05 * 2**attempt))
        else:
            return True
    return False


def _check_conditions(client: Any, bucket: str, name: str) -> None:
    """Makes sure, once a bucket, that the store refuses to write an object that is there.

    Raises:
      OSError: it does not; older servers of this kind ignore the condition and write.
    """
    if f"{S3}{bucket}" in _let_in:
        return
    probe = f"{name}.dxbeam-probe-{uuid.uuid4().hex}"
    try:
        wrote = [_put(client, bucket, probe, b"", IfNoneMatch="*") for _ in range(2)]
    finally:
        client.delete_object(Bucket=bucket, Key=probe)
    if wrote[1]:
        raise OSError(
            f"{S3}{bucket}: this store writes over objects although it is asked not to (If-None-"
            "Match), so two runs could write one release; use another store"
        )
    _let_in.add(f"{S3}{bucket}")
