"""Bytes at local, gs:// or s3:// paths, and writes that succeed for one writer only.

Any scheme that Beam's file systems know can be read. What is written, listed or deleted is named
literally: Beam takes paths for globs there, and a release may be called ``rel[1]`` or ``*``. Only
``match`` takes a glob. Deleting and writing once speak to the store itself: ``local``, ``gcs`` and
``s3``.

Beam is imported where one of its file systems is needed, so plain local files need no Beam.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

from dxbeam.errors import OutputError
from dxbeam.storage import local, stores
from dxbeam.storage.changes import writing
from dxbeam.storage.paths import is_local as is_local
from dxbeam.storage.paths import join as join
from dxbeam.storage.paths import why_no_file as why_no_file
from dxbeam.storage.paths import why_unwritable as why_unwritable
from dxbeam.storage.paths import without_file_scheme as without_file_scheme

_BLOCK = 1 << 20


def knows(path: str) -> bool:
    """Whether there is a file system for paths like this one, such as gs:// and not gcs://."""
    path = without_file_scheme(path)
    if (store := stores.store_of(path)) is not None:
        return store.is_installed()
    try:
        _system(path)
    except OSError:
        return False
    return True


def open_read(path: str, decompress: bool = False) -> BinaryIO:
    """Opens ``path`` for reading; by its suffix decompressed where asked."""
    path = without_file_scheme(path)
    if is_local(path) and not decompress:
        return Path(path).open("rb")
    with stores.as_os_errors(path):
        return cast(BinaryIO, _reached(path).open(path, compression_type=_compression(decompress)))


@writing()
def open_write(path: str, compress: bool = False) -> BinaryIO:
    """Opens ``path`` for writing, making its directory; by its suffix compressed where asked."""
    path = without_file_scheme(path)
    if is_local(path):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
    compression = _compression(compress)
    if (store := stores.store_of(path)) is not None:
        stores.check_access(path)
        return store.open_write(path, compression)
    return cast(BinaryIO, _reached(path).create(path, compression_type=compression))


def read(path: str) -> bytes:
    """All bytes of ``path``."""
    path = without_file_scheme(path)
    with stores.as_os_errors(path):
        if (store := stores.store_of(path)) is not None:
            stores.check_access(path)
            return store.read(path)
        with open_read(path) as file:
            return file.read()


def exists(path: str) -> bool:
    """Whether a file (not a directory) is at ``path``."""
    path = without_file_scheme(path)
    if is_local(path):
        return Path(path).exists() and not Path(path).is_dir()
    with stores.as_os_errors(path):
        stores.check_access(path)
        return bool((stores.store_of(path) or _system(path)).exists(path))


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
    """Deletes the file or everything below the directory ``path``; silent where there is none."""
    path = without_file_scheme(path)
    if is_local(path):
        local.delete(path)
        return
    store = stores.known_store(path)
    with stores.as_os_errors(path):
        for name in [path, *(join(path, name) for name in names_below(path))]:
            store.delete(name)


def delete_empty(directory: str) -> None:
    """Deletes a local folder if nothing is in it; elsewhere there are no folders."""
    if is_local(directory):
        with contextlib.suppress(OSError):  # it holds something, or is not there
            Path(without_file_scheme(directory)).rmdir()


def sha256(path: str) -> tuple[str, int]:
    """Hex SHA-256 and size in bytes of the file at ``path``, streaming."""
    digest, size = hashlib.sha256(), 0
    with open_read(path) as file:
        while block := file.read(_BLOCK):
            digest.update(block)
            size += len(block)
    return digest.hexdigest(), size


def copy(source: str, target: str) -> None:
    """Copies one file, streaming, between any two places."""
    with open_read(source) as reader, open_write(target) as writer:
        shutil.copyfileobj(reader, writer, _BLOCK)


@writing()
def move(source: str, target: str) -> None:
    """Moves one file within a file system, replacing what is there."""
    source = without_file_scheme(source)
    _reached(source).rename([source], [without_file_scheme(target)])


def _reached(path: str) -> Any:
    """Beam's file system for a path, which is not out of reach for want of credentials."""
    stores.check_access(path)
    return _system(path)


def _system(path: str) -> Any:
    """Beam's file system for a path."""
    from apache_beam.io.filesystems import FileSystems

    try:
        if (store := stores.store_of(path)) is not None:
            return store.beam_system(path)
        return FileSystems.get_filesystem(path)
    except (ValueError, OSError):  # unknown, or what it needs is not installed
        raise OSError(errno.EINVAL, "no file system is known for this kind of path", path) from None


def _compression(by_suffix: bool) -> str:
    from apache_beam.io.filesystem import CompressionTypes

    return cast(str, CompressionTypes.AUTO if by_suffix else CompressionTypes.UNCOMPRESSED)


@writing()
def create_once(path: str, content: bytes) -> None:
    """Writes ``content`` to ``path``, whole or not at all, for the first writer only.

    Locally a hard link is made to a finished temporary file; on Cloud Storage and S3
    the upload carries the precondition that no object is there. OutputError refuses a path that has
    other content. The same content is accepted, so that a retried write succeeds.
    """
    path = without_file_scheme(path)
    try:
        (local if is_local(path) else stores).create_once(path, content)
    except FileExistsError:
        if read(path) != content:
            raise OutputError(f"{path} was written by another run; choose another place") from None


def delete_unfinished(path: str) -> None:
    """Deletes what ``create_once`` left next to a local ``path`` where its process was killed."""
    path = without_file_scheme(path)
    if is_local(path):
        local.delete_unfinished(path)


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
        (local if is_local(path) else stores).append(path, addition)
    except OSError as error:
        raise OutputError(f"{path} cannot be written ({type(error).__name__})") from None
