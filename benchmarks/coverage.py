"""How much of a text the first words of an embedding file cover.

    python -m benchmarks.coverage glove.txt.gz corpora/*.jsonl.gz

counts the words of each corpus, as ``sanitize`` does, lower-cased, and shows the share of them that
are among the first N words of the file. The others are unknown words: they are all released as if
they were one and the same. What the whole file leaves uncovered is the most that any larger
vocabulary can win.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np

from benchmarks.rows import command_line, records
from dxbeam.space.embeddings.reader import read_embeddings
from dxbeam.text import tokenization

SIZES = (5_000, 10_000, 20_000, 50_000, 100_000, 400_000)


def counts_of(corpus: Path) -> Counter[str]:
    """How often each word occurs in a corpus of JSON Lines."""
    return Counter(
        word for record in records(corpus) for word in tokenization.words(record["text"].lower())
    )


if __name__ == "__main__":
    parser = command_line(__doc__)
    parser.add_argument("embeddings")
    parser.add_argument("corpora", nargs="+", type=Path)
    arguments = parser.parse_args()
    places: dict[str, int] = {}
    for chunk in read_embeddings(arguments.embeddings, lowercase=True):
        for word in chunk.words:
            places.setdefault(word, len(places))
    sizes = [*(size for size in SIZES if size < len(places)), len(places)]
    print("corpus, words, " + ", ".join(f"{size:,}" for size in sizes))
    for corpus in arguments.corpora:
        counted = counts_of(corpus)
        numbers = np.array(list(counted.values()))
        place = np.array([places.get(word, len(places)) for word in counted])
        shares = [numbers[place < size].sum() / numbers.sum() for size in sizes]
        print(
            f"{corpus.name.partition('.')[0]}, {numbers.sum():,}, "
            + ", ".join(f"{share:.1%}" for share in shares),
            flush=True,
        )
