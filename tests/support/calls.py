"""Many calls at once, and modules that are in no package."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType

from dxbeam.errors import OutputError


def at_once(threads: int, number: int, action: Callable[[int], object]) -> list[bool]:
    """Which of many calls at once were let through: those that raised no OutputError."""

    def succeeded(which: int) -> bool:
        try:
            action(which)
        except OutputError:
            return False
        return True

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(succeeded, range(number)))


def module_at(path: Path) -> ModuleType:
    """A module that is in no package."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
