"""Places by their names: of this machine or elsewhere, joined, and whether they can be written."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import cast

from dxbeam.errors import check_type

_SCHEME = re.compile(r"[A-Za-z][-A-Za-z0-9+.]*://")


def without_file_scheme(path: str | os.PathLike[str]) -> str:
    """``file:///x`` as ``/x``, everything else as it is: Beam knows no file:// scheme."""
    if not isinstance(path, str):
        check_type(path, os.PathLike, "a place is named by a path or a URI")
        path = os.fspath(path)
    return path[len("file://") :] if path.startswith("file://") else path


def is_local(path: str) -> bool:
    """Whether ``path`` is on this machine's file system."""
    return _SCHEME.match(without_file_scheme(path)) is None


def join(directory: str | os.PathLike[str], *names: str) -> str:
    """``directory/names…`` in the path style of ``directory``."""
    directory = without_file_scheme(directory)
    if is_local(directory):
        return os.path.join(directory, *names)  # noqa: PTH118 (a Path would change "./a" and "a/")
    from apache_beam.io.filesystems import FileSystems

    return cast(str, FileSystems.join(directory, *names))


def why_unwritable(directory: str) -> str | None:
    """Why nothing can be written below a local ``directory``, if so; elsewhere only trying shows.

    Nothing is made: what is there of the path must be a directory that this user may write to.
    """
    if not is_local(directory):
        return None
    path = Path(without_file_scheme(directory)).absolute()
    try:
        there = next(place for place in (path, *path.parents) if os.path.lexists(place))
        if not there.is_dir():
            return f"{there} is no directory"
        if not os.access(there, os.W_OK | os.X_OK):
            return f"{there} may not be written to"
    except OSError as error:
        return f"{error.strerror}"
    return None


def why_no_file(path: str) -> str | None:
    """Why no file can be written at a local ``path``, if so; nothing is made, as above."""
    if is_local(path) and Path(without_file_scheme(path)).is_dir():
        return "it is a directory"
    return why_unwritable(path.rpartition("/")[0] or ".")
