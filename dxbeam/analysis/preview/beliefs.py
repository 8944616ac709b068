"""What an attacker believes who knows the mechanism and how frequent words are.

Three attackers, by what is known of a mechanism:

    word     sees the released word; Pr[x -> z] is a formula (santext, tem). Its sums over the
             vocabulary are taken over all words, or over ``SUMMED`` of them in a larger one
    vector   sees the noisy vector, which no release shows, and knows the density of the noise:
             whoever sees the released word only can know no more, on average
    pairs    sees the released word, and has learnt from simulated pairs of words what the mechanism
             makes of them: an estimate, as one who learns better knows more

Beliefs are means over further draws, which the page does not show.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dxbeam.analysis.attackers.channel import is_known
from dxbeam.analysis.attackers.make_channel import make_channel
from dxbeam.analysis.attackers.noisy_vector import has_noise_density, noise_density
from dxbeam.analysis.attackers.prior import Prior
from dxbeam.analysis.preview.belief_means import BELIEF_DRAWS, Beliefs, Means
from dxbeam.analysis.preview.beliefs_by_formula import enter_by_formula
from dxbeam.analysis.preview.beliefs_by_vectors import beliefs_by_vectors
from dxbeam.analysis.preview.draws import drawn, new_keys
from dxbeam.analysis.preview.epsilons import COARSEST, FEWEST, at, coarse
from dxbeam.mechanisms import Mechanism, ScalesNoise
from dxbeam.mechanisms.sampling.noise import Floats
from dxbeam.mechanisms.vickrey import Vickrey
from dxbeam.space.search.neighbors import Ids, NeighborSearch

WORD, PAIRS = "word", "pairs"

SIMULATED = 1_000
"""Pairs that an attacker learns from."""


def beliefs(
    mechanism: Mechanism,
    ids: Ids,
    grid: Sequence[float],
    prior: Floats,
    search: NeighborSearch,
    keys: list[bytes] | None = None,
) -> Beliefs:
    """What an attacker believes of each of D words, at some values of a grid.

    Args:
      mechanism: with any epsilon.
      ids: int64 [D], UNKNOWN for words outside the vocabulary.
      grid: 60 epsilons.
      prior: float64 [N], how frequent words are.
      search: the vocabulary.
      keys: of the draws and of simulated pairs, for tests; by default new ones that nobody keeps.
    """
    keys = keys or new_keys(2)
    noise = mechanism.source if isinstance(mechanism, Vickrey) else mechanism
    if _falls_with_length(noise, search):
        epsilons = list(grid[coarse(COARSEST)])
        return beliefs_by_vectors(noise, ids, epsilons, prior, search, keys[0])
    known = is_known(mechanism)
    epsilons = list(grid[coarse(COARSEST if known else FEWEST)])
    steps = [at(mechanism, epsilon) for epsilon in epsilons]
    dimensions, count = search.vocabulary.dimensions, len(ids) * BELIEF_DRAWS
    [random] = drawn(mechanism, dimensions, count, keys[:1])
    random = random[:, : mechanism.draws(dimensions)]
    every = np.repeat(ids, BELIEF_DRAWS)
    released = np.array([step.release(every, random, search) for step in steps])
    means = Means(WORD if known else PAIRS, epsilons, ids, len(prior))
    if known:
        enter_by_formula(means, steps, released, prior, search)
    else:
        _enter_by_pairs(means, steps, released, prior, search, keys[1])
    return means.beliefs


def _falls_with_length(mechanism: Mechanism, search: NeighborSearch) -> bool:
    """Whether the noise has a density of a Euclidean length, and only epsilon scales it."""
    if not (isinstance(mechanism, ScalesNoise) and has_noise_density(mechanism)):
        return False
    return noise_density(mechanism, search).euclidean


def _enter_by_pairs(
    means: Means,
    steps: Sequence[Mechanism],
    released: Ids,
    prior: Floats,
    search: NeighborSearch,
    key: bytes,
) -> None:
    """By a channel that is estimated from simulated pairs, at each epsilon."""
    [simulated] = drawn(steps[0], search.vocabulary.dimensions, SIMULATED, [key])
    for column, (step, outputs) in enumerate(zip(steps, released, strict=True)):
        channel = make_channel(step, None, Prior("of the page", prior), [simulated], search)
        distinct, which = np.unique(outputs, return_inverse=True)
        posteriors = np.empty((len(distinct), len(prior)), np.float32)
        for part, joint in channel.joint(distinct):
            posteriors[part] = joint / joint.sum(axis=1, keepdims=True)
        means.enter_all(column, posteriors, which)
