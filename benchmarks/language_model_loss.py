"""What a language model loses by learning from sanitized text (docs/results/trlaplace.md).

    python -m benchmarks.language_model_loss --vocabulary vocabularies/glove --texts mr.jsonl.gz

TrLaplace's paper fine-tunes a language model. As a stand-in, a bigram model with interpolated
Kneser-Ney smoothing learns from sanitized sentences, and its loss is taken on other, original ones:
nats per word of the vocabulary, after another such word. Its size says nothing of the paper's; its
order may be compared.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.decoding import ratio
from benchmarks.rows import command_line, known_runs, records
from dxbeam import Configuration, Sanitizer, make_mechanism, open_vocabulary
from dxbeam.analysis.attackers.word_pairs import WordPairs, learn_pairs
from dxbeam.documents import Document
from dxbeam.mechanisms import Mechanism
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.text.tokenization import words

EPSILON, DELTA, CLIP = 0.05, 1e-5, 5.0
"""The paper's epsilon, for a ball of radius C; it gives no C."""
KEY = hashlib.sha256(b"published: these releases protect nobody").digest()


def mechanisms() -> Iterator[Mechanism]:
    """The paper's three and the sound TrLaplace; then the default, at its own epsilon."""
    rate = EPSILON / (2 * CLIP)
    yield make_mechanism("gaussian", epsilon=rate, delta=DELTA, clip=CLIP)
    yield make_mechanism("coordinate_laplace", epsilon=rate, clip=CLIP)
    yield make_mechanism("trlaplace_published", epsilon=rate, delta=DELTA, clip=CLIP)
    yield make_mechanism("trlaplace", epsilon=rate, delta=DELTA, clip=CLIP)
    for epsilon in (5.0, 10.0, 15.0, 20.0):
        yield make_mechanism("laplace", epsilon=epsilon)


def losses(model: WordPairs, sentences: list[Any]) -> tuple[Any, Any]:
    """Of each sentence the sum of losses, float64 [S], and the number of words that have one."""
    sums, counts = np.zeros(len(sentences)), np.zeros(len(sentences))
    for number, ids in enumerate(sentences):
        for part in known_runs(ids):
            sums[number] -= model.log_following(part[:-1], part[1:]).sum()
            counts[number] += max(0, len(part) - 1)
    return sums, counts


def main() -> None:
    """Prints a row for each mechanism."""
    parser = command_line(__doc__)
    parser.add_argument("--vocabulary", required=True)
    parser.add_argument("--texts", required=True)
    parser.add_argument("--sentences", type=int, default=5_000)
    options = parser.parse_args()
    search = NeighborSearch(open_vocabulary(options.vocabulary))
    documents = [Document(record["id"], record["text"]) for record in records(options.texts)]
    order = np.random.default_rng(0).permutation(len(documents))[: options.sentences]
    tested, learnt = ([documents[i] for i in part] for part in np.split(order, [len(order) // 5]))
    size = len(search.vocabulary)
    originals = [search.vocabulary.ids_of(words(document.text)) for document in tested]

    def of(texts: list[str]) -> tuple[Any, Any]:
        parts = [
            part for text in texts for part in known_runs(search.vocabulary.ids_of(words(text)))
        ]
        return losses(learn_pairs(parts, size), originals)

    plain, counts = of([document.text for document in learnt])
    print(f"{len(learnt):,} sentences to learn from, {len(tested):,} to test; C = {CLIP:g}, "
          f"delta = {DELTA:g}; {math.log(size):.2f} without having learnt anything")  # fmt: skip
    loss, error = ratio(plain, counts)
    print(f"| not private | | {loss:.3f} ± {error:.3f} | |")
    for mechanism in mechanisms():
        settings = Configuration(mechanism, allow_unsound=True)
        results = [
            result
            for result in Sanitizer(search, settings, KEY).sanitize(learnt)
            if result.document
        ]
        kept = sum(result.tally.original for result in results)
        known = sum(result.tally.tokens - result.tally.unknown for result in results)
        sums, _ = of([result.document.text for result in results])
        loss, error = ratio(sums, counts)
        more, its_error = ratio(sums - plain, counts)
        print(
            f"| {mechanism.name} {mechanism.epsilon:g} | {kept / known:.1%} | "
            f"{loss:.3f} ± {error:.3f} | {more:+.3f} ± {its_error:.3f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
