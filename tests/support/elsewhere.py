"""A file system of Beam's that is not local: the files of this machine under another scheme."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from apache_beam.io.localfilesystem import LocalFileSystem


def uri(path: Path) -> str:
    """``path`` as it is called elsewhere."""
    return f"elsewhere://{path}"


class Elsewhere(LocalFileSystem):
    """Beam finds it by its scheme as soon as this module is imported.

    Attributes:
      opened: names of the files that were opened for reading, in order.
      broken: names of the files that cannot be read at the moment.
    """

    opened: ClassVar[list[str]] = []
    broken: ClassVar[set[str]] = set()

    @classmethod
    def scheme(cls) -> str:
        return "elsewhere"

    def join(self, basepath: str, *paths: str) -> str:
        return "/".join([basepath.rstrip("/"), *paths])

    def open(self, path: str, *arguments: Any, **options: Any) -> Any:
        name = path.rpartition("/")[2]
        if name in self.broken:
            raise OSError(f"no connection to {name}")
        self.opened.append(name)
        return super().open(path.removeprefix("elsewhere://"), *arguments, **options)

    def exists(self, path: str) -> bool:
        return bool(super().exists(path.removeprefix("elsewhere://")))
