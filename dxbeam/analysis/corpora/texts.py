"""Texts before and after as numbers, and how often a bootstrap counts each.

A word's number is a hash of it, so that words need no vocabulary and no text comes together on the
worker that compares corpora. Whoever holds the numbers can guess words and compare, so they are
kept as raw text is.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from dxbeam.analysis.evaluate.document_scores import BOOTSTRAP, Score
from dxbeam.analysis.theory.bootstrap import replicate_weights
from dxbeam.space.search.neighbors import Floats, Ids

REPLICATES = 200

_AT_ONCE = 25


class TextPair(NamedTuple):
    """A document before and after.

    Attributes:
      order: a hash of its id; documents in this order are in random order.
      original: int64 [T], a number for each word.
      released: the same of the released text, of whatever length.
    """

    order: int
    original: Ids
    released: Ids


def numbers_of(words: Iterable[str]) -> Ids:
    """A number for each word, which follows from the word."""
    digests = [hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=8) for word in words]
    return np.frombuffer(b"".join(each.digest() for each in digests), "<i8").astype(np.int64)


def weights_of(orders: Sequence[int]) -> Floats:
    """How often each document counts: float64 [1 + REPLICATES, D]; in the first row once."""
    weights = np.ones((1 + REPLICATES, len(orders)))
    for place, order in enumerate(orders):
        weights[1:, place] = replicate_weights(order)[:REPLICATES]
    return weights


def bootstrapped(
    metric: str,
    weights: Floats,
    score: Callable[[Floats], Floats],
    least: float = -math.inf,
    most: float = math.inf,
) -> Score:
    """A score with its interval: 1.96 standard deviations of its replicates on either side.

    Scores such as a distance between counts grow when documents are counted twice or not at all, so
    their replicates are not around the score, and only their deviation is looked at.

    Args:
      metric: its name.
      weights: from ``weights_of``.
      score: weights of documents, float64 [B, D] -> float64 [B].
      least: the smallest possible value; and
      most: the largest.
    """
    blocks = range(0, len(weights), _AT_ONCE)
    values = np.concatenate([score(weights[start : start + _AT_ONCE]) for start in blocks])
    value, documents = float(values[0]), weights.shape[1]
    if documents < 2 or math.isnan(value):
        return Score(metric, value, None, None, documents, BOOTSTRAP)
    spread = 1.96 * float(np.nanstd(values[1:], ddof=1))
    low, high = max(least, value - spread), min(most, value + spread)
    return Score(metric, value, low, high, documents, BOOTSTRAP)
