"""What is said of the neighbour table before and while it is made."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest

from dxbeam.commands import table_progress
from dxbeam.commands.table_progress import TableEstimate
from dxbeam.space.artifact import artifact
from dxbeam.space.artifact.table_pieces import whole_pieces, write_piece


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


def _write(folder: Path, first: int, rows: int) -> None:
    write_piece(str(folder), first, np.zeros((rows, 20), np.int32), np.zeros(rows))


def test_progress_counts_each_piece_once(tmp_path: Path) -> None:
    assert table_progress.words_done(str(tmp_path), 1000, 20) == 0
    _write(tmp_path, 0, 512)
    _write(tmp_path, 512, 488)
    _write(tmp_path, 512, 488)
    assert table_progress.words_done(str(tmp_path), 1000, 20) == 1000


def test_what_was_there_before_says_nothing_of_the_time_left() -> None:
    again = TableEstimate(4000, 400.0, here=True, done=1000).sentence
    assert again.endswith("about 5 minutes on this machine, as those of 1,000 words are there")


@pytest.mark.parametrize("lost", ["neighbors", "radii"])
def test_a_piece_that_is_not_whole_does_not_count(tmp_path: Path, lost: str) -> None:
    _write(tmp_path, 0, 512)
    [path] = tmp_path.glob(f"*-{lost}.npy")
    path.write_bytes(path.read_bytes()[:-1])
    assert whole_pieces(str(tmp_path), 1000, 20) == {}
    path.unlink()
    assert whole_pieces(str(tmp_path), 1000, 20) == {}


def test_words_are_counted_while_the_table_is_made(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    _write(tmp_path, 0, 512)
    with table_progress.reported(str(tmp_path), 2000, 20, every=0.01):
        assert caplog.messages[0].endswith(": found_words=2000 words=512"), "from the beginning"
        _write(tmp_path, 512, 512)
