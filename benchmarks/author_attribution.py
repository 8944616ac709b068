"""Whose speech is this? An attacker before and after: the table of docs/results/authorship.md.

    python -m benchmarks.author_attribution --vocabulary vocabularies/glove \
        --speeches state_union.jsonl.gz

Speeches, of a field ``author``, are cut into chunks of 200 words. The attacker learns from chunks
of other speeches, as they were or treated like those under attack, and says for each chunk who
wrote it. What a bag of words leaves out, stop words and order, is also left out by itself, without
noise: that is what it would hide for free.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from benchmarks.rows import command_line, records
from dxbeam import BagOfWords, Configuration, Laplace, Sanitizer, open_vocabulary
from dxbeam.analysis.evaluate import classification
from dxbeam.analysis.evaluate.classification import Classification, Classified, Example, classify
from dxbeam.analysis.evaluate.text_features import STYLE, WORDS, FeatureMaker
from dxbeam.documents import Document
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.text.bag_of_words import ENGLISH
from dxbeam.text.tokenization import split, words

ORIGINAL, RELEASED = classification.ORIGINAL, classification.RELEASED
CHUNK, HEADING, MOST_CHUNKS = 200, 100, 12
BAG = 100
EPSILONS = (30.0, 15.0, 5.0)
NO_NOISE = 1e4
"""At this epsilon no word of the vocabulary changes, and a bag is what it holds."""
KEY = hashlib.sha256(b"published: these releases protect nobody").digest()
TRIALS = (
    (ORIGINAL, RELEASED),
    (RELEASED, RELEASED),
)


class Chunk(NamedTuple):
    """A part of a speech.

    Attributes:
      speech: the id of the speech.
      author: who gave it.
      document: the part, with a separate id.
    """

    speech: str
    author: str
    document: Document


def chunks(path: str) -> Iterator[Chunk]:
    """At most twelve chunks of a speech, evenly spread; headings, which name the author, left out.

    Names of authors are left out everywhere else, too: they are no style.
    """
    speeches = list(records(path))
    names = {word.lower() for speech in speeches for word in words(speech["author"])}
    names |= {"bush"}  # GWBush
    for speech in speeches:
        pieces = [
            (gap, "" if word.lower() in names else word)
            for gap, word in zip(*split(speech["text"]), strict=False)
        ][HEADING:]
        count = len(pieces) // CHUNK
        for number in sorted({i * count // MOST_CHUNKS for i in range(MOST_CHUNKS)}):
            text = "".join(
                gap + word for gap, word in pieces[number * CHUNK : (number + 1) * CHUNK]
            )
            yield Chunk(speech["id"], speech["author"], Document(f"{speech['id']} {number}", text))


def without_stop_words(text: str) -> str:
    """All that stood between words is left, and so are the other words, in order."""
    gaps, tokens = split(text)
    pairs = zip(gaps, [*tokens, ""], strict=True)
    return "".join(gap + ("" if word.lower() in ENGLISH else word) for gap, word in pairs)


def without_order(text: str) -> str:
    """The words in lower case, in the alphabet's order; so punctuation goes as well."""
    return " ".join(sorted(word.lower() for word in words(text)))


def released(
    search: NeighborSearch, settings: Configuration, documents: list[Document]
) -> list[str]:
    """What comes out; prints how many words of the vocabulary did as they were."""
    start = time.process_time()
    results = list(Sanitizer(search, settings, KEY).sanitize(documents))
    results = [result for result in results if result.document]
    assert len(results) == len(documents), "every chunk is text"
    original, known = (
        sum(count)
        for count in zip(
            *(
                (r.tally.original, r.tally.tokens - r.tally.unknown - r.tally.fillers)
                for r in results
            ),
            strict=True,
        )
    )
    print(f"({original / known:.1%} unchanged, {time.process_time() - start:.0f} s)", flush=True)
    return [result.document.text for result in results]


def accuracies(every: list[Chunk], texts: list[str], maker: FeatureMaker) -> list[Classified]:
    """Accuracy of guessing the author, by features and by what the attacker learnt from."""
    examples = []
    for chunk, text in zip(every, texts, strict=True):
        order = int.from_bytes(hashlib.sha256(chunk.speech.encode()).digest()[:8], "big")
        sides = {ORIGINAL: chunk.document.text, RELEASED: text}
        features = {side: maker.features(text, words(text)) for side, text in sides.items()}
        examples.append(Example(order, chunk.author, features))
    rows = classify(examples, Classification("attack", "attack", "author", (STYLE, WORDS), TRIALS))
    return [row for row in rows if row.metric == "attack_accuracy"]


def main() -> None:
    """Prints a row for each treatment."""
    parser = command_line(__doc__)
    parser.add_argument("--vocabulary", required=True)
    parser.add_argument("--speeches", required=True)
    arguments = parser.parse_args()
    search = NeighborSearch(open_vocabulary(arguments.vocabulary))
    every = list(chunks(arguments.speeches))
    originals = [chunk.document for chunk in every]
    shortened = [
        document._replace(text=without_stop_words(document.text)) for document in originals
    ]
    maker = FeatureMaker([STYLE, WORDS], search.vocabulary, sorted(ENGLISH))
    print(f"{len(every):,} chunks of {len({chunk.speech for chunk in every})} speeches")

    def bag(epsilon: float) -> Configuration:
        return Configuration(Laplace(epsilon), bag=BagOfWords(BAG))

    treatments: dict[str, Callable[[], list[str]]] = {
        "originals": lambda: [document.text for document in originals],
        "stop words removed": lambda: [document.text for document in shortened],
        "order removed": lambda: [without_order(document.text) for document in originals],
        "both: a bag": lambda: released(search, bag(NO_NOISE), originals),
    }
    for epsilon in EPSILONS:
        noise = Configuration(Laplace(epsilon))
        treatments |= {
            f"ε = {epsilon:g}": lambda noise=noise: released(search, noise, originals),
            f"ε = {epsilon:g}, stop words removed": lambda noise=noise: released(
                search, noise, shortened
            ),
            f"ε = {epsilon:g}, a bag": lambda epsilon=epsilon: released(
                search, bag(epsilon), originals
            ),
        }
    for name, treat in treatments.items():
        rows = accuracies(every, treat(), maker)
        cells = [f"{row.value:.3f} ({row.low:.3f} to {row.high:.3f})" for row in rows]
        if name == "originals":
            print(f"{classification.MAJORITY}: {cells[0]}")
        print(f"| {name} | " + " | ".join(cells[1:]) + " |", flush=True)


if __name__ == "__main__":
    main()
