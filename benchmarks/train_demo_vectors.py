"""Trains the word vectors of the bundled demo vocabulary.

    pip install 'dxbeam[train]'
    apt-get install wordnet-base            # or any other copy of WordNet 3.0's data files
    python -m benchmarks.train_demo_vectors --corpora DIR --wordnet /usr/share/wordnet \
        --output demo.bin
    dxbeam build-vocabulary --embeddings demo.bin --lowercase --neighbors 32 \
        --vector_dtype float16 --output dxbeam/demo/vocabulary

Sources. DIR holds gzip JSONL files with a field ``text``: the Brown corpus, US inaugural and State
of the Union addresses, and public collections of film reviews, product reviews, questions and
sentences, all as distributed for research. WordNet 3.0 (Princeton University, WordNet licence)
gives every noun, verb, adjective and adverb its definition and its place among others, which is
what lets a few million words of text know months from illnesses. Only the vectors are bundled, no
text.

The vectors are gensim's word2vec (skip-gram, Mikolov et al. 2013), centred, brought to nearly equal
lengths and to GloVe's scale. One worker and a fixed seed: the same input gives the same vectors.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import faiss
import numpy as np
from gensim.models import KeyedVectors, Word2Vec

from benchmarks.rows import command_line, records
from dxbeam.text.tokenization import words

WORDS = 16_000
DIMENSIONS = 100
SEED = 20

NEAREST = 4.26
"""Median distance to the nearest neighbour among GloVe 840B's 15,000 most frequent words."""

_SIBLINGS_A_SENTENCE = 6
_WORDNET_WEIGHT = 0.5  # of an occurrence in WordNet, against one in running text


class Synset(NamedTuple):
    """A WordNet synset: lower-case lemmas, keys of what it is a kind of, its definition."""

    lemmas: list[str]
    parents: list[str]
    gloss: str


def read_corpora(folder: Path) -> Iterator[list[str]]:
    """Sentences, roughly, of every document."""
    for path in sorted(folder.glob("*.jsonl.gz")):
        for record in records(path):
            for sentence in record["text"].replace("?", ".").replace("!", ".").split("."):
                yield words(sentence.lower())


def read_wordnet(folder: Path) -> dict[str, Synset]:
    """All synsets by part of speech and offset; see wndb(5WN) for the format."""
    synsets = {}
    for part, letter in (("noun", "n"), ("verb", "v"), ("adj", "a"), ("adv", "r")):
        for line in (folder / f"data.{part}").read_text("utf-8", "replace").splitlines():
            if line.startswith("  "):
                continue
            data, _, gloss = line.partition("|")
            fields = data.split()
            count = int(fields[3], 16)
            lemmas = [name.partition("(")[0].lower() for name in fields[4 : 4 + 2 * count : 2]]
            pointers = fields[5 + 2 * count :]
            parents = [
                f"{pointers[i + 2]}{pointers[i + 1]}"
                for i in range(0, 4 * int(fields[4 + 2 * count]), 4)
                if pointers[i] in ("@", "@i", "&", "#p")
            ]
            synsets[letter + fields[0]] = Synset(lemmas, parents, gloss.strip())
    return synsets


def wordnet_sentences(synsets: dict[str, Synset]) -> Iterator[list[str]]:
    """Definitions with what they define; words with what they are a kind of and with siblings."""
    children: dict[str, list[str]] = {}
    for synset in synsets.values():
        lemmas = [words(lemma.replace("_", " ")) for lemma in synset.lemmas]
        for gloss in synset.gloss.split(";"):
            for lemma in lemmas[:3]:
                yield lemma + words(gloss.lower())
        for parent in synset.parents:
            if parent in synsets:
                above = words(synsets[parent].lemmas[0].replace("_", " "))
                for lemma in lemmas:
                    yield above + lemma
                single = [lemma[0] for lemma in lemmas if len(lemma) == 1]
                children.setdefault(parent, []).extend(single)
    shuffle = random.Random(SEED)
    for parent, names in children.items():
        above = words(synsets[parent].lemmas[0].replace("_", " "))
        for _ in range(3):
            shuffle.shuffle(names)
            for start in range(0, len(names), _SIBLINGS_A_SENTENCE):
                yield above + names[start : start + _SIBLINGS_A_SENTENCE]


def train(sentences: Sequence[list[str]]) -> KeyedVectors:
    """Skip-gram vectors of every word that occurs four times."""
    model = Word2Vec(
        sentences,
        vector_size=DIMENSIONS,
        sg=1,
        window=6,
        negative=10,
        sample=1e-4,
        min_count=4,
        epochs=12,
        alpha=0.03,
        workers=1,
        seed=SEED,
    )
    return model.wv


def most_frequent(text: Sequence[list[str]], wordnet: Sequence[list[str]]) -> list[str]:
    """The words of the vocabulary, most frequent first."""
    counts: Counter[str] = Counter()
    for sentences, weight in ((text, 1.0), (wordnet, _WORDNET_WEIGHT)):
        for word, count in Counter(itertools.chain.from_iterable(sentences)).items():
            counts[word] += weight * count  # type: ignore[assignment]
    letters = (word for word in counts if any(character.isalnum() for character in word))
    return sorted(letters, key=lambda word: (-counts[word], word))[:WORDS]


def scale(vectors: np.ndarray) -> np.ndarray:
    """Centred, of equal length, and at GloVe's scale; rounded to what float16 holds.

    Equal lengths keep frequent words, which word2vec gives short vectors, from being everybody's
    nearest neighbour in Euclidean distance.
    """
    centred = vectors - vectors.mean(axis=0)
    unit = centred / np.linalg.norm(centred, axis=1, keepdims=True)
    squared, _ = faiss.knn(unit, unit, 2)
    scaled = unit * (NEAREST / np.median(np.sqrt(squared[:, 1])))
    return scaled.astype(np.float16).astype(np.float32)


def main() -> None:
    """Reads, trains, writes a word2vec binary file."""
    parser = command_line(__doc__)
    parser.add_argument("--corpora", type=Path, required=True)
    parser.add_argument("--wordnet", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    arguments = parser.parse_args()
    text = list(read_corpora(arguments.corpora))
    wordnet = list(wordnet_sentences(read_wordnet(arguments.wordnet)))
    print(f"{len(text):,} sentences of text, {len(wordnet):,} of WordNet; training takes minutes")
    sentences = text + wordnet
    random.Random(SEED).shuffle(sentences)
    vectors = train(sentences)
    words = [word for word in most_frequent(text, wordnet) if word in vectors]
    chosen = KeyedVectors(DIMENSIONS)
    chosen.add_vectors(words, scale(vectors[words]))
    chosen.save_word2vec_format(str(arguments.output), binary=True)
    print(f"wrote {len(words):,} words to {arguments.output}")


if __name__ == "__main__":
    main()
