"""How exposed a secret word is that occurs in k documents, each released independently.

    python -m benchmarks.canaries --vocabulary vocabularies/glove --settings santext@2 santext@2.5

1,024 words of the vocabulary are drawn, and 200 secrets of these; see
dxbeam/analysis/exposure/canaries.py. With --classes, 512 candidates of each class of words: numbers
(words with a digit), common (the first 2,000 of the vocabulary), rare (its last quarter), all, or
the words of a file, one a line, such as names.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.rows import command_line
from dxbeam.analysis.exposure.canaries import exposure
from dxbeam.mechanisms import make_mechanism
from dxbeam.space.artifact.artifact import open_vocabulary
from dxbeam.space.search.neighbors import Ids, NeighborSearch
from dxbeam.space.vocabulary.words import UNKNOWN, Vocabulary

COPIES = (1, 2, 5, 10, 20)
CANDIDATES, CANARIES = 1_024, 200
OF_A_CLASS = 512


def words_of(name: str, vocabulary: Vocabulary) -> Ids:
    """The words of a class, by its name or a file that lists them."""
    every = np.arange(len(vocabulary))
    if name == "numbers":
        return np.array(
            [i for i, word in enumerate(vocabulary.words) if any(map(str.isdigit, word))]
        )
    if name in ("common", "rare", "all"):
        return {"common": every[:2_000], "rare": every[-len(every) // 4 :], "all": every}[name]
    ids = vocabulary.ids_of(Path(name).read_text("utf-8").split())
    return np.unique(ids[ids != UNKNOWN])


def main() -> None:
    """Prints a row of Markdown per setting and number of copies."""
    parser = command_line(__doc__)
    parser.add_argument("--vocabulary", required=True)
    parser.add_argument("--settings", nargs="+", default=["santext@2", "santext@2.5"])
    parser.add_argument("--classes", nargs="*", default=[])
    options = parser.parse_args()
    search = NeighborSearch(open_vocabulary(options.vocabulary))
    for kind in options.classes or ["all"]:
        generator = np.random.default_rng(0)
        most = OF_A_CLASS if options.classes else CANDIDATES
        candidates = generator.permutation(words_of(kind, search.vocabulary))[:most]
        secrets = generator.choice(candidates, CANARIES)
        label = f"| {Path(kind).stem} " if options.classes else ""
        for setting in options.settings:
            show(label, setting, secrets, candidates, generator, search)


def show(
    label: str,
    setting: str,
    secrets: Ids,
    candidates: Ids,
    generator: np.random.Generator,
    search: NeighborSearch,
) -> None:
    """Prints the rows of one setting and class of words."""
    name, _, epsilon = setting.partition("@")
    mechanism = make_mechanism(name, epsilon=float(epsilon))
    copied = np.repeat(secrets, max(COPIES))
    shape = (len(copied), mechanism.draws(search.vocabulary.dimensions))
    random = generator.integers(0, 2**64, shape, dtype=np.uint64)
    released = mechanism.release(copied, random, search).reshape(CANARIES, -1)
    for row in exposure(mechanism.channel(search), secrets, released, candidates, COPIES):
        print(
            f"{label}| `{name}` | {epsilon} | {row.copies} | {row.bits:.1f} ({row.low:.1f}–"
            f"{row.high:.1f}) | {100 * row.first:.0f} | {row.chance:.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
