"""Stores of objects: what each of them offers, and writes that only one of several can make."""

from __future__ import annotations

import contextlib
import errno
import time
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, Protocol

from dxbeam.errors import ConfigurationError, OutputError
from dxbeam.storage import gcs, s3

_APPEND_ATTEMPTS = 20
_CLIENTS = ("google.", "botocore.", "boto3.", "apache_beam.io.aws.")
"""Where the errors of stores' clients are defined."""


class ObjectStore(Protocol):
    """A kind of store; a module is one. Paths are whole, such as gs://bucket/name."""

    SCHEME: str
    NAME: str

    def is_installed(self) -> bool:
        """Whether what this store needs is installed."""

    def why_no_access(self, path: str) -> str | None:
        """Why an object is out of reach without credentials, and how to get some; else None."""

    def beam_system(self, path: str) -> Any:
        """Beam's file system."""

    def open_write(self, path: str, compression: str) -> BinaryIO:
        """A new object that is complete once it is closed; ``compression`` is one of Beam's."""

    def read(self, path: str) -> bytes:
        """All bytes of an object."""

    def read_version(self, path: str) -> tuple[bytes, Any]:
        """The content of an object, and which version of it this is; b"" and None for none."""

    def exists(self, path: str) -> bool:
        """Whether there is an object of this very name."""

    def replace(self, path: str, content: bytes, version: Any) -> bool:
        """Writes an object if it is still of this version, None for none; whether it was."""

    def delete(self, path: str) -> None:
        """Deletes an object; silent where there is none."""


_STORES: tuple[ObjectStore, ...] = (gcs, s3)


def store_of(path: str) -> ObjectStore | None:
    """The store that a path is in, if it is one of those known here."""
    return next((store for store in _STORES if path.startswith(store.SCHEME)), None)


def known_store(path: str) -> ObjectStore:
    """The store that a path is in, which lets this process in; else says what is missing."""
    if (store := store_of(path)) is None:
        raise OutputError(
            f"{path}: this must be a local path or one that starts with gs:// or s3://"
        )
    check_access(path)
    return store


def check_access(path: str) -> None:
    """Refuses a place that this process is not let into; places of other kinds pass."""
    store = store_of(path)
    if store is not None and (reason := store.why_no_access(path)):
        raise ConfigurationError(reason)


@contextlib.contextmanager
def as_os_errors(path: str) -> Iterator[None]:
    """Errors of stores' clients, such as that there is no such object, as OSErrors."""
    try:
        yield
    except Exception as error:
        store = store_of(path)
        if store is None or not type(error).__module__.startswith(_CLIENTS):
            raise
        absent = getattr(error, "code", None) == 404
        number, kind = (errno.ENOENT if absent else errno.EIO), type(error).__name__
        raise OSError(number, f"{kind} from {store.NAME}", path) from None


def create_once(path: str, content: bytes) -> None:
    """Writes an object, whole or not at all; FileExistsError: one is there."""
    with as_os_errors(path):
        if not known_store(path).replace(path, content, None):
            raise FileExistsError(path)


def append(path: str, addition: Callable[[bytes], tuple[int, bytes]]) -> None:
    """Appends to an object that several writers share; see ``storage.append``."""
    store, written = known_store(path), None
    for attempt in range(_APPEND_ATTEMPTS):
        with as_os_errors(path):
            content, version = store.read_version(path)
        if written is not None and content.startswith(written):
            return  # an earlier attempt succeeded, and its answer was lost
        kept, added = addition(content)
        written = content[:kept] + added
        with as_os_errors(path):
            if store.replace(path, written, version):
                return
        time.sleep(min(2.0, 0.05 * 2**attempt))  # another writer was faster
    raise OutputError(f"{path}: others write to it all the time; try again later")
