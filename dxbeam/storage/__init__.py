"""Bytes at local, gs:// or s3:// paths, and writes that succeed for one writer only.

Any scheme that Beam's file systems know can be read. What is written, listed or deleted is named
literally: Beam takes paths for globs there, and a release may be called ``rel[1]`` or ``*``. Only
``match`` takes a glob. Deleting and writing once speak to the store itself.

Beam is imported where one of its file systems is needed, so plain local files need no Beam.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import importlib.util
import io
import os
import re
import shutil
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

from dxbeam.errors import OutputError
from dxbeam.storage import cloud, cloud_access
from dxbeam.storage.changes import writing
from dxbeam.storage.paths import is_local as is_local
from dxbeam.storage.paths import join as join
from dxbeam.storage.paths import why_no_file as why_no_file
from dxbeam.storage.paths import why_unwritable as why_unwritable
from dxbeam.storage.paths import without_file_scheme as without_file_scheme

_BLOCK = 1 << 20
_APPEND_ATTEMPTS = 20
_CLIENTS = ("google.", "botocore.", "boto3.", "apache_beam.io.aws.")
"""Where the errors of stores' clients are defined."""
_S3 = cloud_access.S3
_s3_clients: dict[tuple[tuple[str, str], ...], Any] = {}
"""Clients of S3, by the variables that they were made with."""


def knows(path: str) -> bool:
    """Whether there is a file system for paths like this one, such as gs:// and not gcs://."""
    try:
        _system(without_file_scheme(path))
    except OSError:
        return False
    return not path.startswith(_S3) or importlib.util.find_spec("boto3") is not None


def open_read(path: str, decompress: bool = False) -> BinaryIO:
    """Opens ``path`` for reading; by its suffix decompressed where asked."""
    path = without_file_scheme(path)
    if is_local(path) and not decompress:
        return Path(path).open("rb")
    with _told_as_os_errors(path):
        return cast(BinaryIO, _reached(path).open(path, compression_type=_compression(decompress)))


@writing()
def open_write(path: str, compress: bool = False) -> BinaryIO:
    """Opens ``path`` for writing, making its directory; by its suffix compressed where asked."""
    path = without_file_scheme(path)
    if is_local(path):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
    system, compression = _reached(path), _compression(compress)
    if path.startswith(_S3) and not compress:
        return cast(
            BinaryIO, _S3File(path, lambda: system.create(path, compression_type=compression))
        )
    return cast(BinaryIO, system.create(path, compression_type=compression))


def read(path: str) -> bytes:
    """All bytes of ``path``."""
    if without_file_scheme(path).startswith(_S3):
        with _told_as_os_errors(path):
            content, tag = cloud_access.read_on_s3(_s3(path), path)
        if tag is None:
            raise FileNotFoundError(errno.ENOENT, "no such object in S3", path)
        return content
    with _told_as_os_errors(path), open_read(path) as file:
        return file.read()


def exists(path: str) -> bool:
    """Whether a file (not a directory) is at ``path``."""
    path = without_file_scheme(path)
    if is_local(path):
        return Path(path).exists() and not Path(path).is_dir()
    with _told_as_os_errors(path):
        if path.startswith(_S3):
            return cloud_access.exists_on_s3(_s3(path), path)
        return bool(_reached(path).exists(path))


def match(pattern: str) -> list[tuple[str, int]]:
    """Paths and sizes in bytes of the files that match a glob, in order of path."""
    path = without_file_scheme(pattern)
    # Beam lists the folder that a glob begins with, and finds nothing where it names none.
    here = "./" if is_local(path) and "/" not in re.split(r"[*?\[]", path, maxsplit=1)[0] else ""
    [result] = _reached(path).match([here + path])
    files = ((entry.path, entry.size_in_bytes) for entry in result.metadata_list)
    return sorted((path.removeprefix(here), size) for path, size in files)


def names_below(directory: str) -> Iterator[str]:
    """Names of all files anywhere below a directory or prefix, which is itself taken literally.

    Yields:
      each file's path as it continues ``directory``, with "/" between its parts.
    """
    path = without_file_scheme(directory)
    if is_local(path):
        below = (entry for entry in Path(path).rglob("*") if not entry.is_dir())
        yield from (entry.relative_to(path).as_posix() for entry in below)
        return
    # What is beneath ``match``, which itself would take the prefix for a glob.
    start = path.rstrip("/") + "/"
    for entry in _reached(path)._list(start):
        if not entry.path.endswith("/"):  # the mark of an empty folder
            yield entry.path[len(start) :]


