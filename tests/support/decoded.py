"""A vocabulary, a language model of it, and texts that are decoded with it."""

from __future__ import annotations

import numpy as np

from dxbeam.documents import Document
from dxbeam.language.model import LanguageModel, language_model_of
from dxbeam.space.vocabulary.words import Vocabulary
from tests.support import tiny

WORDS = 60
KEY = bytes(range(32))


def vocabulary() -> Vocabulary:
    return tiny.vocabulary(WORDS, 6)


def language_model(made: Vocabulary, order: int = 2) -> LanguageModel:
    """Words mostly follow their number: w3 after w2; a few are outside the vocabulary."""
    rng = np.random.default_rng(8)
    starts = rng.integers(0, WORDS, 300)
    sentences = [(start + np.arange(rng.integers(2, 12))) % WORDS for start in starts]
    for sentence in sentences[::7]:
        sentence[0] = -1
    return language_model_of(sentences, made, order)


def texts(count: int = 40) -> list[Document]:
    rng = np.random.default_rng(1)
    made = []
    for number in range(count):
        start, length = rng.integers(0, WORDS), rng.integers(0, 30)
        words = [f"w{(start + i) % WORDS}" for i in range(length)]
        gaps = rng.choice([" ", ", ", ". ", " - "], length)
        made.append(Document(f"d{number}", "".join(map("".join, zip(gaps, words, strict=True)))))
    return made
