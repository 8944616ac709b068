"""The language model that knows nothing: every word is as probable as every other."""

from __future__ import annotations

import numpy as np

from dxbeam.language.kneser_ney import Smoothed
from dxbeam.language.model import LanguageModel
from dxbeam.language.sparse_rows import sparse_rows
from dxbeam.space.vocabulary.words import Vocabulary


def uniform_model(vocabulary: Vocabulary) -> LanguageModel:
    """A model of order 2 without pairs."""
    words = len(vocabulary)
    shares = np.full(words + 1, 1 / (words + 1))
    none = np.zeros(0, np.int64)
    pairs = sparse_rows(np.zeros(words + 3, np.int64), none, none.astype(np.float32), words + 1)
    numbers = Smoothed(shares, shares, np.ones(words + 2), pairs)
    return LanguageModel(words, vocabulary.content_digest, numbers)
