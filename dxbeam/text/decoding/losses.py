"""Which word is released, given what was probably there.

    word       the most probable word: as many words as possible are right
    distance   the candidate nearest to the posterior mean of the vectors, the unknown word's among
               them: words come out near in meaning (Chatzikokolakis, ElSalamouny, Palamidessi:
               Efficient utility improvement for location privacy, 2017, section 3, for the square
               of the distance)

Both release one of the candidates, so never the unknown word. Ties go to the lowest id.
"""

from __future__ import annotations

import numpy as np

from dxbeam.space.search.neighbors import Floats, Ids
from dxbeam.space.vocabulary.words import UNKNOWN, Vocabulary, distances_to_words
from dxbeam.text.decoding.likelihoods import Posterior

WORD, DISTANCE = LOSSES = ("word", "distance")

_PLACES_AT_ONCE = 256


def most_probable(posterior: Posterior) -> Ids:
    """The candidate of the largest probability: int64 [T]."""
    best = posterior.probabilities.argmax(axis=1)
    return np.asarray(posterior.words[np.arange(len(best)), best])


def nearest_to_mean(posterior: Posterior, vocabulary: Vocabulary) -> Ids:
    """The candidate nearest to the mean of the vectors by probability: int64 [T]."""
    chosen = np.empty(len(posterior.words), np.int64)
    unknown = vocabulary.vectors_of(np.array([UNKNOWN]))[0]
    for start in range(0, len(chosen), _PLACES_AT_ONCE):
        part = slice(start, start + _PLACES_AT_ONCE)
        words, shares = posterior.words[part], posterior.probabilities[part]
        rest = posterior.unknown[part]
        mean = _mean(words, shares, rest, unknown, vocabulary)
        apart = distances_to_words(vocabulary.vectors, mean, words)
        apart[shares == 0] = np.inf
        chosen[part] = np.where(
            (shares > 0).any(axis=1),
            words[np.arange(len(words)), apart.argmin(axis=1)],
            words[:, 0],
        )
    return chosen


def _mean(
    words: Ids, shares: Floats, rest: Floats, unknown: Floats, vocabulary: Vocabulary
) -> Floats:
    """Posterior means of vectors, float64 [T, n], added up from the first candidate to the last."""
    mean = rest[:, None] * unknown
    for place in range(words.shape[1]):
        share = shares[:, place]
        there = np.flatnonzero(share)
        mean[there] += share[there, None] * vocabulary.vectors[words[there, place]]
    return np.asarray(mean)
