"""What an attacker believes who sees noisy vectors and knows the density of the noise."""

from __future__ import annotations

from typing import Any

import numpy as np

from dxbeam.analysis.attackers.noisy_vector import NoiseDensity, noise_density
from dxbeam.analysis.preview.belief_means import BELIEF_DRAWS, Beliefs, Means, Singles, normalise
from dxbeam.analysis.preview.draws import drawn
from dxbeam.analysis.preview.epsilons import at
from dxbeam.mechanisms.sampling.noise import Floats
from dxbeam.space.search.neighbors import Ids, NeighborSearch

VECTOR = "vector"

_WORDS_AT_ONCE = 16


def beliefs_by_vectors(
    mechanism: Any,
    ids: Ids,
    epsilons: list[float],
    prior: Floats,
    search: NeighborSearch,
    key: bytes,
) -> Beliefs:
    """What Bayes on the noisy vectors says.

    Args:
      mechanism: noise whose density falls with a Euclidean length, with any epsilon.
      ids: int64 [D], UNKNOWN for words outside the vocabulary.
      epsilons: E of them.
      prior: float64 [N], how frequent words are.
      search: the vocabulary.
      key: of the draws.
    """
    logs = np.log(prior).astype(np.float32)
    dimensions = search.vocabulary.dimensions
    [random] = drawn(mechanism, dimensions, len(ids) * BELIEF_DRAWS, [key])
    noise = mechanism.noise(random[:, : mechanism.draws(dimensions)], search)
    noise /= mechanism.noise_scale
    starts = mechanism.noise_starts(ids, search)
    steps: list[tuple[float, NoiseDensity]] = []
    for epsilon in epsilons:
        there = at(mechanism, epsilon)
        steps.append((there.noise_scale, noise_density(there, search)))
    words, coordinates = steps[0][1].words, steps[0][1].coordinates
    if coordinates is not None:
        starts, noise = starts @ coordinates, noise @ coordinates
    squares = np.einsum("ij,ij->i", words, words)
    result = Means(VECTOR, epsilons, ids, len(prior))
    for start in range(0, len(ids), _WORDS_AT_ONCE):
        block = slice(start, start + _WORDS_AT_ONCE)
        rows = slice(start * BELIEF_DRAWS, (start + _WORDS_AT_ONCE) * BELIEF_DRAWS)
        # One product for all: the vectors come from memory once.
        both = np.concatenate([starts[block], noise[rows]]).astype(np.float32) @ words.T
        count = len(starts[block])
        for number in range(count):
            row = start + number
            draws = slice(row * BELIEF_DRAWS, (row + 1) * BELIEF_DRAWS)
            products = both[count:][number * BELIEF_DRAWS : (number + 1) * BELIEF_DRAWS]
            apart = squares - 2 * both[number] + np.float32(starts[row] @ starts[row])
            around = _Around(apart, products, starts[row], noise[draws])
            for column, (scale, density) in enumerate(steps):
                result.enter(row, column, *around.posterior(scale, density, logs))
    return result.beliefs


class _Around:
    """A word and its draws of noise, in the density's coordinates.

    Args:
      apart: float32 [N], squared distances of the words from the start.
      products: float32 [K, N], of the noise at scale 1 and all words.
      start: float64 [n], what noise is added to.
      noise: float64 [K, n], at scale 1.
    """

    def __init__(self, apart: Singles, products: Singles, start: Floats, noise: Floats):
        self._apart, self._products = apart, products
        self._along = (noise @ start).astype(np.float32)
        self._lengths = np.square(noise).sum(axis=1).astype(np.float32)

    def posterior(self, scale: float, density: NoiseDensity, logs: Singles) -> tuple[Ids, Singles]:
        """The likeliest word given each noisy vector, int64 [K], and the mean of the posteriors.

        The mean is float32 [N].
        """
        t = np.float32(scale)
        scores = np.multiply(self._products, -2 * t)
        scores += self._apart
        scores += (2 * t * self._along + t * t * self._lengths)[:, None]
        np.maximum(scores, 0, out=scores)
        np.sqrt(scores, out=scores)
        scores = np.asarray(density.log_density(scores), np.float32)
        scores += logs
        best = scores.argmax(axis=1)
        normalise(scores)
        return best, np.full(len(best), 1 / len(best), np.float32) @ scores
