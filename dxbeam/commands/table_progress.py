"""How long the neighbour table will take, before it starts, and how far it is, while it is made."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from dxbeam import storage
from dxbeam.release.plan import duration
from dxbeam.space import artifact, artifact_manifest
from dxbeam.space.artifact import WordsAndVectors
from dxbeam.space.choose_backend import AUTO
from dxbeam.space.neighbors import NeighborSearch

FEW_WORDS = 20_000
"""The table of so many words takes seconds, which is not worth an estimate."""

SMALLER = (50_000, 100_000, 400_000)
"""Sizes that may serve as well, where the table of all words takes long."""

_LONG = 15 * 60.0
_ROWS = 512
_SECONDS_PER_REPORT = 10.0
_HEADER, _PER_ROW = 128, 8  # bytes of a .npy file of float64 numbers

Say = Callable[[str], None]


class TableEstimate(NamedTuple):
    """What the table of so many words takes: the search for each word grows with their number.

    Attributes:
      words: N.
      seconds: as long as everything takes that was measured, or of one core of a cluster.
      here: whether it is made on this machine.
    """

    words: int
    seconds: float
    here: bool

    @property
    def sentence(self) -> str:
        """As a person reads it; with smaller sizes, where it is long."""
        place = "on this machine" if self.here else "of one core, less with more workers"
        told = f"Now their neighbours: about {duration(self.seconds)} {place}"
        smaller = [size for size in SMALLER if size < self.words]
        if self.seconds < _LONG or not smaller:
            return told
        each = ", ".join(
            f"--max_words={size} about {duration(self.seconds * (size / self.words) ** 2)}"
            for size in smaller
        )
        return (
            f"{told}. The first words of the file may serve, and take less: {each}; "
            "docs/performance.md says how much of a text they cover"
        )


def estimate(
    uri: str,
    shape: WordsAndVectors,
    depth: int,
    threads: int,
    workers: int | None,
    asked: str = AUTO,
) -> TableEstimate:
    """Searches a few hundred words of a draft, and concludes what all of them will take.

    Args:
      uri: where the draft lies.
      shape: its N and n.
      depth: neighbours per word.
      threads: of a search.
      workers: processes on this machine that search at once; None on a cluster.
      asked: how they search, one of ``choose_backend.SEARCHES``.
    """
    search = NeighborSearch(artifact.open_draft(uri, shape.digest), threads, asked)
    rows = np.unique(np.linspace(0, shape.words - 1, _ROWS).astype(np.int64))
    started = time.perf_counter()
    search.neighbor_table(rows[:: len(rows) // 64 or 1], depth)
    prepared = time.perf_counter()
    search.neighbor_table(rows, depth)
    per_row = (time.perf_counter() - prepared) / len(rows)
    seconds = prepared - started + shape.words * per_row / (workers or 1)
    return TableEstimate(shape.words, seconds, workers is not None)


def words_done(uri: str) -> int:
    """Of how many words the pieces of the table are there."""
    try:
        found = storage.match(storage.join(uri, artifact_manifest.PIECES, "*-radii.npy"))
    except Exception:  # a place that cannot be listed just now
        return 0
    # A piece may be there twice, when a worker was lost.
    sizes = {path.rpartition("/")[2].partition("-")[0]: size for path, size in found}
    return sum(max(0, size - _HEADER) // _PER_ROW for size in sizes.values())


def progress(done: int, words: int, seconds: float) -> str:
    """How far the table is after so many seconds, and how long the rest takes."""
    left = duration(seconds / done * (words - done)) if done else "an unknown time"
    return f"Neighbours of {done:,} of {words:,} words ({done / words:.0%}); {left} left"


@contextlib.contextmanager
def reported(uri: str, words: int, say: Say, every: float = _SECONDS_PER_REPORT) -> Iterator[None]:
    """Says now and then, as long as the block takes, how far the table is.

    Args:
      uri: where the draft lies.
      words: N.
      say: shows a sentence.
      every: seconds between two reports.
    """
    ended, started = threading.Event(), time.monotonic()

    def report() -> None:
        said = 0
        while not ended.wait(every):
            done = words_done(uri)
            if said < done < words:
                said = done
                say(progress(done, words, time.monotonic() - started))

    reporter = threading.Thread(target=report, name="table progress", daemon=True)
    reporter.start()
    try:
        yield
    finally:
        ended.set()
        reporter.join()
