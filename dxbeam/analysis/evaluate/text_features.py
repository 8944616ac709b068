"""What a classifier sees of a text: counts of hashed words or character triples, a mean vector.

Words are hashed to numbers (MurmurHash, by scikit-learn), so that the features of a document are a
few kilobytes and hold no text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer

from dxbeam.space.vocabulary.words import Vocabulary
from dxbeam.text.tokenization import split

WORDS, MEAN_VECTOR, STYLE, LENGTH, GAPS, ENCODED = (
    "TF-IDF of words",
    "mean word vector",
    "character 3-grams and function words",
    "number of words",
    "gaps",
    "sentence encoder",
)

Features = Mapping[str, Any]
"""By the kind's name. Counts are a tuple of blocks, each of places (int32 [k]), counts (float32
[k]) and the number of columns; a vector is float32 [n], and LENGTH one with n = 1. GAPS are runs of
one to three gaps, of which texts without words have one. ENCODED is what a model makes of a text,
which is not made here."""


class Described(NamedTuple):
    """A document before and after, as what is seen of it.

    Attributes:
      order: a hash of its id.
      labels: by the field, its class; without fields that it does not have.
      original: the features of the original; and
      released: by the number of the release, those of what was released.
    """

    order: int
    labels: Mapping[str, str]
    original: Features
    released: Mapping[int, Features]


class Block(NamedTuple):
    """Counts.

    Attributes:
      places: int32 [k], the columns that are not zero.
      counts: float32 [k].
      columns: how many there are.
    """

    places: Any
    counts: Any
    columns: int


def _itself(words: Any) -> Any:
    return words


_hashed_words = HashingVectorizer(
    analyzer=_itself, n_features=1 << 18, alternate_sign=False, norm=None
)


def _runs(gaps: Any) -> list[str]:
    """What stands between words, one, two and three times in a row."""
    return [
        _BETWEEN.join(gaps[start : start + length])
        for length in (1, 2, 3)
        for start in range(len(gaps) - length + 1)
    ]


_BETWEEN = "\0"

_runs_of_gaps = HashingVectorizer(
    analyzer=_runs, n_features=1 << 18, alternate_sign=False, norm=None
)
_triples = HashingVectorizer(
    analyzer="char", ngram_range=(3, 3), n_features=1 << 15, alternate_sign=False, norm=None,
    lowercase=False,
)  # fmt: skip


class FeatureMaker:
    """Makes the features of texts.

    Args:
      kinds: which: WORDS, MEAN_VECTOR, STYLE, LENGTH, GAPS.
      vocabulary: for MEAN_VECTOR; also says whether to tell cases apart.
      function_words: public words, for STYLE.
    """

    def __init__(
        self, kinds: Sequence[str], vocabulary: Vocabulary | None, function_words: Sequence[str]
    ):
        self._kinds = kinds
        self._vocabulary = vocabulary
        self._lower = vocabulary is None or vocabulary.lowercase
        self._function_words = CountVectorizer(analyzer=_itself, vocabulary=sorted(function_words))
        self._makers: dict[str, Callable[[str, list[str]], Any]] = {
            WORDS: lambda _, words: (_block(_hashed_words, words),),
            STYLE: lambda text, words: (
                _block(_triples, text),
                _block(self._function_words, words),
            ),
            MEAN_VECTOR: self._mean_vector,
            LENGTH: lambda _, words: np.array([len(words)], np.float32),
            GAPS: lambda text, _: (_block(_runs_of_gaps, split(text)[0]),),
        }

    def features(self, text: str, words: Sequence[str]) -> Features:
        """The features of a text.

        Args:
          text: the text.
          words: its words.
        """
        text = text.lower() if self._lower else text
        cased = [word.lower() for word in words] if self._lower else list(words)
        return {kind: self._makers[kind](text, cased) for kind in self._kinds}

    def _mean_vector(self, _text: str, words: list[str]) -> Any:
        assert self._vocabulary
        ids, counts = np.unique(self._vocabulary.ids_of(words), return_counts=True)
        if not len(ids):
            return np.zeros(self._vocabulary.dimensions, np.float32)
        total = counts @ self._vocabulary.vectors_of(ids)
        return (total / counts.sum()).astype(np.float32)


def _block(vectorizer: Any, text: Any) -> Block:
    row = vectorizer.transform([text])
    row.sort_indices()
    return Block(row.indices.astype(np.int32), row.data.astype(np.float32), int(row.shape[1]))
