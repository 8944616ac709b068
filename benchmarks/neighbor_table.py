"""How fast the neighbour table is: rows by bounds on scores next to rows one by one.

    python -m benchmarks.neighbor_table vocabularies/glove

makes vocabularies of 50,000 to 400,000 words of 300 dimensions out of a smaller one, as
``benchmarks/large_vocabulary.py`` does. For each of them, and for each exact backend that this
processor has, it searches rows of the table, taking turns with searching them one by one in
float32, which was the only way before. It shows what the whole table would take of either, in
seconds and in processor seconds, their ratio, and whether the rows are equal. A law, seconds per
row = a + b N, is then fitted to what each backend took, and gives the time for 2.2 million words.

With ``--whole`` it builds one whole table of this many words by the fastest backend.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import threadpoolctl

from benchmarks.large_vocabulary import enlarged, given_words
from benchmarks.rows import command_line
from dxbeam.errors import ConfigurationError
from dxbeam.space.search.backends.choose_backend import FLOAT32, QUERY_BITS
from dxbeam.space.search.backends.float32_search import Float32Search
from dxbeam.space.search.neighbors import CLOSE_RANK, NeighborSearch
from dxbeam.space.vocabulary.words import Vocabulary

SIZES = (50_000, 100_000, 200_000, 400_000)
GLOVE_840B = 2_196_017
DEPTH = 256
ROWS_PER_PIECE = 512
"""As many as a worker takes at once."""


class Spent(NamedTuple):
    """Seconds by the clock and of the processor, of one row."""

    clock: float
    processor: float


def spent(work: Callable[[], Any], rows: int) -> tuple[Spent, Any]:
    """What a piece of work took for each row, and what came out."""
    clock, processor = time.perf_counter(), time.process_time()
    result = work()
    return Spent(
        (time.perf_counter() - clock) / rows, (time.process_time() - processor) / rows
    ), result


def vocabulary_of(words: list[str], vectors: Any, size: int) -> Vocabulary:
    """A vocabulary of this many words."""
    chunks = list(enlarged(words, vectors, size))
    return Vocabulary(
        [word for chunk, _ in chunks for word in chunk],
        np.concatenate([rows for _, rows in chunks]),
    )


def compare(vocabulary: Vocabulary, backend: str, pieces: int, threads: int) -> Spent | None:
    """Takes turns, shows both, and returns what a row took by bounds."""
    try:
        search = NeighborSearch(vocabulary, threads, backend)
        search.neighbor_table(np.arange(ROWS_PER_PIECE), DEPTH)  # prepares
    except ConfigurationError:
        return None  # this processor has it not
    one_by_one = Float32Search(vocabulary.vectors)
    one_by_one.neighbor_table(np.arange(2), DEPTH, CLOSE_RANK)
    old, new, equal = [], [], True
    words = len(vocabulary)
    for first in np.linspace(0, words - ROWS_PER_PIECE, pieces).astype(int):
        ids = np.arange(first, first + ROWS_PER_PIECE)
        took, ours = spent(lambda ids=ids: search.neighbor_table(ids, DEPTH), len(ids))
        new.append(took)
        few = ids[::4]
        took, theirs = spent(
            lambda few=few: one_by_one.neighbor_table(few, DEPTH, CLOSE_RANK), len(few)
        )
        old.append(took)
        equal &= all(np.array_equal(a[::4], b) for a, b in zip(ours, theirs, strict=True))
    before, now = (Spent(*np.median(np.array(taken), axis=0)) for taken in (old, new))
    print(
        f"{words:>9,} words, {backend:>7}: {now.clock * words:8.0f} s "
        f"({now.processor * words:6.0f} of the processors); "
        f"one by one {before.clock * words:8.0f} s ({before.processor * words:6.0f}); "
        f"ratio {before.clock / now.clock:.1f} "
        f"({before.processor / now.processor:.1f}); rows {'equal' if equal else 'DIFFERENT'}; "
        f"load {os.getloadavg()[0]:.1f}",
        flush=True,
    )
    return now


if __name__ == "__main__":
    parser = command_line(__doc__)
    parser.add_argument("source", help="artifact or embedding file that is enlarged")
    parser.add_argument("--pieces", type=int, default=5, help="of 512 rows each, that are searched")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--backends", nargs="*", default=[*QUERY_BITS, FLOAT32])
    parser.add_argument("--sizes", nargs="*", type=int, default=SIZES)
    parser.add_argument("--whole", type=int, help="builds a whole table of N words instead")
    arguments = parser.parse_args()
    threadpoolctl.threadpool_limits(arguments.threads)
    smaller = given_words(arguments.source)
    if arguments.whole:
        whole = vocabulary_of(*smaller, arguments.whole)
        fastest = NeighborSearch(whole, arguments.threads)
        ids = np.arange(len(whole))
        pieces = [ids[i : i + ROWS_PER_PIECE] for i in range(0, len(ids), ROWS_PER_PIECE)]
        took, _ = spent(lambda: [fastest.neighbor_table(piece, DEPTH) for piece in pieces], 1)
        print(
            f"{len(whole):,} words by {fastest.exact_backend.name}: {took.clock:.0f} s, "
            f"{took.processor:.0f} of the processors"
        )
        raise SystemExit
    taken: dict[str, list[tuple[int, Spent]]] = {}
    for size in arguments.sizes:
        vocabulary = vocabulary_of(*smaller, size)
        for backend in arguments.backends:
            now = compare(vocabulary, backend, arguments.pieces, arguments.threads)
            if now is not None:
                taken.setdefault(backend, []).append((size, now))
    for backend, rows in taken.items():
        sizes = np.array([size for size, _ in rows])
        for kind in Spent._fields if len(rows) > 1 else ():
            seconds = np.array([getattr(now, kind) for _, now in rows])
            # Errors are shares of what is measured, so each equation is divided by that.
            sides = np.stack([1 / seconds, sizes / seconds], axis=1)
            (a, b), *_ = np.linalg.lstsq(sides, np.ones(len(seconds)), rcond=None)
            off = np.abs((a + b * sizes) / seconds - 1).max()
            whole_file = GLOVE_840B * (a + b * GLOVE_840B)
            print(
                f"{backend}: {kind} {a * 1e6:.0f} + {b * 1e9:.2f} N / 1000 µs a row "
                f"(off by at most {off:.0%}); {GLOVE_840B:,} words: {whole_file / 3600:.1f} hours"
            )
