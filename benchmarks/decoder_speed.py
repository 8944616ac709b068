"""What decoders cost: nearest, prior and context side by side, on one core.

    python -m benchmarks.decoder_speed --vocabulary vocabularies/glove \
        --language_model models/public --input corpora/mr_sentence_polarity.jsonl.gz

sanitizes the same documents by a ``Sanitizer`` for each, in turns, and prints processor time a
word, medians over the rounds, and tokens a second as a share of nearest's. Then it sanitizes one,
two, four … times as many documents and prints the most memory that the process ever held.
"""

from __future__ import annotations

import argparse
import itertools
import os
import resource
import statistics
import time
from collections.abc import Iterator

import threadpoolctl

from benchmarks.rows import command_line, records
from dxbeam.documents import Document
from dxbeam.language.artifact import open_language_model
from dxbeam.mechanisms import make_mechanism
from dxbeam.space.artifact.artifact import open_vocabulary
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.text.configuration import Configuration
from dxbeam.text.decoding.decoder import CHOICES, CONTEXT, NEAREST, decoder_of
from dxbeam.text.sanitizer import Sanitizer

KEY = bytes(range(32))
"""A published key: these releases protect nobody."""


def documents(path: str, count: int) -> Iterator[Document]:
    """N documents of a corpus, from its start again where it has fewer."""
    texts = [record["text"] for record in itertools.islice(records(path), count)]
    for number in range(count):
        yield Document(str(number), texts[number % len(texts)])


def main() -> None:
    """Prints both tables."""
    parser = command_line(__doc__)
    parser.add_argument("--vocabulary", required=True)
    parser.add_argument("--language_model", required=True)
    parser.add_argument("--input", required=True, help="a gzipped file of JSON lines")
    parser.add_argument("--mechanism", default="laplace")
    parser.add_argument("--epsilon", type=float, default=10.0)
    parser.add_argument("--documents", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--doublings", type=int, default=4, help="of the corpus, for memory")
    options = parser.parse_args()
    search = NeighborSearch(open_vocabulary(options.vocabulary), threads=1)
    model = open_language_model(options.language_model, search.vocabulary)
    mechanism = make_mechanism(options.mechanism, epsilon=options.epsilon)
    sanitizers = {
        name: Sanitizer(
            search,
            Configuration(mechanism, decoder=decoder_of(name)),
            KEY,
            None if name == NEAREST else model,
        )
        for name in CHOICES
    }
    with threadpoolctl.threadpool_limits(1):
        show_speed(sanitizers, options)
        show_memory(sanitizers[CONTEXT], options)


def words_of(sanitizer: Sanitizer, options: argparse.Namespace, count: int) -> int:
    """Sanitizes this many documents; how many words they have."""
    results = sanitizer.sanitize(documents(options.input, count))
    return sum(each.tally.tokens for each in results if each.document)


def show_speed(sanitizers: dict[str, Sanitizer], options: argparse.Namespace) -> None:
    """Processor time a word, in turns."""
    taken: dict[str, list[float]] = {name: [] for name in sanitizers}
    words = 0
    for turn in range(options.rounds + 1):
        for name, sanitizer in sanitizers.items():
            started = time.process_time()
            words = words_of(sanitizer, options, options.documents)
            if turn:  # the first prepares
                taken[name].append(1e6 * (time.process_time() - started) / words)
    medians = {name: statistics.median(times) for name, times in taken.items()}
    backend = sanitizers[NEAREST].search.backend.name
    print(f"{words:,} words, search {backend}, load {os.getloadavg()[0]:.1f}")
    for name, times in taken.items():
        print(
            f"{name:>8}: {medians[name]:6.1f} us a word ({min(times):.1f} to {max(times):.1f}), "
            f"{medians[NEAREST] / medians[name]:.2f} of nearest's rate"
        )


def show_memory(sanitizer: Sanitizer, options: argparse.Namespace) -> None:
    """The most memory so far, over a growing corpus."""
    for doubling in range(options.doublings + 1):
        count = options.documents << doubling
        words = words_of(sanitizer, options, count)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{count:,} documents, {words:,} words: at most {peak:,.0f} MiB so far")


if __name__ == "__main__":
    main()
