"""Files of this machine: written once, appended to, deleted."""

from __future__ import annotations

import fcntl
import os
import shutil
import uuid
from collections.abc import Callable
from pathlib import Path


def create_once(place: str, content: bytes) -> None:
    """Writes a file, whole or not at all, by a hard link to a finished temporary file."""
    path = Path(place)
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


def delete_unfinished(place: str) -> None:
    """Deletes what ``create_once`` left next to a file where its process was killed."""
    path = Path(place)
    if path.parent.is_dir():
        for entry in path.parent.iterdir():
            if entry.name.startswith(f".{path.name}."):
                delete(str(entry))


def append(place: str, addition: Callable[[bytes], tuple[int, bytes]]) -> None:
    """Appends to a file under a lock; see ``storage.append``."""
    path = Path(place)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        kept, added = addition(file.read())
        file.truncate(kept)
        file.write(added)
        file.flush()
        os.fsync(file.fileno())


def delete(place: str) -> None:
    """Deletes the file or everything below the directory; silent where there is none."""
    if Path(place).is_dir():
        shutil.rmtree(place)
    else:
        Path(place).unlink(missing_ok=True)
