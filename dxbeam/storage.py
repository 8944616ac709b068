"""Bytes at local or gs:// paths, and writes that succeed for one writer only.

Everything goes through Beam's file systems, so any scheme they know can be read; only
``create_once`` needs more than they offer and speaks to Cloud Storage itself.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

from apache_beam.io.filesystem import CompressionTypes
from apache_beam.io.filesystems import FileSystems

from dxbeam import stopping
from dxbeam.errors import OutputError

_BLOCK = 1 << 20
_APPEND_ATTEMPTS = 20


def without_file_scheme(path: str) -> str:
    """``file:///x`` as ``/x``, everything else as it is: Beam knows no file:// scheme."""
    return path[len("file://") :] if path.startswith("file://") else path


def is_local(path: str) -> bool:
    """Whether ``path`` is on this machine's file system."""
    return "://" not in without_file_scheme(path)


def join(directory: str, *names: str) -> str:
    """``directory/names…`` in the path style of ``directory``."""
    return cast(str, FileSystems.join(without_file_scheme(directory), *names))


def open_read(path: str, decompress: bool = False) -> BinaryIO:
    """Opens ``path`` for reading; by its suffix decompressed where asked."""
    compression = CompressionTypes.AUTO if decompress else CompressionTypes.UNCOMPRESSED
    path = without_file_scheme(path)
    if is_local(path) and not decompress:
        return Path(path).open("rb")
    return cast(BinaryIO, FileSystems.open(path, compression_type=compression))


@stopping.writing()
def open_write(path: str, compress: bool = False) -> BinaryIO:
    """Opens ``path`` for writing, making its directory; by its suffix compressed where asked."""
    path = without_file_scheme(path)
    if is_local(path):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
    compression = CompressionTypes.AUTO if compress else CompressionTypes.UNCOMPRESSED
    return cast(BinaryIO, FileSystems.create(path, compression_type=compression))


def read(path: str) -> bytes:
    """All bytes of ``path``."""
    with open_read(path) as file:
        return file.read()


def exists(path: str) -> bool:
    """Whether a file (not a directory) lies at ``path``."""
    return bool(FileSystems.exists(without_file_scheme(path)))


def match(pattern: str) -> list[tuple[str, int]]:
    """Paths and sizes in bytes of the files that match a glob, in order of path."""
    [result] = FileSystems.match([without_file_scheme(pattern)])
    return sorted((entry.path, entry.size_in_bytes) for entry in result.metadata_list)


def first_file_below(directory: str) -> str | None:
    """The path of one file anywhere below ``directory``, or None."""
    path = without_file_scheme(directory)
    if is_local(path):
        found = (str(entry) for entry in Path(path).rglob("*") if not entry.is_dir())
        return next(found, None)
    prefix = path if path.endswith("/") else path + "/"
    [result] = FileSystems.match([prefix + "**"], limits=[1])
    return result.metadata_list[0].path if result.metadata_list else None


def local_directories(directory: str, pattern: str) -> list[str]:
    """Directories right below a local ``directory`` whose names match a glob."""
    found = Path(without_file_scheme(directory)).glob(pattern)
    return sorted(str(entry) for entry in found if entry.is_dir())


@stopping.writing()
def delete(path: str) -> None:
    """Deletes the file or everything below the directory ``path``; silent where there is none."""
    path = without_file_scheme(path)
    if is_local(path):
        if Path(path).is_dir():
            shutil.rmtree(path)
        else:
            Path(path).unlink(missing_ok=True)
    elif exists(path) or first_file_below(path):
        FileSystems.delete([path])


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


@stopping.writing()
def move(source: str, target: str) -> None:
    """Moves one file within a file system, replacing what is there."""
    FileSystems.rename([without_file_scheme(source)], [without_file_scheme(target)])


def _blocks(file: BinaryIO) -> Iterator[bytes]:
    while block := file.read(_BLOCK):
        yield block


@stopping.writing()
def create_once(path: str, content: bytes) -> None:
    """Writes ``content`` to ``path``, whole or not at all, for the first writer only.

    Locally a hard link is made to a finished temporary file; on Cloud Storage the upload
    carries the precondition that no object is there.

    Raises:
      OutputError: ``path`` exists already, with other content. The same content is accepted, so
        that a retried write succeeds.
    """
    path = without_file_scheme(path)
    try:
        if is_local(path):
            _create_local_once(Path(path), content)
        else:
            _create_blob_once(path, content)
    except FileExistsError:
        if read(path) != content:
            raise OutputError(
                f"{path} was written by another run; choose another --output"
            ) from None


def delete_unfinished(path: str) -> None:
    """Deletes what ``create_once`` left beside a local ``path`` where its process was killed."""
    path = without_file_scheme(path)
    if is_local(path) and Path(path).parent.is_dir():
        for entry in Path(path).parent.iterdir():
            if entry.name.startswith(f".{Path(path).name}."):
                delete(str(entry))


@stopping.writing()
def append(path: str, addition: Callable[[bytes], bytes]) -> None:
    """Appends to a small file that several writers share; no other writes in between.

    Locally the file is locked; on Cloud Storage the upload carries the precondition that the object
    is still the one that was read, and is tried again where it is not. A last line that a writer
    was cut off in, so one that does not end, is replaced.

    Args:
      path: a local path or gs:// object; made where there is none.
      addition: what is there -> what to append; what it raises, ends the attempt.

    Raises:
      OutputError: the place is of another kind, cannot be written, or others write all the time.
    """
    path = without_file_scheme(path)
    try:
        if is_local(path):
            _append_local(Path(path), addition)
        elif path.startswith("gs://"):
            _append_blob(path, addition)
        else:
            raise OutputError(f"{path}: this must be a local file or a gs:// object")
    except OSError as error:
        raise OutputError(f"{path} cannot be written ({type(error).__name__})") from None


def _append_local(path: Path, addition: Callable[[bytes], bytes]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        content = _whole_lines(file.read())
        added = addition(content)
        file.truncate(len(content))
        file.write(added)
        file.flush()
        os.fsync(file.fileno())


def _append_blob(path: str, addition: Callable[[bytes], bytes]) -> None:
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
            written = content + addition(content)
            blob.upload_from_string(written, if_generation_match=generation, timeout=60)
        except PreconditionFailed:
            time.sleep(min(2.0, 0.05 * 2**attempt))  # another writer was faster
            continue
        except GoogleAPIError as error:
            raise OSError(f"{type(error).__name__}") from None
        return
    raise OutputError(f"{path}: others write to it all the time; try again later")


def _whole_lines(content: bytes) -> bytes:
    return content[: content.rfind(b"\n") + 1]


def _create_local_once(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(0o644)
        os.link(temporary, path)
    finally:
        Path(temporary).unlink()


def _create_blob_once(path: str, content: bytes) -> None:
    from google.api_core.exceptions import GoogleAPIError, PreconditionFailed

    try:
        _blob(path).upload_from_string(content, if_generation_match=0, timeout=60)
    except PreconditionFailed:
        raise FileExistsError(path) from None
    except GoogleAPIError as error:
        raise OSError(errno.EIO, f"{type(error).__name__} from Cloud Storage", path) from None


def _blob(path: str) -> Any:
    from apache_beam.io.gcp import gcsio

    bucket, _, name = path[len("gs://") :].partition("/")
    # Beam's own client, so that all requests are made by the same account.
    return gcsio.GcsIO().client.bucket(bucket).blob(name)
