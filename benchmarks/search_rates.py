"""Queries a second of every search against the number of words, as a table and as a picture.

    python -m benchmarks.search_rates vocabularies/glove --picture docs/results/search-rates.svg

makes vocabularies of several sizes out of one, as ``benchmarks/large_vocabulary.py`` does, draws
words with multidimensional Laplace noise, and looks for the word nearest to each by every search
that this machine has (PyTorch where there is a GPU), and by raw ``faiss.IndexFlatL2.search``,
taking turns. A rate is that of one core: the queries, divided by the processor time of the best
turn, or with a GPU by its time by the clock.

Two limits are next to them: what this processor computes of nothing but the products, in integers
of 8 bits and in float32, by the same libraries.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import threadpoolctl
from matplotlib.figure import Figure

from benchmarks.large_vocabulary import given_words
from benchmarks.neighbor_table import vocabulary_of
from benchmarks.rows import command_line, processor
from benchmarks.searches import noisy_words
from dxbeam.analysis.pages.figures import INK, as_svg
from dxbeam.space.search.backends.choose_backend import (
    BACKENDS,
    FLOAT32,
    TORCH,
    is_exact_here,
)
from dxbeam.space.search.backends.score_bounds import WORDS_PER_BLOCK, ScoreBounds
from dxbeam.space.search.backends.torch_product import gpu_is_there
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.space.vocabulary.words import Vocabulary

SIZES = (33_849, 100_000, 400_000, 1_000_000)
RAW_FAISS = "faiss.IndexFlatL2 alone"
LIMITS = {"int8": "products alone, 8 bits", FLOAT32: "products alone, float32"}
LOOKS = {
    "int8": ("#0072b2", "solid"),
    "int7": ("#56b4e9", "solid"),
    FLOAT32: ("#009e73", "solid"),
    "faiss": ("#e69f00", "solid"),
    TORCH: ("#cc79a7", "solid"),
    RAW_FAISS: ("#d55e00", "dashed"),
    LIMITS["int8"]: (INK, "dotted"),
    LIMITS[FLOAT32]: (INK, "dashdot"),
}
"""Colour and dash of each curve (Okabe and Ito's colours)."""

Rates = dict[str, list[float]]


def products_alone(bounds: ScoreBounds, queries: Any) -> float:
    """Queries a second for each word: a tile of queries with a block of words, again and again."""
    tile = bounds.tile(queries)
    assert tile is not None
    scores = np.empty((len(queries), WORDS_PER_BLOCK), np.float32)
    best = min(seconds(lambda: tile.scores(0, scores)) for _ in range(40))
    return len(queries) * WORDS_PER_BLOCK / best


def seconds(work: Callable[[], Any], clock: Callable[[], float] = time.process_time) -> float:
    """What a piece of work takes."""
    started = clock()
    work()
    return clock() - started


def rates(vocabulary: Vocabulary, epsilon: float, queries: int, turns: int) -> dict[str, float]:
    """Queries a second of one core, by every search and by only the products."""
    words = len(vocabulary)
    here = [name for name in BACKENDS if is_exact_here(name)]
    if not gpu_is_there():
        here = [name for name in here if name != TORCH]
    searches = {name: NeighborSearch(vocabulary, 1, name) for name in here}
    [noisy] = noisy_words(searches[FLOAT32], epsilon, queries)
    index = faiss.IndexFlatL2(vocabulary.dimensions)
    index.add(vocabulary.vectors)
    short = noisy.astype(np.float32)
    work: dict[str, Callable[[], Any]] = {
        name: lambda search=search: search.nearest(noisy)  # type: ignore[misc]
        for name, search in searches.items()
    }
    work[RAW_FAISS] = lambda: index.search(short, 1)
    taken: dict[str, list[float]] = {name: [] for name in work}
    for turn in range(turns + 1):
        for name, find in work.items():
            clock = time.perf_counter if name == TORCH else time.process_time
            spent = seconds(find, clock)
            if turn:  # the first also sets things up
                taken[name].append(spent)
    by_search = {name: queries / min(spent) for name, spent in taken.items()}
    for name, limit in LIMITS.items():
        if name in searches:
            bounds = searches[name].exact_backend.bounds
            by_search[limit] = products_alone(bounds, noisy[:512]) / words
    return by_search


def picture(sizes: Sequence[int], by_search: Mapping[str, Sequence[float]]) -> str:
    """The rates against the number of words, both on a logarithmic scale: SVG."""
    figure = Figure(figsize=(6.4, 4.4), layout="constrained")
    axes = figure.add_subplot()
    for name, (colour, dash) in LOOKS.items():
        if name in by_search:
            marker = "o" if dash == "solid" else None
            axes.plot(
                sizes,
                by_search[name],
                color=colour,
                linestyle=dash,
                label=name,
                marker=marker,
                ms=3,
            )
    axes.set(xlabel="words", ylabel="queries a second of one core", xscale="log", yscale="log")
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.minorticks_off()
    ticks = [200, 500, 1000, 2000, 5000, 10_000, 20_000]
    low, high = axes.get_ylim()
    ticks = [tick for tick in ticks if low <= tick <= high]
    axes.set_yticks(ticks, [f"{tick:,}" for tick in ticks])
    return as_svg(figure, axes, legend_columns=3)


if __name__ == "__main__":
    parser = command_line(__doc__)
    parser.add_argument("source", help="artifact or embedding file that is enlarged")
    parser.add_argument("--sizes", nargs="*", type=int, default=SIZES)
    parser.add_argument("--epsilon", type=float, default=10.0)
    parser.add_argument("--queries", type=int, default=1024)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--picture", help="where to write an SVG")
    arguments = parser.parse_args()
    threadpoolctl.threadpool_limits(1)
    faiss.omp_set_num_threads(1)
    smaller = given_words(arguments.source)
    every: Rates = {}
    print(f"{processor()}, {len(smaller[1][0])} dimensions, epsilon {arguments.epsilon:g}")
    for size in arguments.sizes:
        same = size == len(smaller[0])
        vocabulary = Vocabulary(*smaller) if same else vocabulary_of(*smaller, size)
        for name, rate in rates(
            vocabulary, arguments.epsilon, arguments.queries, arguments.turns
        ).items():
            every.setdefault(name, []).append(rate)
            print(
                f"{size:>9,} words, {name:>24}: {rate:8,.0f} a second, {1e6 / rate:6.0f} µs; "
                f"load {os.getloadavg()[0]:.1f}",
                flush=True,
            )
    if arguments.picture:
        Path(arguments.picture).write_text(picture(arguments.sizes, every), "utf-8")
