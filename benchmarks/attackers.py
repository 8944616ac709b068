"""What attackers get: on single words, on rare words, and with context. docs/results/attackers.md.

    python -m benchmarks.attackers --vocabulary vocabularies/glove \
        --public movie_reviews.jsonl.gz --private brown.jsonl.gz --context state_union.jsonl.gz ...

Attackers know word counts of the first corpus; words are as frequent as in the second one, and its
documents are read with a bigram model of the first and of those named after --context.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.context_gain import measure_gain
from dxbeam.analysis.attackers.channel import Channel
from dxbeam.analysis.attackers.draws import draw
from dxbeam.analysis.attackers.make_channel import make_channel, pair_draws
from dxbeam.analysis.attackers.prior import Prior, prior_from_counts, uniform_prior
from dxbeam.analysis.attackers.rare_words import rare_in, survival
from dxbeam.analysis.attackers.resampled_channel import resampled_channel
from dxbeam.analysis.attackers.single_words import attack_all
from dxbeam.analysis.attackers.success import Success
from dxbeam.analysis.attackers.word_pairs import learn_pairs
from dxbeam.mechanisms import Mechanism, make_mechanism
from dxbeam.space.artifact import artifact
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.text.tokenization import words

SETTINGS = (("laplace", 10), ("laplace", 15), ("laplace", 20), ("santext", 2), ("santext", 3))
RANK_C = 0.04
RARE_WORDS, MOST_OFTEN, REPEATS = 200, 2, 2
DOCUMENTS, WORDS_PER_DOCUMENT = 30, 200


def texts(path: Path, search: NeighborSearch) -> list[Any]:
    """The ids of every document's words, unknown words among them."""
    with gzip.open(path, "rt") as lines:
        return [search.vocabulary.ids_of(words(json.loads(line)["text"])) for line in lines]


def known_runs(documents: list[Any]) -> Iterator[Any]:
    """Stretches of known words."""
    for ids in documents:
        for part in np.split(ids, np.flatnonzero(ids < 0)):
            yield part[part >= 0]


def counts(documents: list[Any], search: NeighborSearch) -> Any:
    """How often each word of the vocabulary occurs."""
    return np.bincount(
        np.concatenate(list(known_runs(documents))), minlength=len(search.vocabulary)
    )


def numbers(rows: int, columns: int, seed: int) -> Any:
    """uint64 [rows, columns]."""
    return np.random.default_rng(seed).integers(0, 2**64, (rows, columns), dtype=np.uint64)


def learnt(mechanism: Mechanism, prior: Prior, pairs: int, search: NeighborSearch) -> Channel:
    """What an attacker knows of a mechanism; prints the processor time that took."""
    start, columns = time.process_time(), pair_draws(mechanism, search.vocabulary.dimensions)
    parts = (numbers(2_500, columns, 1_000 + part) for part in range(-(-pairs // 2_500)))
    channel = make_channel(mechanism, None, prior, parts, search)
    print(f"{mechanism.name} {mechanism.epsilon:g}: learnt in {time.process_time() - start:.0f} s")
    return channel


def show(label: str, found: dict[str, Success]) -> None:
    """First guesses with their interval, and one of ten guesses, in per cent."""
    for attacker, success in found.items():
        value, low, high = (100 * x for x in success.first_share())
        among = 100 * success.among_share()[0]
        print(f"  {label} {attacker}: {value:.1f} ({low:.1f}-{high:.1f}) [{among:.1f}]")


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vocabulary", required=True)
    parser.add_argument("--public", type=Path, required=True)
    parser.add_argument("--private", type=Path, required=True)
    parser.add_argument("--context", type=Path, nargs="*", default=[])
    parser.add_argument("--words", type=int, default=300)
    parser.add_argument("--pairs", type=int, default=20_000)
    given = parser.parse_args()
    search = NeighborSearch(artifact.open_vocabulary(artifact.handle(given.vocabulary)))
    known, private = texts(given.public, search), texts(given.private, search)
    read = [text for path in given.context for text in texts(path, search)]
    pairs = learn_pairs(known_runs(known + read), len(search.vocabulary))
    public = prior_from_counts("public text", counts(known, search))
    frequent = counts(private, search)
    uniform = uniform_prior(len(search.vocabulary))
    sources = {
        "uniform": (uniform, uniform),
        "text": (public, Prior("", frequent / frequent.sum())),
    }
    seldom = rare_in(counts(known, search), MOST_OFTEN)
    rare = np.random.default_rng(0).permutation(seldom)[:RARE_WORDS]
    step = max(1, len(private) // DOCUMENTS)
    tested = [ids[ids >= 0][:WORDS_PER_DOCUMENT] for ids in private[::step]]

    for name, epsilon in SETTINGS:
        mechanism = make_mechanism(name, epsilon=epsilon)
        own = mechanism.draws(search.vocabulary.dimensions)
        for label, (prior, source) in sources.items():
            channel = learnt(mechanism, prior, given.pairs, search)
            ids = source.draw(numbers(1, given.words, 7)[0])
            for c in (None, RANK_C):
                drawn = draw(mechanism, c, ids, numbers(given.words, own + 1, 3), search)
                after = resampled_channel(channel, c, epsilon, search) if c else channel
                show(f"{label} c = {c}", attack_all(mechanism, drawn, after, search))
        random = numbers(len(rare) * REPEATS, own, 9)
        show("rare", survival(mechanism, None, rare, REPEATS, random, channel, search))
        released = [
            mechanism.release(text, numbers(len(text), own, place), search)
            for place, text in enumerate(tested)
        ]
        gain = measure_gain(channel, pairs, tested, released)
        print(f"  {gain}, gained {gain.gained()}")


if __name__ == "__main__":
    main()
