"""A public language model, cut to the words that the audit makes up.

The audit has vocabularies of five words and of thousands. The k-th of their words takes the place
of the k-th word that the model knows; what the model says of all others is said of the unknown
word, so that what it says after a word still adds up to 1. Words beyond those that it knows are as
probable as its rarest, and nothing in particular follows them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from dxbeam.language.artifact import open_for_any_vocabulary
from dxbeam.language.handle import LanguageModelHandle
from dxbeam.language.kneser_ney import Smoothed, rounded_down
from dxbeam.language.model import LanguageModel
from dxbeam.language.sparse_rows import SparseRows, sparse_rows
from dxbeam.space.search.neighbors import Floats, Ids
from dxbeam.space.vocabulary.words import Vocabulary


@dataclass(frozen=True)
class CutModel:
    """Makes the model of a vocabulary out of one that is stored.

    Attributes:
      handle: of the stored model.
    """

    handle: LanguageModelHandle

    def __call__(self, vocabulary: Vocabulary) -> LanguageModel:
        """The model of as many words as the vocabulary has."""
        numbers = cut(_opened(self.handle).numbers, len(vocabulary))
        return LanguageModel(len(vocabulary), vocabulary.content_digest, numbers)

    def as_dict(self) -> dict[str, Any]:
        """What names it, ready for JSON."""
        return {"cut_of": self.handle.digest, "order": self.handle.order}


@lru_cache(1)
def _opened(handle: LanguageModelHandle) -> LanguageModel:
    return open_for_any_vocabulary(handle)


def cut(numbers: Smoothed, words: int) -> Smoothed:
    """A model's numbers, cut to its first words."""
    known = len(numbers.continuation) - 1
    kept = min(known, words)
    events = np.minimum(np.arange(known + 1), kept)  # the unknown word is the last one
    events[events == kept] = words
    contexts = np.append(events, words + 1)
    contexts[kept:known] = -1  # words that are cut off
    backoff, pairs, pair_of = _level(numbers.pairs, contexts, events, words + 2, words + 1)
    lower = (_shares(numbers.prior, events, words), _shares(numbers.continuation, events, words))
    if numbers.triples is None:
        return Smoothed(*lower, backoff, pairs)
    # After two words of which the second is unknown nothing is stored: several pairs are one now.
    pair_of[events[numbers.pairs.columns] == words] = -1
    triples = _level(numbers.triples, pair_of, events, len(pairs), words + 1)
    return Smoothed(*lower, backoff, pairs, *triples[:2])


def _shares(shares: Floats, events: Ids, words: int) -> Floats:
    """The shares of words that are kept, those of all others that of the unknown word."""
    result = np.bincount(events, shares, words + 1).astype(np.float64)
    new = words - (len(shares) - 1)
    if new > 0:
        result[len(shares) - 1 : words] = result[: len(shares) - 1].min()
    return np.asarray(result / result.sum())


def _level(
    table: SparseRows, rows: Ids, events: Ids, height: int, width: int
) -> tuple[Floats, SparseRows, Ids]:
    """A level of the cut model: the weights of the level below, the table, each entry's new number.

    ``rows`` and ``events`` are the new numbers of the whole model's rows, -1 for those left out,
    and of its columns; there will be ``height`` times ``width``.
    """
    numbers = np.repeat(rows, np.diff(table.starts))
    left = numbers >= 0
    codes, places = np.unique(
        numbers[left] * width + events[table.columns[left]], return_inverse=True
    )
    sums = np.bincount(places, table.values[left], len(codes))
    values = rounded_down(np.asarray(sums, np.float64))
    backoff = np.asarray(1 - np.bincount(codes // width, values, height), np.float64)
    starts = np.searchsorted(codes, np.arange(height + 1) * width)
    entries = np.full(len(table), -1)
    entries[left] = places
    return backoff, sparse_rows(starts, codes % width, values, width), entries
