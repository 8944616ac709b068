"""How many tokens a core-hour releases, by size of the vocabulary, and what a large corpus costs.

    python -m benchmarks.sizing --vocabulary vocabularies/glove
    python -m benchmarks.sizing --vocabulary … --sizes 33860,400000,3000000 --price 0.05

Times dxbeam's Sanitizer (tokenizing, noise, search, tallies; no reading or writing, which cost a
few percent) on one thread. A vocabulary larger than the one of --vocabulary is made from it: its
words again and again, each copy moved by as much as a word is from its nearest neighbour, so that
searches meet the crowding of a real vocabulary. Prints a table in Markdown. The cost of a corpus is
tokens divided by the rate, an extrapolation: it leaves out idle workers and start-up.
"""

from __future__ import annotations

import time

import numpy as np

from benchmarks.rows import command_line
from dxbeam.documents import Document
from dxbeam.mechanisms.laplace import Laplace
from dxbeam.space.artifact import artifact
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.space.vocabulary.words import Vocabulary
from dxbeam.text.sanitizer import Sanitizer

WORDS_A_DOCUMENT = 200


def enlarged(vocabulary: Vocabulary, words: int) -> Vocabulary:
    """A vocabulary of this many words with the geometry of a smaller one, no words to read."""
    vectors = np.empty((words, vocabulary.dimensions), np.float32)
    smaller = vocabulary.vectors[:words]
    vectors[: len(smaller)] = smaller
    nearest, _ = NeighborSearch(vocabulary).neighbor_table(np.arange(0, len(vocabulary), 100), 1)
    apart = np.linalg.norm(vocabulary.vectors[nearest[:, 0]] - vocabulary.vectors[::100], axis=1)
    spread = np.median(apart) / np.sqrt(vocabulary.dimensions)
    generator = np.random.default_rng(0)  # a benchmark: protects nothing
    for start in range(len(smaller), words, len(smaller)):
        copy = vectors[start : start + len(smaller)]
        copy[:] = smaller[: len(copy)] + spread * generator.standard_normal(copy.shape, np.float32)
    radii = np.full(words, 2 * np.median(apart))
    return Vocabulary([f"w{i}" for i in range(words)], vectors, close_radius=radii)


def microseconds_a_token(vocabulary: Vocabulary, epsilon: float, tokens: int) -> float:
    """Best of two runs over documents of random words, on one thread."""
    sanitizer = Sanitizer(NeighborSearch(vocabulary, threads=1), Laplace(epsilon))
    ids = np.random.default_rng(1).integers(0, len(vocabulary), tokens)
    documents = [
        Document(str(i), " ".join(f"w{j}" for j in ids[i : i + WORDS_A_DOCUMENT]))
        for i in range(0, tokens, WORDS_A_DOCUMENT)
    ]
    for _ in sanitizer.sanitize(documents[:1]):
        pass  # the first search sets things up
    seconds = []
    for _ in range(2):
        start = time.perf_counter()
        for _ in sanitizer.sanitize(documents):
            pass
        seconds.append(time.perf_counter() - start)
    return min(seconds) / tokens * 1e6


def main() -> None:
    """Prints the table."""
    parser = command_line(__doc__)
    parser.add_argument("--vocabulary", required=True)
    parser.add_argument("--sizes", default="33860,400000,3000000")
    parser.add_argument("--epsilon", type=float, default=10.0)
    parser.add_argument("--price", type=float, default=0.05, help="of a core-hour (default 0.05)")
    parser.add_argument("--tokens", type=int, default=40_960, help="timed at the smallest size")
    arguments = parser.parse_args()
    smaller = artifact.open_vocabulary(artifact.handle(arguments.vocabulary))
    sizes = [int(size) for size in arguments.sizes.split(",")]
    print(
        "| words | µs a token and core | tokens a core-hour | core-hours for 10⁹ tokens | "
        "for 10¹² tokens |\n|---|---|---|---|---|"
    )
    for words in sizes:
        tokens = max(4096, arguments.tokens * sizes[0] // words)
        cost = microseconds_a_token(enlarged(smaller, words), arguments.epsilon, tokens)
        hours = cost * 1e-6 * 1e9 / 3600
        print(
            f"| {words:,} | {cost:,.0f} | {3600e6 / cost / 1e6:,.2f} million | {hours:,.0f} "
            f"({hours * arguments.price:,.2f}) | {hours * 1000:,.0f} "
            f"({hours * 1000 * arguments.price:,.0f}) |",
            flush=True,
        )


if __name__ == "__main__":
    main()
