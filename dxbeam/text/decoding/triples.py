"""Posteriors along a sentence by a model's triples of words, among a few words of each place.

With p(x_t | x_(t-2), x_(t-1)) in place of p(x_t | x_(t-1)), the chain of pairs (x_(t-1), x_t) is a
Markov chain, and forward-backward over it takes S^3 steps a place for S states. That is too long
for all that pairs read, so only the READ_BY_TRIPLES states that are most probable by pairs are read
by triples (approximate: the others keep what pairs say of them, and these share the rest).
"""

from __future__ import annotations

import numpy as np

from dxbeam.language.model import LanguageModel
from dxbeam.space.search.neighbors import Floats, Ids
from dxbeam.text.decoding.likelihoods import added, normalised
from dxbeam.text.decoding.pairs import first_words
from dxbeam.text.decoding.pieces import STARTS, Breaks, Pieces, pieces_at_once

READ_BY_TRIPLES = 12


def by_triples(
    states: Ids,
    emissions: Floats,
    pairs: Floats,
    breaks: Breaks,
    model: LanguageModel,
    *,
    most: int = READ_BY_TRIPLES,
) -> Floats:
    """As ``by_pairs``, whose posterior is ``pairs``, for a model of order 3: float64 [T, S]."""
    order = np.argsort(-pairs, axis=1, kind="stable")[:, :most]
    kept = np.sort(order, axis=1)  # candidates that are filled up stay last
    rows = np.arange(len(kept))[:, None]
    states, emissions = states[rows, kept], emissions[rows, kept]
    among = np.empty(emissions.shape)
    for pieces in pieces_at_once(breaks, states.shape[1] ** 3):
        reading = _Reading(states, emissions, model, pieces)
        reading.forward(pieces.begins(breaks))
        reading.backward(among)
    posterior: Floats = pairs.copy()
    posterior[rows, kept] = among * added(pairs[rows, kept])[:, None]
    return posterior


class _Reading:
    """Pieces that are read together, place t of each in one step, by a model of order 3."""

    def __init__(self, states: Ids, emissions: Floats, model: LanguageModel, pieces: Pieces):
        self._states, self._emissions, self._model = states, emissions, model
        self._possible = emissions > 0  # not what is filled up, which must change no bit
        self._pieces, self._counts = pieces, pieces.counts()
        self._forward: list[Floats] = []  # [B, A, S]: of the word before and the word
        self._steps: list[Floats] = []  # [B, A, S, S]

    def forward(self, begins: Breaks) -> None:
        """P(x_(t-1), x_t | what was drawn up to t) at each place."""
        first = self._pieces.first
        begun = first_words(self._states[first], begins, self._model)
        self._forward.append(_shares((self._emissions[first] * begun)[:, None, :]))
        for t, count in enumerate(self._counts[1:].tolist(), 1):
            here = first[:count] + t
            steps = self._transitions(here, t, begins[:count])
            self._steps.append(steps)
            reached = (self._forward[-1][:count, :, :, None] * steps).sum(axis=1)
            self._forward.append(_shares(reached * self._emissions[here][:, None, :]))

    def backward(self, posterior: Floats) -> None:
        """The posterior of each place: fills float64 [T, S]."""
        after = np.ones(self._forward[-1].shape)
        for t in range(len(self._counts) - 1, -1, -1):
            count = int(self._counts[t])
            here, kept = self._pieces.places(t, count)
            posterior[here[kept]] = normalised((self._forward[t] * after).sum(axis=1))[kept]
            if t:
                coming = (self._emissions[here][:, None, :] * after).transpose(0, 2, 1)
                by_word = self._steps[t - 1].transpose(0, 3, 1, 2)
                back = np.multiply(coming[:, :, None, :], by_word, order="C").sum(axis=1)
                after = np.ones(self._forward[t - 1].shape)
                possible = self._possible[here - 1][:, None, :]
                after[:count] = back / (back * possible).max(axis=(1, 2), keepdims=True)

    def _transitions(self, here: Ids, t: int, begins: Breaks) -> Floats:
        """p(x_t | x_(t-2), x_(t-1)), float64 [B, A, S, S]; before a place 1 is what was begun."""
        model, before, words = self._model, self._states[here - 1], self._states[here]
        pairs = model.backoff(before)[:, :, None] * model.continuation[words][:, None, :]
        pairs += model.corrections(before, words)
        if t > 1:
            first, known = self._states[here - 2], None
        else:
            first, known = np.full((len(here), 1), model.start), begins == STARTS
        triples = model.backoff2(first[:, :, None], before[:, None, :])[..., None]
        triples = triples * pairs[:, None]
        triples += model.corrections3(
            first[:, :, None, None], before[:, None, :, None], words[:, None, None, :]
        )
        if known is None:
            return triples
        return np.where(known[:, None, None, None], triples, pairs[:, None])


def _shares(weights: Floats) -> Floats:
    """Weights, float64 [B, A, S], divided by their sum over A and S."""
    return np.asarray(weights / added(weights.sum(axis=1))[:, None, None])
