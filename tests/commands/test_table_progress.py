"""What is said of the neighbour table before and while it is made."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

from dxbeam.commands import table_progress
from dxbeam.commands.table_progress import TableEstimate
from dxbeam.space import artifact, artifact_manifest


def test_a_long_table_is_announced_with_sizes_that_may_serve() -> None:
    sentence = TableEstimate(2_200_000, 3 * 3600, here=True).sentence
    assert sentence.startswith("Now their neighbours: about 3.0 hours on this machine. The first")
    assert "--max_words=50000 about 6 seconds" in sentence
    assert "--max_words=400000 about 6 minutes" in sentence


def test_a_short_table_is_announced_alone() -> None:
    for estimate in (TableEstimate(100_000, 40, True), TableEstimate(30_000, 1e5, True)):
        assert "max_words" not in estimate.sentence
    cluster = TableEstimate(100_000, 40, here=False).sentence
    assert cluster == ("Now their neighbours: about 40 seconds of one core, less with more workers")


def test_an_estimate_of_a_draft(tmp_path: Path) -> None:
    vectors = np.random.default_rng(0).normal(size=(3000, 4)).astype(np.float32)
    words = [f"w{i}" for i in range(len(vectors))]
    shape = artifact.write_words_and_vectors([(words, vectors)], tmp_path)
    estimate = table_progress.estimate(str(tmp_path), shape, 20, 1, 2)
    assert estimate.words == 3000
    assert estimate.here
    assert estimate.seconds > 0
    assert not table_progress.estimate(str(tmp_path), shape, 20, 1, None).here


def _piece(folder: Path, first: int, rows: int, attempt: str = "a") -> None:
    path = folder / artifact_manifest.PIECES / f"{first:09d}-{attempt}-radii.npy"
    path.parent.mkdir(exist_ok=True)
    np.save(path, np.zeros(rows))


def test_progress_counts_each_piece_once(tmp_path: Path) -> None:
    assert table_progress.words_done(str(tmp_path)) == 0
    _piece(tmp_path, 0, 512)
    _piece(tmp_path, 512, 488)
    _piece(tmp_path, 512, 488, "again")
    assert table_progress.words_done(str(tmp_path)) == 1000
    assert table_progress.progress(1000, 4000, 60.0) == (
        "Neighbours of 1,000 of 4,000 words (25%); 3 minutes left"
    )


@pytest.mark.parametrize("rows", [512, 1000])
def test_progress_is_said_while_the_table_is_made(tmp_path: Path, rows: int) -> None:
    heard, said = threading.Event(), []

    def say(sentence: str) -> None:
        said.append(sentence)
        heard.set()

    with table_progress.reported(str(tmp_path), 1000, say, every=0.01):
        _piece(tmp_path, 0, rows)
        assert heard.wait(5 if rows < 1000 else 0.1) == (rows < 1000)
    assert len(said) == (rows < 1000), "nothing is said twice, and nothing of what is complete"
