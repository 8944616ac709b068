"""Objects of Cloud Storage: written once, appended to, deleted."""

from __future__ import annotations

import errno
import time
from collections.abc import Callable
from typing import Any

from dxbeam.errors import ConfigurationError, OutputError
from dxbeam.storage import cloud_access

_APPEND_ATTEMPTS = 20


def append_blob(path: str, addition: Callable[[bytes], tuple[int, bytes]]) -> None:
    """Appends to an object; see ``storage.append``."""
    from google.api_core.exceptions import GoogleAPIError, NotFound, PreconditionFailed

    written = None
    for attempt in range(_APPEND_ATTEMPTS):
        blob = _blob(path)
        try:
            try:
                blob.reload()
                generation = blob.generation
                content = blob.download_as_bytes(if_generation_match=generation)
            except NotFound:
                content, generation = b"", 0
            if written is not None and content.startswith(written):
                return  # an earlier attempt succeeded, and its answer was lost
            kept, added = addition(content)
            written = content[:kept] + added
            blob.upload_from_string(written, if_generation_match=generation, timeout=60)
        except PreconditionFailed:
            time.sleep(min(2.0, 0.05 * 2**attempt))  # another writer was faster
            continue
        except GoogleAPIError as error:
            raise OSError(f"{type(error).__name__}") from None
        return
    raise OutputError(f"{path}: others write to it all the time; try again later")


def create_blob_once(path: str, content: bytes) -> None:
    """Writes an object; FileExistsError where it is there already."""
    from google.api_core.exceptions import GoogleAPIError, PreconditionFailed

    try:
        _blob(path).upload_from_string(content, if_generation_match=0, timeout=60)
    except PreconditionFailed:
        raise FileExistsError(path) from None
    except GoogleAPIError as error:
        raise OSError(errno.EIO, f"{type(error).__name__} from Cloud Storage", path) from None


def delete_blob(path: str) -> None:
    """Deletes an object; silent where there is none."""
    from google.api_core.exceptions import GoogleAPIError, NotFound
    from google.cloud.storage.retry import DEFAULT_RETRY

    try:
        _blob(path).delete(retry=DEFAULT_RETRY, timeout=60)
    except NotFound:
        return
    except GoogleAPIError as error:
        raise OSError(errno.EIO, f"{type(error).__name__} from Cloud Storage", path) from None


def _blob(path: str) -> Any:
    from apache_beam.io.gcp import gcsio

    only_cloud_storage(path)
    check_access(path)
    bucket, _, name = path[len("gs://") :].partition("/")
    # Beam's own client, so that all requests are made by the same account.
    return gcsio.GcsIO().client.bucket(bucket).blob(name)


def only_cloud_storage(path: str) -> None:
    """Refuses places of another kind."""
    if not path.startswith("gs://"):
        raise OutputError(
            f"{path}: this must be a local path or one that starts with gs:// or s3://"
        )


def check_access(path: str) -> None:
    """Refuses a place that this process is not let into."""
    if reason := cloud_access.why_no_access(path):
        raise ConfigurationError(reason)
