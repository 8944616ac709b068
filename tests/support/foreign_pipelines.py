"""The command ``dxbeam`` in a folder that has a package ``pipelines`` of somebody else's."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
FOREIGN = 'raise ImportError("this is somebody else\'s package")\n'


def write(folder: Path, *launchers: str) -> None:
    """A package that can be neither imported nor taken for ours, with modules of these names."""
    (folder / "pipelines").mkdir()
    for name in ("__init__", "sanitize", "audit", "release_vectors", *launchers):
        (folder / "pipelines" / f"{name}.py").write_text(FOREIGN)


def dxbeam(folder: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    """Runs the command there; this folder comes before ours on its path, and on its workers'."""
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "dxbeam", *argv],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": f"{folder}:{ROOT}"},
        check=False,
    )
