"""Accuracy, macro-F1 and the area under the curve, under many weightings of documents at once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]


def accuracy(predicted: Ids, truth: Ids, weights: Numbers) -> Numbers:
    """The share of right classes, float64 [B], under weights of documents, float64 [B, n]."""
    result: Numbers = weights @ (predicted == truth) / weights.sum(axis=1)
    return result


def macro_f1(predicted: Ids, truth: Ids, weights: Numbers, classes: int) -> Numbers:
    """The mean of F1 over classes that occur, float64 [B], under weights, float64 [B, n]."""
    every = np.arange(classes)
    right, said, there = (
        weights @ mask.astype(np.float64)
        for mask in (
            (predicted == truth)[:, None] & (truth[:, None] == every),
            predicted[:, None] == every,
            truth[:, None] == every,
        )
    )
    occurring = said + there > 0
    scores = 2 * right / np.where(occurring, said + there, 1.0)
    result: Numbers = scores.sum(axis=1) / occurring.sum(axis=1)
    return result


def auc(scores: Numbers, truth: Ids, weights: Numbers) -> Numbers:
    """The share of pairs of a 1 and a 0 in which the 1 has the higher score, ties for one half.

    Args:
      scores: float64 [n].
      truth: int64 [n] of 0 and 1.
      weights: float64 [B, n].

    Returns:
      float64 [B]; NaN where there is no such pair.
    """
    order = np.argsort(scores, kind="stable")
    starts = np.flatnonzero(np.diff(scores[order], prepend=-np.inf))
    zeros, ones = (
        np.add.reduceat(weights[:, order] * (truth[order] == value), starts, axis=1)
        for value in (0, 1)
    )
    below = np.cumsum(zeros, axis=1) - zeros
    won = (ones * (below + zeros / 2)).sum(axis=1)
    pairs = zeros.sum(axis=1) * ones.sum(axis=1)
    shares: Numbers = np.divide(won, pairs, out=np.full(len(won), np.nan), where=pairs > 0)
    return shares
