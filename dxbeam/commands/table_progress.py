"""How long the neighbour table will take, before it starts, and how far it is, while it is made."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from dxbeam.release.plan import duration
from dxbeam.space.artifact import artifact
from dxbeam.space.artifact.artifact import WordsAndVectors
from dxbeam.space.artifact.table_pieces import whole_pieces
from dxbeam.space.search.backends.choose_backend import AUTO
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.transforms.progress import EXPECTED, Progress

FEW_WORDS = 20_000
"""The table of this many words takes seconds, which is not worth an estimate."""

SMALLER = (50_000, 100_000, 400_000)
"""Sizes that may serve as well, where the table of all words takes long."""

_LONG = 15 * 60.0
_ROWS = 512
_SECONDS_PER_REPORT = 10.0

WORDS = "words"
"""What progress is counted in."""


class TableEstimate(NamedTuple):
    """What the table of this many words takes: the search for each word grows with their number.

    Attributes:
      words: N.
      seconds: as long as everything takes that was measured, or of one core of a cluster.
      here: whether it is made on this machine.
      done: of how many words the neighbours are there already.
    """

    words: int
    seconds: float
    here: bool
    done: int = 0

    @property
    def sentence(self) -> str:
        """As a person reads it; with smaller sizes, where it is long."""
        place = "on this machine" if self.here else "of one core, less with more workers"
        left = self.seconds * (1 - self.done / self.words)
        told = f"Now their neighbours: about {duration(left)} {place}"
        if self.done:
            return f"{told}, as those of {self.done:,} words are there"
        smaller = [size for size in SMALLER if size < self.words]
        if self.seconds < _LONG or not smaller:
            return told
        each = ", ".join(
            f"--max_words={size} about {duration(self.seconds * (size / self.words) ** 2)}"
            for size in smaller
        )
        return (
            f"{told}. The first words of the file may serve, and take less: {each}; "
            "docs/guides/vocabulary-size.md says how much of a text they cover. With "
            "--table_pieces a build that is stopped goes on where it was"
        )


def estimate(
    uri: str,
    shape: WordsAndVectors,
    depth: int,
    threads: int,
    workers: int | None,
    backend: str = AUTO,
    done: int = 0,
) -> TableEstimate:
    """Searches a few hundred words of a draft, and concludes what all of them will take.

    ``workers`` are processes on this machine that search at once; None on a cluster. Of ``done``
    words the neighbours are there already.
    """
    search = NeighborSearch(artifact.open_draft(uri, shape.digest), threads, backend)
    rows = np.unique(np.linspace(0, shape.words - 1, _ROWS).astype(np.int64))
    started = time.perf_counter()
    search.neighbor_table(rows[:: len(rows) // 64 or 1], depth)
    prepared = time.perf_counter()
    search.neighbor_table(rows, depth)
    per_row = (time.perf_counter() - prepared) / len(rows)
    seconds = prepared - started + shape.words * per_row / (workers or 1)
    return TableEstimate(shape.words, seconds, workers is not None, done)


def words_done(pieces: str, words: int, depth: int) -> int:
    """Of how many of N words the pieces of the table are in this folder."""
    try:
        return sum(piece.rows for piece in whole_pieces(pieces, words, depth).values())
    except Exception:  # a place that cannot be listed just now
        return 0


@contextlib.contextmanager
def reported(
    pieces: str, words: int, depth: int, every: float = _SECONDS_PER_REPORT
) -> Iterator[None]:
    """Counts, as long as the block takes, of how many words the table is there.

    Every few seconds it looks into the folder of its pieces.
    """
    ended, progress = threading.Event(), Progress()
    counted = words_done(pieces, words, depth)
    progress.count(**{f"{EXPECTED}{WORDS}": words, WORDS: counted})
    progress.tell()

    def report() -> None:
        said = counted
        while not ended.wait(every):
            done = words_done(pieces, words, depth)
            progress.count(**{WORDS: max(0, done - said)})
            said = max(said, done)

    reporter = threading.Thread(target=report, name="table progress", daemon=True)
    reporter.start()
    try:
        yield
    finally:
        ended.set()
        reporter.join()
