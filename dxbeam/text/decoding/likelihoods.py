"""What was drawn at the places of a text, as likelihoods of words, and the posteriors of these."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dxbeam.space.search.exact_arithmetic import exp
from dxbeam.space.search.neighbors import Floats, Ids
from dxbeam.space.vocabulary.words import UNKNOWN


class Likelihoods(NamedTuple):
    """What was drawn at each of T places, as far as it bears on the words there.

    Attributes:
      words: int64 [T, K], the candidates, ascending; filled up with any words.
      logs: float64 [T, 1 + K], log likelihoods up to a number for each place: first of the unknown
        word, then of the candidates; -inf where there is none.
    """

    words: Ids
    logs: Floats


class Posterior(NamedTuple):
    """What was probably there at each of T places.

    Attributes:
      words: int64 [T, K], the candidates, ascending; those filled up have probability 0.
      probabilities: float64 [T, K].
      unknown: float64 [T], the probability of a word outside the vocabulary; with those of the
        candidates it adds up to 1.
    """

    words: Ids
    probabilities: Floats
    unknown: Floats


def states_of(words: Ids) -> Ids:
    """The unknown word and the candidates, int64 [T, 1 + K]."""
    return np.concatenate([np.full((len(words), 1), UNKNOWN), words], axis=1)


def emissions_of(logs: Floats) -> Floats:
    """Likelihoods, the largest of each place 1; all 1 where none is possible."""
    largest = logs.max(axis=1, keepdims=True)
    possible = np.isfinite(largest)
    return np.where(possible, exp(logs - np.where(possible, largest, 0.0)), 1.0)


def added(values: Floats) -> Floats:
    """Sums of rows, from the first number to the last: float64 [B, S] -> [B].

    In this order zeros at the end of a row change nothing.
    """
    return np.asarray(np.cumsum(values, axis=1)[:, -1])


def normalised(weights: Floats) -> Floats:
    """Rows divided by their sums: float64 [B, S]."""
    return np.asarray(weights / added(weights)[:, None])


def posterior_of_states(words: Ids, probabilities: Floats) -> Posterior:
    """The posterior of states, float64 [T, 1 + K]."""
    return Posterior(words, probabilities[:, 1:], probabilities[:, 0])
