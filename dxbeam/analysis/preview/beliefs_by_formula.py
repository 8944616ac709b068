"""What an attacker believes who sees released words of which Pr[x -> z] is a formula."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dxbeam.analysis.attackers.channel import log_falling, public_base
from dxbeam.analysis.preview.belief_means import BELIEF_DRAWS, Means, Singles, normalise
from dxbeam.mechanisms.sampling.noise import Floats
from dxbeam.space.search.distance_rows import distance_rows, half_squares
from dxbeam.space.search.neighbors import Ids, NeighborSearch

SUMMED = 512
"""Words that stand for a larger vocabulary in its sums."""

_WORDS_PER_BLOCK = 1024
_WORDS_AT_ONCE = 16
_NOTHING = -80.0  # a logarithm


def enter_by_formula(
    means: Means, steps: Sequence[Any], released: Ids, prior: Floats, search: NeighborSearch
) -> None:
    """Enters what is believed of each word at each epsilon.

    Args:
      means: of D words, where the beliefs are gathered.
      steps: santext or tem, at E epsilons.
      released: int64 [E, D * K], what was drawn for each word K times.
      prior: float64 [N].
      search: the vocabulary.
    """
    logs = [np.log(prior / sums) for sums in sums_over_words(steps, search)]
    drawn = released.reshape(len(steps), -1, BELIEF_DRAWS)
    for start in range(0, drawn.shape[1], _WORDS_AT_ONCE):
        # At many epsilons the same word is released: its distances are computed once.
        outputs, which = np.unique(drawn[:, start : start + _WORDS_AT_ONCE], return_inverse=True)
        [(_, apart)] = distance_rows(outputs, search, len(outputs))
        for column, (step, here) in enumerate(zip(steps, which, strict=True)):
            these, rows = np.unique(here, return_inverse=True)
            posteriors = posteriors_by_formula(
                step, logs[column], search, outputs[these], apart[these]
            )
            means.enter_all(column, posteriors, rows, start)


def posteriors_by_formula(
    mechanism: Any, logs: Floats, search: NeighborSearch, outputs: Ids, apart: Singles
) -> Singles:
    """What was probably there, given released words: int64 [U] -> float32 [U, N], in place.

    Args:
      mechanism: santext or tem, with its epsilon.
      logs: float64 [N], logarithms of prior over sum.
      search: the vocabulary.
      outputs: released words.
      apart: float32 [U, N], their distances from all words.
    """
    scores = log_falling(mechanism, outputs, apart, search)
    scores += logs.astype(np.float32)
    normalise(scores)
    return scores


def sums_over_words(steps: Sequence[Any], search: NeighborSearch, summed: int = SUMMED) -> Floats:
    """The sum of each word's weights over the vocabulary, by which they are divided.

    In a vocabulary of more than ``summed`` words the other words are estimated from that many of
    them, at equal steps by frequency.

    Args:
      steps: santext or tem, at E epsilons.
      search: the vocabulary.
      summed: how many words stand for all.

    Returns:
      float64 [E, N].
    """
    vocabulary = search.vocabulary
    words, half = len(vocabulary), half_squares(search)
    some = np.unique(np.linspace(0, words - 1, min(words, summed)).astype(np.int64))
    distributions = [step.distribution(vocabulary) for step in steps]
    lowered = distributions[0].half_weights(vocabulary)
    leaving = np.ones(words) if lowered is None else np.exp(-lowered)
    base = public_base(steps[0], search)
    measure = np.ones(words) if base is None else base
    factors = (measure * leaving)[some].astype(np.float32)
    sums = np.empty((len(steps), words))
    for start in range(0, words, _WORDS_PER_BLOCK):
        part = slice(start, start + _WORDS_PER_BLOCK)
        apart = vocabulary.vectors[part] @ vocabulary.vectors[some].T
        apart = half[part, None] + half[some] - apart
        apart = np.sqrt(2 * np.maximum(apart, 0))
        here = np.arange(start, start + len(apart))
        itself = here[:, None] == some
        scale = (words - 1) / np.maximum(len(some) - itself.sum(axis=1), 1)
        for row, distribution in enumerate(distributions):
            weights = apart * np.float32(-distribution.rate)
            least = max(-distribution.rate * distribution.cap, _NOTHING)
            if weights.min() < least:
                np.maximum(weights, np.float32(least), out=weights)
            np.exp(weights, out=weights)
            weights[itself] = 0
            sums[row, part] = measure[part] + leaving[part] * scale * (weights @ factors)
    return sums
