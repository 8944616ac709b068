"""dxbeam decode on an engine writes what it writes in this process."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dxbeam.release.verification.verify import verify_release
from tests.engines import corpus
from tests.support import tiny

pytestmark = pytest.mark.engines

OF_THE_RUN = ("run", "started", "shards", "versions")
"""What of release.json is of the run, and of the files that the workers happened to write."""


@pytest.fixture(scope="module")
def first(small: corpus.Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of drawn words, and of words outside the vocabulary."""
    output = tmp_path_factory.mktemp("first") / "release"
    key, words = f"--key_uri=file://{small.key}", ("--mechanism=santext", "--epsilon=3")
    done = tiny.program("demo", small.pattern, output, *words, key)
    assert done.returncode == 0, done.stderr[-2000:]
    return output


def _decoded(first: Path, output: Path, *flags: str) -> dict[str, Any]:
    """The release.json of a decoded release."""
    command = [sys.executable, "-m", "pipelines.decode", str(first), f"--output={output}"]
    public = ["--vocabulary=demo", "--language_model=demo", "--search_threads=1"]
    done = subprocess.run(
        [*command, *public, *flags], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert corpus.SECRET not in done.stdout + done.stderr
    written: dict[str, Any] = json.loads((output / "release.json").read_text())
    return {name: value for name, value in written.items() if name not in OF_THE_RUN}


@pytest.fixture(scope="module")
def here(first: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """Decoded in one process, and its release.json."""
    output = tmp_path_factory.mktemp("here") / "decoded"
    return output, _decoded(first, output, "--runner=FnApiRunner")


@pytest.mark.parametrize("flags", ["flink"], indirect=True, scope="module")
def test_the_same_is_written_as_here(
    flags: tuple[str, ...], first: Path, here: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    own = [flag for flag in flags if flag not in corpus.DECODED]
    written = _decoded(first, tmp_path / "decoded", *own)
    expected, said = here
    assert tiny.released(tmp_path / "decoded") == tiny.released(expected)
    assert tiny.released(expected) != tiny.released(first)
    assert written == said
    verify_release(str(tmp_path / "decoded"), "demo", decoded_from=str(first))
