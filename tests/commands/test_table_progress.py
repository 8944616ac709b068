"""What is said of the neighbour table before and while it is made."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

from dxbeam.commands import table_progress
from dxbeam.commands.table_progress import TableEstimate
from dxbeam.space import artifact
from dxbeam.space.table_pieces import whole_pieces, write_piece


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
    assert table_progress.progress(1000, 4000, 60.0) == (
        "Neighbours of 1,000 of 4,000 words (25%); 3 minutes left"
    )


def test_what_was_there_before_says_nothing_of_the_time_left() -> None:
    assert "3 minutes left" in table_progress.progress(2000, 5000, 60.0, found=1000)
    again = TableEstimate(4000, 400.0, here=True, found=1000).sentence
    assert again.endswith("about 5 minutes on this machine, as those of 1,000 words are there")


@pytest.mark.parametrize("lost", ["neighbors", "radii"])
def test_a_piece_that_is_not_whole_does_not_count(tmp_path: Path, lost: str) -> None:
    _write(tmp_path, 0, 512)
    [path] = tmp_path.glob(f"*-{lost}.npy")
    path.write_bytes(path.read_bytes()[:-1])
    assert whole_pieces(str(tmp_path), 1000, 20) == {}
    path.unlink()
    assert whole_pieces(str(tmp_path), 1000, 20) == {}


@pytest.mark.parametrize("words", [1000, 512])
def test_progress_is_said_while_the_table_is_made(tmp_path: Path, words: int) -> None:
    heard, said = threading.Event(), []

    def say(sentence: str) -> None:
        said.append(sentence)
        heard.set()

    with table_progress.reported(str(tmp_path), words, 20, say, every=0.01):
        _write(tmp_path, 0, 512)
        assert heard.wait(5 if words > 512 else 0.1) == (words > 512)
    assert len(said) == (words > 512), "nothing is said twice, and nothing of what is complete"
