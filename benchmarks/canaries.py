"""How exposed a secret word is that occurs in k documents, each released independently.

    python -m benchmarks.canaries --vocabulary vocabularies/glove --settings santext@2 santext@2.5

1,024 words of the vocabulary are drawn, and 200 secrets of these; see
dxbeam/analysis/exposure/canaries.py.
"""

from __future__ import annotations

import argparse

import numpy as np

from dxbeam.analysis.exposure.canaries import exposure
from dxbeam.mechanisms import make_mechanism
from dxbeam.space.artifact.artifact import open_vocabulary
from dxbeam.space.search.neighbors import NeighborSearch

COPIES = (1, 2, 5, 10, 20)
CANDIDATES, CANARIES = 1_024, 200


def main() -> None:
    """Prints a row of Markdown per setting and number of copies."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vocabulary", required=True)
    parser.add_argument("--settings", nargs="+", default=["santext@2", "santext@2.5"])
    given = parser.parse_args()
    search = NeighborSearch(open_vocabulary(given.vocabulary))
    generator = np.random.default_rng(0)
    candidates = generator.permutation(len(search.vocabulary))[:CANDIDATES]
    secrets = generator.choice(candidates, CANARIES)
    for setting in given.settings:
        name, _, epsilon = setting.partition("@")
        mechanism = make_mechanism(name, epsilon=float(epsilon))
        words = np.repeat(secrets, max(COPIES))
        shape = (len(words), mechanism.draws(search.vocabulary.dimensions))
        random = generator.integers(0, 2**64, shape, dtype=np.uint64)
        released = mechanism.release(words, random, search).reshape(CANARIES, -1)
        for row in exposure(mechanism.channel(search), secrets, released, candidates, COPIES):
            print(
                f"| `{name}` | {epsilon} | {row.copies} | {row.bits:.1f} ({row.low:.1f}–"
                f"{row.high:.1f}) | {100 * row.first:.0f} | {row.chance:.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
