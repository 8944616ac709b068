"""A vocabulary that a reading over all words can enumerate, and a language model of it."""

from __future__ import annotations

import numpy as np
import pytest

from dxbeam.language.model import LanguageModel, language_model_of
from dxbeam.space.vocabulary.words import Vocabulary
from tests.support.every_word import WORDS, N


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    generator = np.random.default_rng(0)
    vectors = generator.normal(0, 1.5, (WORDS + 1, N)).astype(np.float32)
    names = [f"w{i}" for i in range(WORDS)]
    return Vocabulary(names, vectors[:-1], unknown_vector=vectors[-1])


@pytest.fixture(scope="module")
def model(vocabulary: Vocabulary) -> LanguageModel:
    generator = np.random.default_rng(1)
    sentences = [
        (generator.zipf(1.4, generator.integers(1, 12)) * 7) % (WORDS + 1) - 1 for _ in range(300)
    ]
    return language_model_of(sentences, vocabulary)
