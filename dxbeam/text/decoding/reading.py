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

Sentences longer than PIECE words are cut by their number into pieces, each of which is read with
OVERLAP words more on each side; the first word of a piece is then judged by frequency. Places of
many sentences are read together, place t of each in one step. Sums run in a fixed order
and exponentials are exact_arithmetic's, so a sentence's probabilities have the same bits beside any
others and on any processor.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dxbeam.language.model import LanguageModel
from dxbeam.space.search.exact_arithmetic import exp
from dxbeam.space.search.neighbors import Floats, Ids
from dxbeam.space.vocabulary.words import UNKNOWN

STARTS, FOLLOWS, CUT = 0, 1, 2
"""What comes before a place: the start of a sentence, the place before, or a word that is not read
with it, so that its first word is judged by frequency."""

PIECE, OVERLAP = 64, 16
"""Longer sentences are read in pieces of so many words, with so many more on each side."""

_TRANSITIONS = 1 << 25  # kept at once, float64

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
    found = np.empty(emissions.shape)
    if not len(breaks):
        return _posterior(likelihoods.words, found)
    for pieces in _groups(_pieces(breaks), states.shape[1]):
        read = _Read(states, emissions, model, pieces)
        read.forward(np.where(pieces.first == pieces.sentence, breaks[pieces.first], CUT))
        read.backward(found)
    return _posterior(likelihoods.words, found)


class _Pieces(NamedTuple):
    """Parts of sentences that are read at once, int64 [P] each, the longest first.

    Attributes:
      sentence: the first place of the sentence.
      first: the first place that is read.
      start: the first whose posterior is kept.
      stop: behind the last one.
      end: behind the last place that is read.
    """

    sentence: Ids
    first: Ids
    start: Ids
    stop: Ids
    end: Ids


def _pieces(breaks: Breaks) -> _Pieces:
    """Sentences in parts of PIECE places, read with OVERLAP more on each side."""
    begins = np.flatnonzero(breaks != FOLLOWS)
    ends = np.append(begins[1:], len(breaks))
    counts = -((begins - ends) // PIECE)
    sentence, last = np.repeat(begins, counts), np.repeat(ends, counts)
    number = np.arange(len(sentence)) - np.repeat(np.cumsum(counts) - counts, counts)
    start = sentence + number * PIECE
    stop = np.minimum(start + PIECE, last)
    first, end = np.maximum(start - OVERLAP, sentence), np.minimum(stop + OVERLAP, last)
    order = np.argsort(first - end, kind="stable")  # so that those not at their end are a slice
    return _Pieces(*(each[order] for each in (sentence, first, start, stop, end)))


def _groups(pieces: _Pieces, states: int) -> Iterator[_Pieces]:
    """Pieces that are read at once, so that their transitions take no more than a quarter GiB.

    A single piece may take more.
    """
    taken = np.cumsum(pieces.end - pieces.first) * states**2
    start = 0
    while start < len(taken):
        before = taken[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(taken, before + _TRANSITIONS, side="right")))
        yield _Pieces(*(each[start:stop] for each in pieces))
        start = stop


class _Read:
    """Pieces that are read together, place t of each in one step.

    Args:
      states: int64 [T, S], the unknown word and the candidates.
      emissions: float64 [T, S].
      model: the language model.
      pieces: what is read.
    """

    def __init__(self, states: Ids, emissions: Floats, model: LanguageModel, pieces: _Pieces):
        self._states, self._emissions, self._model = states, emissions, model
        self._pieces = pieces
        self._backoff, self._lower = model.backoff(states), model.continuation[states]
        lengths = pieces.end - pieces.first
        self._counts = np.searchsorted(-lengths, -np.arange(lengths[0]), side="left")
        self._forward: list[Floats] = []
        self._corrections: list[Floats] = []

    def forward(self, begins: Breaks) -> None:
        """P(x_t | what was drawn up to t) at each place; ``begins`` says what is before each."""
        first = self._pieces.first
        begun = _initial(self._states[first], begins, self._model)
        self._forward.append(_normalised(self._emissions[first] * begun))
        for t, count in enumerate(self._counts[1:].tolist(), 1):
            here = first[:count] + t
            corrections = self._model.corrections(self._states[here - 1], self._states[here])
            self._corrections.append(corrections)
            before = self._forward[-1][:count]
            reached = _added(before * self._backoff[here - 1])[:, None] * self._lower[here]
            reached += (before[:, :, None] * corrections).sum(axis=1)
            reached *= self._emissions[here]
            self._forward.append(_normalised(reached))

    def backward(self, found: Floats) -> None:
        """The posterior of each place: fills ``found``, float64 [T, S]."""
        pieces = self._pieces
        after = np.ones(self._forward[-1].shape)
        for t in range(len(self._counts) - 1, -1, -1):
            count = int(self._counts[t])
            here = pieces.first[:count] + t
            kept = (here >= pieces.start[:count]) & (here < pieces.stop[:count])
            found[here[kept]] = _normalised(self._forward[t] * after)[kept]
            if t:
                coming = self._emissions[here] * after
                back = self._backoff[here - 1] * _added(coming * self._lower[here])[:, None]
                by_word = self._corrections[t - 1].transpose(0, 2, 1)
                back += np.multiply(coming[:, :, None], by_word, order="C").sum(axis=1)
                after = np.ones(self._forward[t - 1].shape)
                after[:count] = back / back.max(axis=1, keepdims=True)


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