def names_in(directory: str) -> set[str]:
    """Names of all that is directly in a directory or prefix; those of folders end with "/".

    Hidden files, links and, on this machine, empty folders are among them.
    """
    path = without_file_scheme(directory)
    if not is_local(path):
        parts = (name.partition("/") for name in names_below(path))
        return {first + slash for first, slash, _ in parts}
    with os.scandir(path) as entries:
        return {f"{entry.name}/" if entry.is_dir() else entry.name for entry in entries}


def first_file_below(directory: str) -> str | None:
    """The path of one file anywhere below ``directory``, or None."""
    name = next(names_below(directory), None)
    return None if name is None else join(directory, name)


@writing()
def delete(path: str) -> None:
    """Deletes the file or everything below the directory ``path``; silent where there is none.

    Raises:
      OutputError: the place is neither local nor on Cloud Storage or S3.
    """
    path = without_file_scheme(path)
    if not is_local(path):
        if not path.startswith(_S3):
            cloud.only_cloud_storage(path)
        for blob in [path, *(join(path, name) for name in names_below(path))]:
            if path.startswith(_S3):
                with _told_as_os_errors(path):
                    cloud_access.delete_on_s3(_s3(path), blob)
            else:
                cloud.delete_blob(blob)
    elif Path(path).is_dir():
        shutil.rmtree(path)
    else:
        Path(path).unlink(missing_ok=True)


def delete_empty(directory: str) -> None:
    """Deletes a local folder if nothing is in it; elsewhere there are no folders."""
    if is_local(directory):
        with contextlib.suppress(OSError):  # it holds something, or is not there
            Path(without_file_scheme(directory)).rmdir()


def sha256(path: str) -> tuple[str, int]:
    """Hex SHA-256 and size in bytes of the file at ``path``, streaming."""
    digest, size = hashlib.sha256(), 0
    with open_read(path) as file:
        for block in _blocks(file):
            digest.update(block)
            size += len(block)
    return digest.hexdigest(), size


def copy(source: str, target: str) -> None:
    """Copies one file, streaming, between any two places."""
    with open_read(source) as reader, open_write(target) as writer:
        for block in _blocks(reader):
            writer.write(block)


@writing()
def move(source: str, target: str) -> None:
    """Moves one file within a file system, replacing what is there."""
    source = without_file_scheme(source)
    _reached(source).rename([source], [without_file_scheme(target)])


@contextlib.contextmanager
def _told_as_os_errors(path: str) -> Iterator[None]:
    """Errors of Cloud Storage and S3, such as that there is no such object, as OSErrors."""
    try:
        yield
    except Exception as error:
        if not type(error).__module__.startswith(_CLIENTS):
            raise
        absent = getattr(error, "code", None) == 404
        number, kind = (errno.ENOENT if absent else errno.EIO), type(error).__name__
        store = "S3" if path.startswith(_S3) else "Cloud Storage"
        raise OSError(number, f"{kind} from {store}", path) from None


def _reached(path: str) -> Any:
    """Beam's file system for a path, which is not out of reach for want of credentials."""
    cloud.check_access(path)
    return _system(path)


def _system(path: str) -> Any:
    """Beam's file system for a path."""
    from apache_beam.io.filesystems import FileSystems

    if path.startswith(_S3):
        from apache_beam.io.aws.s3filesystem import S3FileSystem

        return S3FileSystem(_s3_options())
    try:
        return FileSystems.get_filesystem(path)
    except (ValueError, OSError):  # unknown, or what it needs is not installed
        raise OSError(errno.EINVAL, "no file system is known for this kind of path", path) from None


def _compression(by_suffix: bool) -> str:
    from apache_beam.io.filesystem import CompressionTypes

    return cast(str, CompressionTypes.AUTO if by_suffix else CompressionTypes.UNCOMPRESSED)


def _blocks(file: BinaryIO) -> Iterator[bytes]:
    while block := file.read(_BLOCK):
        yield block


