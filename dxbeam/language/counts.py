"""How often n-grams of words occur, as sorted codes.

Only n-grams of the model's own order are counted: each sentence begins with n - 1 marks for its
start, so those of lower orders follow from them. The code of the words x, y, z is
(x·M + y)·M + z with M = N + 2, where N stands for the unknown word and N + 1 for the start.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from dxbeam.errors import ConfigurationError, described
from dxbeam.space.vocabulary.words import UNKNOWN

Ids = npt.NDArray[np.int64]

_Number = TypeVar("_Number", np.int64, np.float64)

ORDERS = (2, 3)

_WORDS_AT_ONCE = 1 << 20


class Counts(NamedTuple):
    """The counts of a text.

    Attributes:
      words: N of the vocabulary.
      order: 2 or 3.
      codes: int64 [S], distinct and ascending.
      counts: int64 [S], how often each occurs, at least once.
    """

    words: int
    order: int
    codes: Ids
    counts: Ids


def check_order(order: int, words: int) -> None:
    """Refuses an order that is neither 2 nor 3, or more words than codes can hold."""
    if type(order) is not int or order not in ORDERS:
        raise ConfigurationError("`order` of a language model is 2 or 3")
    if (words + 2) ** order > np.iinfo(np.int64).max:
        raise ConfigurationError(
            f"a vocabulary of {words:,} words is too large for a language model of order {order}; "
            "use a smaller order or vocabulary"
        )


def ngram_codes(ids: Ids, starts: npt.NDArray[np.bool_], words: int, order: int) -> Ids:
    """The code, int64 [T], of the n-gram that ends at each word.

    ``ids``, int64 [T], are of sentences one after the other, and ``starts``, bool [T], says where
    each starts; one does with the first word.
    """
    size, start = words + 2, words + 1
    before: Ids = np.where(ids == UNKNOWN, words, ids)
    codes: Ids = before.copy()
    for power in range(1, order):
        earlier = np.empty_like(before)
        earlier[1:] = before[:-1]
        earlier[starts] = start
        codes = codes + earlier * size**power
        before = earlier
    return codes


def counted(codes: Ids, words: int, order: int) -> Counts:
    """Counts codes, int64 [T], in any order."""
    distinct, counts = np.unique(codes, return_counts=True)
    return Counts(words, order, distinct, counts.astype(np.int64))


def added(parts: Iterable[Counts]) -> Counts:
    """The counts of several texts together; at least one."""
    every = list(parts)
    if len(every) == 1:
        return every[0]
    codes, counts = summed(
        np.concatenate([part.codes for part in every]),
        np.concatenate([part.counts for part in every]),
    )
    return Counts(every[0].words, every[0].order, codes, counts)


def summed(codes: Ids, counts: npt.NDArray[_Number]) -> tuple[Ids, npt.NDArray[_Number]]:
    """Distinct codes, ascending, each with the sum of its counts."""
    if not len(codes):
        return codes, counts
    in_order = np.argsort(codes, kind="stable")
    codes, counts = codes[in_order], counts[in_order]
    firsts = np.flatnonzero(np.concatenate([[True], codes[1:] != codes[:-1]]))
    return codes[firsts], np.add.reduceat(counts, firsts)


def count_sentences(sentences: Iterable[npt.ArrayLike], words: int, order: int) -> Counts:
    """Counts the n-grams of sentences, each the ids of its words, UNKNOWN for the unknown word.

    Refused are an order that is neither 2 nor 3, and a sentence of anything but ids.
    """
    check_order(order, words)
    parts, waiting, size = [], [], 0
    for sentence in sentences:
        ids = np.asarray(sentence)
        if ids.ndim != 1 or (ids.size and ids.dtype.kind not in "iu"):
            raise ConfigurationError(
                "a language model is made of sentences, each a sequence of ids of words; one of "
                f"these is {described(sentence)}"
            )
        if ids.size and not (ids.min() >= UNKNOWN and ids.max() < words):
            raise ConfigurationError(
                f"a sentence holds an invalid id: the vocabulary has {words:,} words"
            )
        waiting.append(ids.astype(np.int64))
        size += len(ids)
        if size >= _WORDS_AT_ONCE:
            parts.append(_counted_sentences(waiting, words, order))
            waiting, size = [], 0
    return added([*parts, _counted_sentences(waiting, words, order)])


def _counted_sentences(sentences: list[Ids], words: int, order: int) -> Counts:
    lengths = np.array([len(sentence) for sentence in sentences if len(sentence)], np.int64)
    ids = np.concatenate([*sentences, np.zeros(0, np.int64)])
    starts = np.zeros(len(ids), np.bool_)
    starts[np.cumsum(lengths) - lengths] = True
    return counted(ngram_codes(ids, starts, words, order), words, order)
