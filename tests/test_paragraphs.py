"""What docs/results/paragraphs.md shows was really produced: both of its tables are drawn again.

In the second, of decoded texts, each text has next to it what attackers recover of its words: one
that takes the release at its word, and one that sees the noisy vectors, which are not released, and
reads them with the same model.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dxbeam.documents import Document
from dxbeam.language.model import LanguageModel, language_model_of
from dxbeam.language.sentences import sentence_ends
from dxbeam.mechanisms.laplace import Laplace
from dxbeam.mechanisms.sampling.resampling import RankResampling
from dxbeam.space.embeddings.reader import read_embeddings
from dxbeam.space.vocabulary.words import Vocabulary
from dxbeam.text.configuration import Configuration
from dxbeam.text.decoding.decoder import Decoder
from dxbeam.text.sanitizer import Sanitizer
from dxbeam.text.tokenization import split, words

ROOT = Path(__file__).parent.parent
PARAGRAPHS = (ROOT / "docs" / "results" / "paragraphs.md").read_text("utf-8")
KEY = hashlib.sha256(b"dxbeam README 7").digest()
"""A published key, for these tables only."""

PUBLIC = ("brown", "movie_reviews")


@pytest.fixture(scope="module")
def glove(real_data: Path) -> Vocabulary:
    path = real_data / "embeddings" / "glove.840B.300d.33k.w2v.txt.gz"
    chunks = list(read_embeddings(str(path), lowercase=True))
    words = [word for chunk in chunks for word in chunk.words]
    # The digest that keys the noise is fixed, so that the table outlives changes of the artifact.
    return Vocabulary(
        words,
        np.concatenate([chunk.vectors for chunk in chunks]),
        lowercase=True,
    ).with_content_digest("glove.840B.300d.33k")


def sentences(text: str, vocabulary: Vocabulary) -> list[Any]:
    gaps, found = split(text)
    ends = [i for i, gap in enumerate(gaps[1:-1], 1) if sentence_ends(gap)]
    return np.split(vocabulary.ids_of(found), ends)


def language_model(corpora: Path, vocabulary: Vocabulary) -> LanguageModel:
    made = []
    for name in PUBLIC:
        with gzip.open(corpora / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
            for line in lines:
                made += sentences(json.loads(line)["text"], vocabulary)
    return language_model_of(made, vocabulary)


def table(vocabulary: Vocabulary) -> Iterator[str]:
    paragraph = " ".join(re.findall(r"^> (.*)$", PARAGRAPHS, re.MULTILINE))
    yield "| ε | | released |"
    yield "|---|---|---|"
    for epsilon in (5, 10, 20, 40):
        for c in (None, 0.05):
            settings = Configuration(Laplace(epsilon), RankResampling(c) if c else None)
            sanitizer = Sanitizer(vocabulary, settings, KEY)
            [result] = sanitizer.sanitize([Document("maria", paragraph)])
            assert result.document
            resampled = f"rank_c {c}" if c else ""
            yield f"| {epsilon} | {resampled} | {result.document.text} |"


def decoded_table(vocabulary: Vocabulary, model: LanguageModel) -> Iterator[str]:
    paragraph = " ".join(re.findall(r"^> (.*)$", PARAGRAPHS, re.MULTILINE))
    originals = vocabulary.ids_of(words(paragraph))
    yield "| ε | `--decode` | released | taken at its word | noisy vectors read |"
    yield "|---|---|---|---|---|"
    for epsilon in (10, 12, 15):
        texts, right = {}, {}
        for decoder in (None, Decoder("context", model=model.digest)):
            settings = Configuration(Laplace(epsilon), decoder=decoder)
            sanitizer = Sanitizer(vocabulary, settings, KEY, decoder and model)
            [result] = sanitizer.sanitize([Document("example", paragraph)])
            assert result.document
            kind = "context" if decoder else "nearest"
            texts[kind] = result.document.text
            right[kind] = int((vocabulary.ids_of(words(result.document.text)) == originals).sum())
        for kind, text in texts.items():
            yield (
                f"| {epsilon} | {kind} | {text} | {right[kind]} of {len(originals)} "
                f"| {right['context']} of {len(originals)} |"
            )


@pytest.mark.slow
def test_the_paragraphs_are_what_the_code_produces(glove: Vocabulary) -> None:
    shown = PARAGRAPHS.partition("<!-- paragraphs: begin -->")[2]
    assert shown.partition("<!-- paragraphs: end -->")[0].strip() == "\n".join(table(glove))


@pytest.mark.slow
def test_the_decoded_paragraphs_are_what_the_code_produces(
    glove: Vocabulary, real_data: Path
) -> None:
    shown = PARAGRAPHS.partition("<!-- decoded: begin -->")[2]
    shown = shown.partition("<!-- decoded: end -->")[0]
    model = language_model(real_data / "corpora", glove)
    assert shown.strip() == "\n".join(decoded_table(glove, model))