@writing()
def create_once(path: str, content: bytes) -> None:
    """Writes ``content`` to ``path``, whole or not at all, for the first writer only.

    Locally a hard link is made to a finished temporary file; on Cloud Storage and S3
    the upload carries the precondition that no object is there.

    Raises:
      OutputError: ``path`` exists already, with other content, or is neither local nor on Cloud
        Storage or S3. The same content is accepted, so that a retried write succeeds.
    """
    path = without_file_scheme(path)
    try:
        if is_local(path):
            _create_local_once(Path(path), content)
        elif path.startswith(_S3):
            with _told_as_os_errors(path):
                cloud_access.create_on_s3(_s3(path), path, content)
        else:
            cloud.create_blob_once(path, content)
    except FileExistsError:
        if read(path) != content:
            raise OutputError(f"{path} was written by another run; choose another place") from None


def delete_unfinished(path: str) -> None:
    """Deletes what ``create_once`` left next to a local ``path`` where its process was killed."""
    path = without_file_scheme(path)
    if is_local(path) and Path(path).parent.is_dir():
        for entry in Path(path).parent.iterdir():
            if entry.name.startswith(f".{Path(path).name}."):
                delete(str(entry))


@writing()
def append(path: str, addition: Callable[[bytes], tuple[int, bytes]]) -> None:
    """Appends to a small file that several writers share; no other writes in between.

    Locally the file is locked; on Cloud Storage and S3 the upload carries the precondition that the
    object is still the one that was read, and is tried again where it is not.

    Args:
      path: a local path or gs:// or s3:// object; made where there is none.
      addition: what is there -> how many bytes of it stay, and what is to follow them. What it
        raises ends the attempt, and the file stays as it is.

    Raises:
      OutputError: the place is of another kind, cannot be written, or others write all the time.
    """
    path = without_file_scheme(path)
    try:
        if is_local(path):
            _append_local(Path(path), addition)
        elif path.startswith(_S3):
            with _told_as_os_errors(path):
                _append_s3(path, addition)
        else:
            cloud.append_blob(path, addition)
    except OSError as error:
        raise OutputError(f"{path} cannot be written ({type(error).__name__})") from None


def _append_local(path: Path, addition: Callable[[bytes], tuple[int, bytes]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        kept, added = addition(file.read())
        file.truncate(kept)
        file.write(added)
        file.flush()
        os.fsync(file.fileno())


class _S3File(io.BufferedIOBase):
    """A file on S3 that is opened at its first byte: Beam cannot write one without any there."""

    def __init__(self, path: str, opened: Callable[[], Any]):
        self._path, self._opened = path, opened
        self._file: Any = None

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        if self._file is None and len(content):
            self._file = self._opened()
        if self._file is not None:
            self._file.write(content)
        return len(content)

    def close(self) -> None:
        if self.closed:
            return
        super().close()
        if self._file is not None:
            self._file.close()
        else:
            with _told_as_os_errors(self._path):
                cloud_access.put_on_s3(_s3(self._path), self._path, b"")


def _append_s3(path: str, addition: Callable[[bytes], tuple[int, bytes]]) -> None:
    client, written = _s3(path), None
    for attempt in range(_APPEND_ATTEMPTS):
        content, tag = cloud_access.read_on_s3(client, path)
        if written is not None and content.startswith(written):
            return  # an earlier attempt succeeded, and its answer was lost
        kept, added = addition(content)
        written = content[:kept] + added
        if cloud_access.replace_on_s3(client, path, written, tag):
            return
        time.sleep(min(2.0, 0.05 * 2**attempt))  # another writer was faster
    raise OutputError(f"{path}: others write to it all the time; try again later")


def _s3(path: str) -> Any:
    """Beam's own client of boto3, so that all requests are made by the same account."""
    cloud.check_access(path)
    from apache_beam.io.aws import s3io

    named = tuple(sorted(item for item in os.environ.items() if item[0].startswith("AWS_")))
    if named not in _s3_clients:  # it takes a tenth of a second to make one
        _s3_clients[named] = s3io.S3IO(options=_s3_options()).client.client
    return _s3_clients[named]


def _s3_options() -> Any:
    from apache_beam.io.filesystems import FileSystems
    from apache_beam.options.pipeline_options import PipelineOptions
    from apache_beam.options.value_provider import RuntimeValueProvider

    return (
        FileSystems._pipeline_options or RuntimeValueProvider.runtime_options or PipelineOptions([])
    )


def _create_local_once(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        with temporary.open("xb") as file:  # with the rights that this user's new files have
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.link(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
