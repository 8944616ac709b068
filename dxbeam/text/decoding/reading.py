"""Posterior probabilities of candidates: by frequency, or along a text by which words follow which.

At each place of a text there are some states x_t: the unknown word and a few words, the candidates.
What was drawn there has the likelihood e_t(x), which is given. By themselves (``prior``),

    P(x_t | what was drawn at t)  =  prior(x_t) e_t(x_t), normalised.

Along a sentence (``context``) words are a Markov chain with the language model's transitions, and

    P(x_1 ... x_m | what was drawn)  =  p(x_1 | start) e_1(x_1) prod_t p(x_t | x_(t-1)) e_t(x_t),

normalised; the probability of x_t is its sum over all others, by the forward-backward algorithm
(Rabiner: A tutorial on hidden Markov models, 1989, section III; pairs.py). With a model of order 3
the most probable words of each place are then read by triples (triples.py).

Long sentences are read in pieces (pieces.py); the first word of a piece is then judged by
frequency. Places of many sentences are read together, place t of each in one step. Sums run in a
fixed order and exponentials are exact_arithmetic's, so a sentence's probabilities have the same
bits next to any others and on any processor.
"""

from __future__ import annotations

from dxbeam.language.model import LanguageModel
from dxbeam.text.decoding.likelihoods import (
    Likelihoods,
    Posterior,
    emissions_of,
    normalised,
    posterior_of_states,
    states_of,
)
from dxbeam.text.decoding.pairs import by_pairs
from dxbeam.text.decoding.pieces import Breaks
from dxbeam.text.decoding.triples import by_triples


def by_frequency(likelihoods: Likelihoods, model: LanguageModel) -> Posterior:
    """The posterior of each place by itself."""
    weights = emissions_of(likelihoods.logs)
    weights *= model.prior[states_of(likelihoods.words)]
    return posterior_of_states(likelihoods.words, normalised(weights))


def in_context(likelihoods: Likelihoods, breaks: Breaks, model: LanguageModel) -> Posterior:
    """The posterior of each place given all places of its sentence; ``breaks`` as ``by_pairs``."""
    states, emissions = states_of(likelihoods.words), emissions_of(likelihoods.logs)
    posterior = by_pairs(states, emissions, breaks, model)
    if model.order == 3:
        posterior = by_triples(states, emissions, posterior, breaks, model)
    return posterior_of_states(likelihoods.words, posterior)
