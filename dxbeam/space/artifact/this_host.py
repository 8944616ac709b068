"""What this host keeps of vocabularies: copies from Cloud Storage, and notes of what was checked.

Both are in a folder of this user only, below the directory for temporary files. A note says that
some files were whole and what they looked like then: path, device, inode, size, and times of
change. So a file that was touched since is checked again, and so is every file after the host was
started anew. A note holds nothing of a file.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import stat
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from dxbeam import storage
from dxbeam.errors import ArtifactError

_RULES = 1
"""Of what a checked file is known to hold; raised where more is checked, so old notes are void."""

SETTLED_SECONDS = 2.0
"""Clocks of file systems are coarse: a file that changed a moment ago may change once more and
look the same, so no note is left of it."""

_WHOLE = b"whole"

T = TypeVar("T")


def folder_of_this_user() -> Path:
    """The folder, made if there is none; an ArtifactError where others can write to it."""
    home = Path(tempfile.gettempdir()) / f"dxbeam-{os.getuid()}"
    home.mkdir(mode=0o700, exist_ok=True)
    status = home.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o022:
        raise ArtifactError(
            f"{home}, where this host keeps copies of vocabularies, belongs to somebody else or "
            "can be written by others; delete it, or set TMPDIR to a directory that only you "
            "can write to"
        )
    return home


def copy_here(prefix: str, name: str, files: Iterable[str]) -> Path:
    """Copies an artifact's files to this host, unless they are here; the copy appears at once."""
    home = folder_of_this_user()
    target = home / name
    if not target.exists():
        with tempfile.TemporaryDirectory(dir=home) as partial:
            for file in files:
                source = storage.join(prefix, file)
                try:
                    storage.copy(source, str(Path(partial) / "copy" / file))
                except OSError as error:
                    raise ArtifactError(
                        f"{source} cannot be copied to this host ({type(error).__name__}); see "
                        "that it is there, that this worker may read it, and that the disk has room"
                    ) from None
            try:
                (Path(partial) / "copy").rename(target)
            except OSError:
                if not target.exists():  # else another process of this host was faster
                    raise
    return target


def opened_here(place: str, manifest: Mapping[str, Any], open_files: Callable[[Path], T]) -> T:
    """Opens an artifact's files here; those of another place are copied first, for all processes.

    ``open_files`` opens a local directory, and raises ArtifactError where its files are damaged.
    """
    if storage.is_local(place):
        return open_files(Path(place))
    copy = copy_here(place, manifest["digest"], manifest["files"])
    try:
        return open_files(copy)
    except ArtifactError:
        storage.delete(str(copy))  # it was damaged since it was made
    return open_files(copy_here(place, manifest["digest"], manifest["files"]))


def check_file(path: Path, expected: Mapping[str, Any], rebuild: str) -> None:
    """Compares a file with what the manifest says of it; an ArtifactError says what to do."""
    try:
        digest, size = storage.sha256(str(path))
    except OSError as error:
        raise ArtifactError(f"{path} cannot be read ({type(error).__name__}); {rebuild}") from None
    if size != expected["bytes"]:
        raise ArtifactError(
            f"{path} has {size:,} bytes where the manifest says {expected['bytes']:,}; {rebuild}"
        )
    if digest != expected["sha256"]:
        raise ArtifactError(f"{path} is damaged (its SHA-256 does not match); {rebuild}")


@contextmanager
def checked_once(digest: str, files: Sequence[Path]) -> Iterator[bool]:
    """Lets one process of this host check files, while the others wait, and then trust it.

    Yields whether the caller is to check them; if it raises no error, that is noted. Where no note
    can be kept, each process checks for itself.
    """
    look = _look(digest, files)
    note = _locked_note(look)
    if note is None:
        yield True
        return
    with note:
        if note.read() == _WHOLE:
            fcntl.flock(note, fcntl.LOCK_UN)
            yield False
            return
        whole, settled = False, _settled(files)
        try:
            yield True
            whole = settled and _look(digest, files) == look
        finally:
            with suppress(OSError):
                if whole:
                    note.write(_WHOLE)
                else:
                    Path(note.name).unlink()


def _locked_note(look: str) -> BinaryIO | None:
    """The note on files of this look, which no other process holds; None where none can be kept."""
    try:
        note = (folder_of_this_user() / f"checked-{look}").open("a+b")
    except (OSError, ArtifactError):
        return None
    try:
        fcntl.flock(note, fcntl.LOCK_EX)
        note.seek(0)
    except OSError:
        note.close()
        return None
    return note


def _look(digest: str, files: Sequence[Path]) -> str:
    """What files look like without being read, as a SHA-256."""
    looks = []
    for file in files:
        with suppress(OSError):  # it is missing, which the check will say
            status = file.stat()
            times = (status.st_mtime_ns, status.st_ctime_ns)
            identity = (status.st_dev, status.st_ino, status.st_size, *times)
            looks.append((os.path.realpath(file), *identity))
    return hashlib.sha256(json.dumps([_RULES, _start(), digest, looks]).encode()).hexdigest()


def _settled(files: Sequence[Path]) -> bool:
    with suppress(OSError):
        return max(file.stat().st_ctime for file in files) + SETTLED_SECONDS < time.time()
    return False


def _start() -> str:
    """Names the time since this host was started; "" where that cannot be known."""
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text()
    return ""
