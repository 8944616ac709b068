"""Whether statistics of words that are taken of a release agree with those of the originals.

Counts of words: how far apart the two distributions are, and whether the commonest words come in
the same order. Pairs of words near each other: whether their pointwise mutual information

    ln p(x, y) / (p(x) p(y))

is the same (Church, Hanks: Word association norms, 1990). Words and pairs are chosen by the
originals. Half a pair and half a word more are counted than there are, so that a pair that the
release lacks has a value.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix
from scipy.stats import rankdata

from dxbeam.analysis.corpora.texts import TextPair, bootstrapped
from dxbeam.analysis.evaluate.document_scores import Score
from dxbeam.space.search.neighbors import Floats, Ids

COMMONEST = 1_000
"""Words whose order is compared, and of which pairs are made."""

PAIRS = 2_000
"""The commonest pairs of these, which are compared."""

WINDOW = 5
"""How far apart the words of a pair may be."""

_HALF = 0.5


class Counted(NamedTuple):
    """How often documents have each word, before and after: sparse [D, V], the same columns."""

    original: Any
    released: Any


def counted(texts: Sequence[TextPair]) -> Counted:
    """Counts the words of documents, those that are in neither text left out."""
    sides = [[text.original for text in texts], [text.released for text in texts]]
    every, columns = np.unique(np.concatenate([*sides[0], *sides[1]]), return_inverse=True)
    sizes = [[len(text) for text in side] for side in sides]
    parts = np.split(columns, [sum(sizes[0])])
    shape = (len(texts), len(every))
    return Counted(*(_counts(part, size, shape) for part, size in zip(parts, sizes, strict=True)))


def _counts(columns: Ids, sizes: Sequence[int], shape: tuple[int, int]) -> Any:
    starts = np.cumsum([0, *sizes])
    counts = csr_matrix((np.ones(len(columns)), columns, starts), shape=shape)
    counts.sum_duplicates()
    return counts


def word_agreement(texts: Sequence[TextPair], words: Counted, weights: Floats) -> Iterator[Score]:
    """The scores; none where a side has no word, and no correlation with what is the same for all.

    Args:
      texts: the documents.
      words: their words, from ``counted``.
      weights: float64 [1 + REPLICATES, D], how often each document counts.
    """
    if all(side.nnz for side in words):
        for score in _agreement(texts, words, weights):
            if not math.isnan(score.value):
                yield score


def _agreement(texts: Sequence[TextPair], words: Counted, weights: Floats) -> Iterator[Score]:
    def apart(some: Floats) -> Floats:
        before, after = (_shares(_summed(side, some)) for side in words)
        return np.asarray(np.abs(before - after).sum(axis=1) / 2)

    common = _largest(_summed(words.original, weights[:1])[0], COMMONEST)

    def ranked(some: Floats) -> Floats:
        before, after = (_summed(side[:, common], some) for side in words)
        return _correlations(rankdata(before, axis=1), rankdata(after, axis=1))

    yield bootstrapped("count_distance", weights, apart, 0.0, 1.0)
    if len(common) > 2:
        yield bootstrapped("count_correlation", weights, ranked, -1.0, 1.0)
        yield from _pair_agreement(texts, words, weights, common)


def _pair_agreement(
    texts: Sequence[TextPair], words: Counted, weights: Floats, common: Ids
) -> Iterator[Score]:
    places = np.full(words.original.shape[1], -1)
    places[common] = np.arange(len(common))
    every = np.unique(np.concatenate([side for text in texts for side in text[1:]]))
    columns = [
        [places[np.searchsorted(every, side)] for side in (text.original, text.released)]
        for text in texts
    ]
    before = [_pairs(sides[0], len(common)) for sides in columns]
    after = [_pairs(sides[1], len(common)) for sides in columns]
    codes, counts = np.unique(np.concatenate(before), return_counts=True)
    chosen = np.sort(codes[_largest(counts.astype(float), PAIRS)])
    if len(chosen) < 3:
        return
    first, second = chosen // len(common), chosen % len(common)
    sides = [
        (_of_pairs(pairs, chosen), np.array([len(each) for each in pairs]), counts_of)
        for pairs, counts_of in ((before, words.original), (after, words.released))
    ]

    def alike(some: Floats) -> Floats:
        information = []
        for pairs, sizes, counts_of in sides:
            joint = np.log(_summed(pairs, some) + _HALF) - np.log(some @ sizes + 1)[:, None]
            single = _summed(counts_of[:, common], some) + _HALF
            single = np.log(single) - np.log(some @ _sizes(counts_of) + 1)[:, None]
            information.append(joint - single[:, first] - single[:, second])
        return _correlations(*information)

    yield bootstrapped("pair_correlation", weights, alike, -1.0, 1.0)


def _pairs(columns: Ids, words: int) -> Ids:
    """Numbers of all pairs of words near each other, whichever is first; -1 is no word."""
    pairs = [np.zeros(0, np.int64)]
    for apart in range(1, min(WINDOW, len(columns) - 1) + 1):
        left, right = columns[:-apart], columns[apart:]
        known = (left >= 0) & (right >= 0) & (left != right)
        left, right = left[known], right[known]
        pairs.append(np.minimum(left, right) * words + np.maximum(left, right))
    return np.concatenate(pairs)


def _of_pairs(pairs: Sequence[Ids], chosen: Ids) -> Any:
    """How often documents have each chosen pair: sparse [D, pairs]."""
    inside = []
    for each in pairs:
        at = np.minimum(np.searchsorted(chosen, each), len(chosen) - 1)
        inside.append(at[chosen[at] == each])
    shape = (len(pairs), len(chosen))
    return _counts(np.concatenate(inside), [len(each) for each in inside], shape)


def _summed(counts: Any, weights: Floats) -> Floats:
    """Sums over documents: float64 [B, columns]."""
    return np.asarray((counts.T @ weights.T).T)


def _sizes(counts: Any) -> Floats:
    """How many words each document has: float64 [D]."""
    return np.asarray(counts.sum(axis=1), np.float64).ravel()


def _shares(counts: Floats) -> Floats:
    return np.asarray(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0))


def _largest(values: Floats, count: int) -> Ids:
    """The places of the largest values above 0, the first among equals."""
    order = np.argsort(-values, kind="stable")[:count]
    return np.asarray(order[values[order] > 0])


def _correlations(one: Floats, other: Floats) -> Floats:
    """Of each row with the same row: float64 [B]; NaN where one is constant."""
    one, other = (side - side.mean(axis=1, keepdims=True) for side in (one, other))
    sizes = np.sqrt(np.square(one).sum(axis=1) * np.square(other).sum(axis=1))
    products = (one * other).sum(axis=1)
    return np.asarray(np.divide(products, sizes, out=np.full(len(one), np.nan), where=sizes > 0))
