"""Posterior probabilities of candidates: by frequency, or along a text by which words follow which.

At each place of a text there are some states x_t: the unknown word and a few words, the candidates.
What was drawn there has the likelihood e_t(x), which is given. By themselves (``prior``),

    P(x_t | what was drawn at t)  =  prior(x_t) e_t(x_t), normalised.

Along a sentence (``context``) words are a Markov chain with the language model's transitions, and

    P(x_1 ... x_m | what was drawn)  =  p(x_1 | start) e_1(x_1) prod_t p(x_t | x_(t-1)) e_t(x_t),

normalised; the probability of x_t is its sum over all others, by the forward-backward algorithm
(Rabiner: A tutorial on hidden Markov models, 1989, section III). The model is order 2 here: one of
order 3 is read by its pairs. A transition is backoff(x) continuation(y) + correction(x, y), so the
first part takes one sum a place, and the second is 0 for pairs that were not counted.

Places of many sentences are read together, place t of each in one step. Sums run in a fixed order
and exponentials are exact_arithmetic's, so a sentence's probabilities have the same bits beside any
others and on any processor.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dxbeam.language.model import LanguageModel
from dxbeam.space.exact_arithmetic import exp
from dxbeam.space.neighbors import Floats, Ids
from dxbeam.space.vocabulary import UNKNOWN

STARTS, FOLLOWS, CUT = 0, 1, 2
"""What comes before a place: the start of a sentence, the place before, or a word that is not read
with it, so that its first word is judged by frequency."""

Breaks = npt.NDArray[np.int8]


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


def by_frequency(likelihoods: Likelihoods, model: LanguageModel) -> Posterior:
    """The posterior of each place by itself."""
    weights = _emissions(likelihoods.logs)
    weights *= model.prior[_states(likelihoods.words)]
    return _posterior(likelihoods.words, _normalised(weights))


def in_context(likelihoods: Likelihoods, breaks: Breaks, model: LanguageModel) -> Posterior:
    """The posterior of each place given all places of its sentence.

    Args:
      likelihoods: of T places.
      breaks: int8 [T], STARTS, FOLLOWS or CUT; the first is not FOLLOWS.
      model: the language model.
    """
    states, emissions = _states(likelihoods.words), _emissions(likelihoods.logs)
    begins = np.flatnonzero(breaks != FOLLOWS)
    lengths = np.diff(np.append(begins, len(breaks)))
    order = np.argsort(-lengths, kind="stable")  # the longest first, so that those left are a slice
    begins, lengths = begins[order], lengths[order]
    found = np.empty(emissions.shape)
    if not len(begins):
        return _posterior(likelihoods.words, found)
    backoff = model.backoff(states)
    lower = model.continuation[states]
    counts = np.searchsorted(-lengths, -np.arange(lengths[0]), side="left")  # longer than t
    forward: list[Floats] = []
    steps: list[Floats] = []
    first = begins
    begun = emissions[first] * _initial(states[first], breaks[first], model)
    forward.append(_normalised(begun))
    for t in range(1, int(lengths[0])):
        here = begins[: counts[t]] + t
        corrections = model.corrections(states[here - 1], states[here])
        steps.append(corrections)
        before = forward[-1][: counts[t]]
        reached = _added(before * backoff[here - 1])[:, None] * lower[here]
        reached += (before[:, :, None] * corrections).sum(axis=1)
        reached *= emissions[here]
        forward.append(_normalised(reached))
    after = np.ones((int(counts[-1]), emissions.shape[1]))
    for t in range(int(lengths[0]) - 1, -1, -1):
        here = begins[: counts[t]] + t
        found[here] = _normalised(forward[t] * after)
        if t:
            coming = emissions[here] * after
            back = backoff[here - 1] * _added(coming * lower[here])[:, None]
            by_word = steps[t - 1].transpose(0, 2, 1)
            back += np.multiply(coming[:, :, None], by_word, order="C").sum(axis=1)
            after = np.ones((int(counts[t - 1]), emissions.shape[1]))
            after[: counts[t]] = back / back.max(axis=1, keepdims=True)
    return _posterior(likelihoods.words, found)


def _initial(states: Ids, breaks: Breaks, model: LanguageModel) -> Floats:
    """The probabilities of the first word of each sentence, float64 [B, 1 + K]."""
    start = np.full((len(states), 1), model.start)
    begun = model.backoff(start) * model.continuation[states]
    begun += model.corrections(start, states)[:, 0]
    return np.where((breaks == STARTS)[:, None], begun, model.prior[states])


def _states(words: Ids) -> Ids:
    """The unknown word and the candidates, int64 [T, 1 + K]."""
    return np.concatenate([np.full((len(words), 1), UNKNOWN), words], axis=1)


def _emissions(logs: Floats) -> Floats:
    """Likelihoods, the largest of each place 1; all 1 where none is possible."""
    largest = logs.max(axis=1, keepdims=True)
    possible = np.isfinite(largest)
    return np.where(possible, exp(logs - np.where(possible, largest, 0.0)), 1.0)


def _added(values: Floats) -> Floats:
    """Sums of rows, from the first number to the last: float64 [B, S] -> [B].

    In this order zeros at the end of a row change nothing.
    """
    return np.asarray(np.cumsum(values, axis=1)[:, -1])


def _normalised(weights: Floats) -> Floats:
    return np.asarray(weights / _added(weights)[:, None])


def _posterior(words: Ids, found: Floats) -> Posterior:
    return Posterior(words, found[:, 1:], found[:, 0])
