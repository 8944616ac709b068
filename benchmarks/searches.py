"""Whether every search finds the words that brute force in float64 finds, for very many queries.

    python -m benchmarks.searches vocabularies/glove --queries 200000

draws words of a vocabulary with multidimensional Laplace noise, as many for each epsilon, and looks
for the word nearest to each by every search that this machine has: integers of 8 and of 7 bits,
float32, FAISS's flat search and PyTorch. It counts the queries for which a search finds another
word than brute force, and says what each took.

Brute force is a product in float64 of all queries with all words, and of the words that come within
a billionth of the least the one nearest by its distance, the lower id on ties.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import threadpoolctl

from benchmarks.rows import command_line
from dxbeam.mechanisms.laplace import Laplace
from dxbeam.space.artifact import artifact
from dxbeam.space.search.backends.choose_backend import BACKENDS, is_exact_here
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.space.vocabulary.words import Vocabulary, distances

EPSILONS = (5.0, 10.0, 20.0)
QUERIES_AT_ONCE = 4096
_NEAR = 1e-9

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]


def noisy_words(search: NeighborSearch, epsilon: float, queries: int) -> Iterator[Floats]:
    """Vectors of random words of a vocabulary with noise, some thousand at once."""
    mechanism, generator = Laplace(epsilon), np.random.default_rng(int(epsilon * 1000))
    draws = mechanism.draws(search.vocabulary.dimensions)
    for start in range(0, queries, QUERIES_AT_ONCE):
        count = min(QUERIES_AT_ONCE, queries - start)
        ids = generator.integers(0, len(search.vocabulary), count)
        random = generator.integers(0, 2**64, (count, draws), dtype=np.uint64)
        yield search.vocabulary.vectors_of(ids) + mechanism.noise(random, search)


def brute_force(vocabulary: Vocabulary, queries: Floats) -> Ids:
    """The word nearest to each query in float64, the lower id on ties."""
    vectors = vocabulary.vectors.astype(np.float64)
    half_squares = np.square(vectors).sum(axis=1) / 2
    nearest = np.empty(len(queries), np.int64)
    for start in range(0, len(queries), 256):
        part = queries[start : start + 256]
        scores = part @ vectors.T - half_squares
        slack = _NEAR * (np.square(part).sum(axis=1) + half_squares.max())
        for row, limit in enumerate(scores.max(axis=1) - slack):
            near = np.flatnonzero(scores[row] >= limit)
            apart = distances(vocabulary.vectors[near], part[row])
            nearest[start + row] = near[np.argmin(apart)]
    return nearest


def compare(vocabulary: Vocabulary, names: list[str], epsilon: float, queries: int) -> None:
    """Shows for each search how many of the queries it answers otherwise, and what it took."""
    searches = {name: NeighborSearch(vocabulary, 1, name) for name in names}
    different, seconds = dict.fromkeys(names, 0), dict.fromkeys(names, 0.0)
    for noisy in noisy_words(NeighborSearch(vocabulary, 1, "float32"), epsilon, queries):
        expected = brute_force(vocabulary, noisy)
        for name, search in searches.items():
            search.nearest(noisy[:1])  # prepares
            started = time.process_time()
            nearest = search.nearest(noisy)
            seconds[name] += time.process_time() - started
            different[name] += int((nearest != expected).sum())
    for name in names:
        print(
            f"epsilon {epsilon:g}, {searches[name].backend.name:>7}: {different[name]} of "
            f"{queries:,} different; {1e6 * seconds[name] / queries:.0f} µs of a processor a query",
            flush=True,
        )


if __name__ == "__main__":
    parser = command_line(__doc__)
    parser.add_argument("vocabulary", help="artifact, or demo")
    parser.add_argument("--queries", type=int, default=200_000, help="for each search, in all")
    parser.add_argument("--epsilons", nargs="*", type=float, default=EPSILONS)
    parser.add_argument("--searches", nargs="*", default=[*BACKENDS])
    arguments = parser.parse_args()
    threadpoolctl.threadpool_limits(1)
    opened = artifact.open_vocabulary(artifact.handle(arguments.vocabulary))
    here = [name for name in arguments.searches if is_exact_here(name)]
    print(
        f"{len(opened):,} words in {opened.dimensions} dimensions; searches that are exact here: "
        f"{', '.join(here)}; load {os.getloadavg()[0]:.1f}"
    )
    each = -(-arguments.queries // len(arguments.epsilons))
    for epsilon in arguments.epsilons:
        compare(opened, here, epsilon, each)
