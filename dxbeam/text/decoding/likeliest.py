"""The few candidates of each place that its neighbours make the most probable.

Forward-backward over S states takes S^2 transitions a place, so of many candidates a few are kept
to be read together. A candidate x at place t is judged by its posterior without neighbours, u_t(x),
prior times likelihood, and by the most probable ANCHORS a of both places next to it:

    u_t(x)  (sum_a u_(t-1)(a) p(x | a) / prior(x)  +  rest)
            (sum_a u_(t+1)(a) p(a | x) / prior(a)  +  rest),

where the rest is what the neighbour's other candidates hold, as if they told nothing. The first
word of a sentence has the probability of that in place of its left side. This is the posterior
where the neighbours are known, and a guess where they are not; it decides which candidates are
read, and nothing else: with few enough candidates all are.
"""

from __future__ import annotations

import numpy as np

from dxbeam.language.model import LanguageModel
from dxbeam.space.search.neighbors import Floats, Ids
from dxbeam.text.decoding.likelihoods import Likelihoods, emissions_of, normalised, states_of
from dxbeam.text.decoding.pairs import first_words
from dxbeam.text.decoding.pieces import FOLLOWS, Breaks

ANCHORS = 3


def likeliest(
    likelihoods: Likelihoods, breaks: Breaks, model: LanguageModel, kept: int
) -> Likelihoods:
    """The candidates that neighbours make the most probable, ascending, ties by the lowest word.

    ``breaks``, int8 [T], are STARTS, FOLLOWS or CUT, the first of them not FOLLOWS; ``kept`` is how
    many there are of each place, besides the unknown word.
    """
    if likelihoods.words.shape[1] <= kept:
        return likelihoods
    states, emissions = states_of(likelihoods.words), emissions_of(likelihoods.logs)
    single = normalised(emissions * model.prior[states])
    values = single[:, 1:] * _beside(states, single, breaks, model)[:, 1:]
    order = np.sort(np.argsort(-values, axis=1, kind="stable")[:, :kept], axis=1)
    rows = np.arange(len(order))[:, None]
    logs = [likelihoods.logs[:, :1], likelihoods.logs[rows, 1 + order]]
    return Likelihoods(likelihoods.words[rows, order], np.concatenate(logs, axis=1))


def _beside(states: Ids, single: Floats, breaks: Breaks, model: LanguageModel) -> Floats:
    """By how much neighbours raise each state, float64 [T, S]."""
    anchors = np.argsort(-single, axis=1, kind="stable")[:, :ANCHORS]
    rows = np.arange(len(anchors))[:, None]
    shares, anchors = single[rows, anchors], states[rows, anchors]
    rest = 1 - np.add.accumulate(shares, axis=1)[:, -1:]
    prior, after = model.prior[states], np.flatnonzero(breaks == FOLLOWS)
    before, begins = after - 1, np.flatnonzero(breaks != FOLLOWS)
    left, right = np.empty(states.shape), np.ones(states.shape)
    left[begins] = first_words(states[begins], breaks[begins], model) / prior[begins]
    left[after] = rest[before]
    right[before] = rest[after]
    lower, backoff = model.continuation[states], model.backoff(states)
    for place in range(anchors.shape[1]):
        anchor, share = anchors[:, place : place + 1], shares[:, place : place + 1]
        onward = model.corrections(anchor[before], states[after])[:, 0]
        onward += model.backoff(anchor[before]) * lower[after]
        onward *= share[before] / prior[after]
        left[after] += onward
        back = model.corrections(states[before], anchor[after])[:, :, 0]
        back += backoff[before] * model.continuation[anchor[after]]
        back *= share[after] / model.prior[anchor[after]]
        right[before] += back
    return left * right
