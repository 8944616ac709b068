"""A corpus for the engines, and what the Sanitizer makes of it without Beam."""

from __future__ import annotations

import functools
import json
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dxbeam.documents import Document
from dxbeam.language.artifact import open_language_model
from dxbeam.mechanisms.laplace import Laplace
from dxbeam.mechanisms.sampling.resampling import RankResampling
from dxbeam.space.artifact import artifact
from dxbeam.text.configuration import Configuration
from dxbeam.text.decoding.decoder import Decoder
from dxbeam.text.sanitizer import Sanitizer
from dxbeam.text.tally import Tally, total
from tests.support import tiny

FLAGS = (
    *("--epsilon=10", "--rank_c=0.02", "--group_by=label", "--search_threads=1"),
    "--search=float32",  # what is expected is found by the fastest search
)
DECODED = ("--decode=context", "--language_model=demo")
"""Further flags of some engines: what is drawn is read with a public language model."""

SECRET = "zyzzogeton"
"""A word outside the vocabulary, in every document: it must not appear anywhere."""

BAD = (
    b"not JSON " + SECRET.encode(),
    json.dumps({"id": "no-text", "label": "a"}).encode(),
    json.dumps({"id": "twice", "text": f"one {SECRET}", "label": "a"}).encode(),
    json.dumps({"id": "twice", "text": f"two {SECRET}", "label": "a"}).encode(),
)
"""Records that cannot be used; the last two share an id."""


@dataclass(frozen=True)
class Corpus:
    """Files of documents, and the key they are sanitized with.

    Attributes:
      pattern: of the files.
      key: path of the secret key.
      documents: all usable ones, with their label.
      dead: how many records cannot be used.
    """

    pattern: str
    key: Path
    documents: tuple[tuple[Document, str], ...]
    dead: int


@dataclass(frozen=True)
class Expected:
    """What a run must produce: text by id, and the counts of the whole and of each label."""

    texts: dict[str, str]
    whole: dict[str, Any]
    groups: dict[str, dict[str, Any]]


def write(folder: Path, documents: int, words: int, files: int = 4) -> Corpus:
    """Writes documents of public words and one secret, divided over files, and bad records."""
    vocabulary = artifact.open_vocabulary(artifact.handle(artifact.DEMO))
    generator = np.random.default_rng(7)
    made = []
    for number in range(documents):
        drawn = [vocabulary.words[i] for i in generator.integers(len(vocabulary), size=words)]
        text = f"{' '.join(drawn)}, {SECRET}."
        made.append((Document(f"d{number:05}", text), "abc"[number % 3]))
    for file in range(files):
        records: list[Any] = [
            {"id": document.id, "text": document.text, "label": label}
            for document, label in made[file::files]
        ]
        tiny.write_jsonl(folder / "corpus" / f"{file}.jsonl", [*records, *BAD[file::files]])
    (folder / "key").write_text(tiny.KEY.hex())
    return Corpus(f"{folder}/corpus/*.jsonl", folder / "key", tuple(made), len(BAD))


@functools.cache
def expected(corpus: Corpus, decoded: bool = False) -> Expected:
    """Sanitizes a corpus without Beam."""
    vocabulary = artifact.open_vocabulary(artifact.handle(artifact.DEMO))
    decoder, model = None, None
    if decoded:
        decoder, model = Decoder(), open_language_model("demo", vocabulary)
    settings = Configuration(Laplace(10.0), RankResampling(0.02), decoder=decoder)
    sanitizer = Sanitizer(vocabulary, settings, tiny.KEY, model)
    texts: dict[str, str] = {}
    tallies: dict[str, list[Tally]] = defaultdict(list)
    results = sanitizer.sanitize(document for document, _ in corpus.documents)
    for result, (_, label) in zip(results, corpus.documents, strict=True):
        assert result.document
        texts[result.document.id] = result.document.text
        tallies[label].append(result.tally)
    return Expected(
        texts,
        total(tally for group in tallies.values() for tally in group).as_dict(),
        {label: total(group).as_dict() for label, group in sorted(tallies.items())},
    )
