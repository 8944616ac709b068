"""What is in examples/ does what it says, as it stands there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import dxbeam
from dxbeam.release import ledger
from tests.support import notebook, tiny

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
RECORDS = [
    {"id": "1", "text": "The patient was seen on Monday."},
    {"id": "2", "text": "She was told to come back in two weeks."},
    {"id": "3", "text": "\0"},
]


def test_every_example_is_listed_and_tested() -> None:
    listed = (EXAMPLES / "README.md").read_text("utf-8")
    files = {path.name for path in EXAMPLES.iterdir() if path.is_file()} - {"README.md"}
    assert files == {"beam_pipeline.py", "notebook.ipynb", "scheduled_job.sh"}
    for name in files:
        assert f"({name})" in listed


def _lines(folder: Path, glob: str) -> list[dict[str, Any]]:
    return [json.loads(line) for path in sorted(folder.glob(glob)) for line in path.open()]


def test_a_pipeline_of_ones_own(tmp_path: Path) -> None:
    corpus = tiny.write_jsonl(tmp_path / "notes.jsonl", RECORDS)
    done = subprocess.run(
        [
            sys.executable, EXAMPLES / "beam_pipeline.py", f"--input={corpus}", "--epsilon=10",
            f"--output={tmp_path}/out/part", f"--counts={tmp_path}/apart/part",
            "--runner=FnApiRunner",
        ],
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert "at most exp(10 * d(x, x'))" in done.stdout
    released = {row["id"]: row["text"] for row in _lines(tmp_path, "out/part*.jsonl")}
    assert {name: len(text.split()) for name, text in released.items()} == {"1": 6, "2": 9}
    [counts] = _lines(tmp_path, "apart/part*.counts.jsonl")
    assert (counts["documents"], counts["tokens"]) == (2, 15)
    [rejected] = _lines(tmp_path, "apart/part*.rejected.jsonl")
    assert rejected["where"] == "3"


def _night(tmp_path: Path, day: str) -> subprocess.CompletedProcess[str]:
    places = {"NOTES": "notes", "RELEASES": "releases", "METRICS": "metrics", "KEY": "key"}
    environment = {name: str(tmp_path / place) for name, place in places.items()}
    return subprocess.run(
        [EXAMPLES / "scheduled_job.sh"],
        env={**os.environ, **environment, "DAY": day, "PYTHON": sys.executable},
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip


def _shards(release: Path) -> list[bytes]:
    return sorted(path.read_bytes() for path in release.glob("part-*"))


def test_a_release_every_night(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text(tiny.KEY.hex())
    key.chmod(0o600)
    notes = tiny.write_jsonl(tmp_path / "notes" / "2026-01-02" / "a.jsonl", RECORDS[:2])
    release = tmp_path / "releases" / "2026-01-02"

    first = _night(tmp_path, "2026-01-02")
    assert first.returncode == 0, first.stderr[-3000:]
    assert dxbeam.verify_release(str(release)).manifest["documents_out"] == 2
    assert not list(release.glob("*metrics*"))
    shards = _shards(release)

    again = _night(tmp_path, "2026-01-02")
    assert again.returncode == 0, "a night that is released is left alone"
    assert _shards(release) == shards

    shutil.rmtree(release)  # and the metrics stay where they are
    lost = _night(tmp_path, "2026-01-02")
    assert lost.returncode == 0, lost.stderr[-3000:]
    assert "whole and unchanged" in lost.stdout, "the ledger has the digest of each run"
    assert _shards(release) == shards, "a release that was lost comes out the same"
    assert len(list((tmp_path / "metrics" / "2026-01-02").iterdir())) == 2
    entries = ledger.read(str(tmp_path / "metrics" / "ledger.jsonl"))
    assert ledger.spent(entries, "notes-2026-01-02") == (10.0, 0.0), "and costs nothing"

    shutil.rmtree(release)
    tiny.write_jsonl(notes, [RECORDS[0], {"id": "2", "text": "She was told nothing."}])
    changed = _night(tmp_path, "2026-01-02")
    assert changed.returncode != 0, "other notes under one name spend more than is allowed"
    assert not (release / "release.json").exists()


NOTEBOOK = notebook.read(EXAMPLES / "notebook.ipynb")
SAME = "same-every-time"
"""The tag of cells that print nothing that depends on the secret key."""


def test_the_notebook_runs_and_prints_what_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or as much of it, where texts are drawn anew; tests/support/notebook.py stores it again."""
    monkeypatch.chdir(tmp_path)
    now = notebook.executed(NOTEBOOK)
    tagged = 0
    for stored, cell in zip(notebook.code_cells(NOTEBOOK), notebook.code_cells(now), strict=True):
        old, new = notebook.printed(stored), notebook.printed(cell)
        if SAME in cell["metadata"].get("tags", []):
            assert new == old
            tagged += 1
        assert new.count("\n") == old.count("\n")
        assert cell["execution_count"] == stored["execution_count"]
    assert tagged >= 4


def test_the_stored_notebook_says_nothing_of_a_machine() -> None:
    stored = "".join(map(notebook.printed, notebook.code_cells(NOTEBOOK)))
    assert not any(word in stored for word in ("/home", "/root", "/tmp", "Traceback"))
