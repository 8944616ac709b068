"""Posteriors along a sentence by a model's pairs of words: forward-backward (see reading.py).

A transition is backoff(x) continuation(y) + correction(x, y), so the first part takes one sum a
place, and the second is 0 for pairs that were not counted.
"""

from __future__ import annotations

import numpy as np

from dxbeam.language.model import LanguageModel
from dxbeam.space.search.neighbors import Floats, Ids
from dxbeam.text.decoding.likelihoods import added, normalised
from dxbeam.text.decoding.pieces import STARTS, Breaks, Pieces, pieces_at_once


def by_pairs(states: Ids, emissions: Floats, breaks: Breaks, model: LanguageModel) -> Floats:
    """The posterior, float64 [T, S], of each place given all places of its sentence.

    ``states``, int64 [T, S], are the unknown word and candidates, ``emissions`` their likelihoods;
    ``breaks``, int8 [T], are STARTS, FOLLOWS or CUT, the first of them not FOLLOWS.
    """
    posterior = np.empty(emissions.shape)
    for pieces in pieces_at_once(breaks, states.shape[1] ** 2):
        reading = _Reading(states, emissions, model, pieces)
        reading.forward(pieces.begins(breaks))
        reading.backward(posterior)
    return posterior


def first_words(states: Ids, begins: Breaks, model: LanguageModel) -> Floats:
    """The probabilities of the first words of pieces, float64 [B, S], by what is before them."""
    start = np.full((len(states), 1), model.start)
    begun = model.backoff(start) * model.continuation[states]
    begun += model.corrections(start, states)[:, 0]
    return np.where((begins == STARTS)[:, None], begun, model.prior[states])


class _Reading:
    """Pieces that are read together, place t of each in one step."""

    def __init__(self, states: Ids, emissions: Floats, model: LanguageModel, pieces: Pieces):
        self._states, self._emissions, self._model = states, emissions, model
        self._possible = emissions > 0  # not what is filled up, which must change no bit
        self._pieces, self._counts = pieces, pieces.counts()
        self._backoff, self._lower = model.backoff(states), model.continuation[states]
        self._forward: list[Floats] = []
        self._corrections: list[Floats] = []

    def forward(self, begins: Breaks) -> None:
        """P(x_t | what was drawn up to t) at each place; ``begins`` says what is before each."""
        first = self._pieces.first
        begun = first_words(self._states[first], begins, self._model)
        self._forward.append(normalised(self._emissions[first] * begun))
        for t, count in enumerate(self._counts[1:].tolist(), 1):
            here = first[:count] + t
            corrections = self._model.corrections(self._states[here - 1], self._states[here])
            self._corrections.append(corrections)
            before = self._forward[-1][:count]
            reached = added(before * self._backoff[here - 1])[:, None] * self._lower[here]
            reached += (before[:, :, None] * corrections).sum(axis=1)
            reached *= self._emissions[here]
            self._forward.append(normalised(reached))

    def backward(self, posterior: Floats) -> None:
        """The posterior of each place: fills float64 [T, S]."""
        after = np.ones(self._forward[-1].shape)
        for t in range(len(self._counts) - 1, -1, -1):
            count = int(self._counts[t])
            here, kept = self._pieces.places(t, count)
            posterior[here[kept]] = normalised(self._forward[t] * after)[kept]
            if t:
                coming = self._emissions[here] * after
                back = self._backoff[here - 1] * added(coming * self._lower[here])[:, None]
                by_word = self._corrections[t - 1].transpose(0, 2, 1)
                back += np.multiply(coming[:, :, None], by_word, order="C").sum(axis=1)
                after = np.ones(self._forward[t - 1].shape)
                largest = (back * self._possible[here - 1]).max(axis=1, keepdims=True)
                after[:count] = back / largest
