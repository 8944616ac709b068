"""S3, s3://: objects by Beam's file system and by boto3, see ``stores``.

Conditional writes (``If-None-Match`` and ``If-Match``) decide which of several writers wins. A
store that ignores them is refused.
"""

from __future__ import annotations

import errno
import importlib.util
import io
import os
import re
import time
import uuid
from collections.abc import Callable
from typing import Any, BinaryIO, cast

SCHEME, NAME = "s3://", "S3"

_BUCKET = re.compile(r"[A-Za-z0-9._:-]{1,255}")
_ATTEMPTS = 8
_SECONDS = 5

_let_in: set[str] = set()
"""The scheme, once there were credentials, and buckets that refuse to write over an object."""
_clients: dict[tuple[tuple[str, str], ...], Any] = {}
"""Clients by the variables that they were made with."""


def is_installed() -> bool:
    """Whether what this store needs is installed."""
    return importlib.util.find_spec("boto3") is not None


def why_no_access(path: str) -> str | None:
    """Why an object is out of reach, and what to do about it; None if it is not.

    One request is made first, once in a process: Beam repeats unanswered ones for minutes.
    """
    if not is_installed():
        return "s3:// needs boto3: pip install 'dxbeam[aws]'"
    if not _BUCKET.fullmatch(_named(path)["Bucket"]):
        return f"{path}: this names no bucket that S3 could have; write s3://BUCKET/NAME"
    if SCHEME in _let_in:
        return None
    import boto3
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError, ClientError

    once = Config(
        connect_timeout=_SECONDS, read_timeout=_SECONDS, retries={"total_max_attempts": 1}
    )
    try:
        session = boto3.session.Session()
        if session.get_credentials() is None:
            return (
                "s3://: there are no AWS credentials here; set AWS_ACCESS_KEY_ID and "
                "AWS_SECRET_ACCESS_KEY, or configure a profile"
            )
        session.client("s3", config=once).head_bucket(Bucket=_named(path)["Bucket"])
    except ClientError:
        pass  # there is an answer; what it forbids is reported by the access itself
    except (BotoCoreError, ValueError) as error:  # of boto3, which names no object
        return (
            f"s3:// cannot be reached ({type(error).__name__}); look at AWS_ENDPOINT_URL, "
            "AWS_PROFILE, the credentials and the network"
        )
    _let_in.add(SCHEME)
    return None


def beam_system(path: str) -> Any:  # noqa: ARG001
    """Beam's file system, all of whose requests are made by one client."""
    from dxbeam.storage.one_client import OneClientFileSystem

    return OneClientFileSystem(_options(), _client())


def open_write(path: str, compression: str) -> BinaryIO:
    """A new object that is complete once it is closed; ``compression`` is one of Beam's."""
    new = lambda: beam_system(path).create(path, compression_type=compression)  # noqa: E731
    return cast(BinaryIO, _NewObject(new, lambda: _put(_client(), path, b"")))


def read(path: str) -> bytes:
    """All bytes of an object."""
    content, tag = read_version(path)
    if tag is None:
        raise FileNotFoundError(errno.ENOENT, "no such object in S3", path)
    return content


def read_version(path: str) -> tuple[bytes, Any]:
    """The content of an object and its tag; b"" and None where there is none."""
    client = _client()
    try:
        answer = client.get_object(**_named(path))
        return answer["Body"].read(), answer["ETag"]
    except client.exceptions.NoSuchKey:
        return b"", None


def exists(path: str) -> bool:
    """Whether there is an object of this very name."""
    bucket, name = _named(path).values()
    answer = _client().list_objects_v2(Bucket=bucket, Prefix=name, MaxKeys=1)
    return [each["Key"] for each in answer.get("Contents", [])] == [name]


def replace(path: str, content: bytes, version: Any) -> bool:
    """Writes an object if it is still the one of this tag, None for none; whether it was."""
    client = _client()
    _check_conditions(client, path)
    condition = {"IfNoneMatch": "*"} if version is None else {"IfMatch": version}
    return _put(client, path, content, **condition)


def delete(path: str) -> None:
    """Deletes an object; silent where there is none."""
    _client().delete_object(**_named(path))


class _NewObject(io.BufferedIOBase):
    """A new object whose upload begins at its first byte: Beam cannot upload one without any.

    Where writing fails before that, or nobody closes the file, there is no object.
    """

    def __init__(self, begin: Callable[[], Any], put_empty: Callable[[], Any]):
        self._begin, self._put_empty = begin, put_empty
        self._file: Any = None
        self._failed = False

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        if self._file is None and len(content):
            try:
                self._file = self._begin()
            except BaseException:
                self._failed = True
                raise
        if self._file is not None:
            self._file.write(content)
        return len(content)

    def __exit__(self, kind: Any, *rest: Any) -> None:
        self._failed = self._failed or kind is not None
        super().__exit__(kind, *rest)

    def close(self) -> None:
        if self.closed:
            return
        super().close()
        if self._file is not None:
            self._file.close()
        elif not self._failed:
            self._put_empty()

    def __del__(self) -> None:
        """Leaves the file as it is: whoever wrote it whole has closed it."""


def _client() -> Any:
    """Beam's own client of boto3, so that all requests are made by the same account."""
    from apache_beam.io.aws import s3io

    variables = tuple(sorted(item for item in os.environ.items() if item[0].startswith("AWS_")))
    if variables not in _clients:  # it takes a tenth of a second to make one
        _clients[variables] = s3io.S3IO(options=_options()).client.client
    return _clients[variables]


def _options() -> Any:
    from apache_beam.io.filesystems import FileSystems
    from apache_beam.options.pipeline_options import PipelineOptions
    from apache_beam.options.value_provider import RuntimeValueProvider

    return (
        FileSystems._pipeline_options or RuntimeValueProvider.runtime_options or PipelineOptions([])
    )


def _named(path: str) -> dict[str, str]:
    """An object's bucket and key, by the names of boto3's arguments."""
    bucket, _, name = path[len(SCHEME) :].partition("/")
    return {"Bucket": bucket, "Key": name}


def _put(client: Any, path: str, content: bytes, **condition: str) -> bool:
    """Whether the object was written; False where the condition was not met."""
    from botocore.exceptions import ClientError

    for attempt in range(_ATTEMPTS):
        try:
            client.put_object(**_named(path), Body=content, **condition)
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


def _check_conditions(client: Any, path: str) -> None:
    """Makes sure, once a bucket, that the store refuses to write an object that is there.

    Older servers of this kind ignore the condition and write; of them an OSError is raised.
    """
    bucket = SCHEME + _named(path)["Bucket"]
    if bucket in _let_in:
        return
    probe = f"{path}.dxbeam-probe-{uuid.uuid4().hex}"
    try:
        wrote = [_put(client, probe, b"", IfNoneMatch="*") for _ in range(2)]
    finally:
        client.delete_object(**_named(probe))
    if wrote[1]:
        raise OSError(
            f"{bucket}: this store writes over objects although it is asked not to (If-None-"
            "Match), so two runs could write one release; use another store"
        )
    _let_in.add(bucket)
