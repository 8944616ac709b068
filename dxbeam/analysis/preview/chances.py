"""How likely a word is to stay, and what an attacker believes who knows how frequent words are.

Both are measured on further draws, which the page does not show. Figures are float32: they are
estimates from few draws, and no released word depends on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dxbeam.analysis.attackers.noisy_vector import NoiseDensity, has_noise_density, noise_density
from dxbeam.analysis.measure import every_epsilon
from dxbeam.analysis.preview.draws import drawn, new_keys
from dxbeam.analysis.preview.epsilons import COARSEST, at, coarse
from dxbeam.mechanisms import Mechanism, ScalesNoise
from dxbeam.mechanisms.sampling.noise import Floats
from dxbeam.space.search.neighbors import Ids, NeighborSearch, is_known

STAY_DRAWS, BELIEF_DRAWS = 16, 4
"""Draws of each word: for how likely it is to stay, and for what attackers believe."""

NAMED = 3
"""So many words are named that an attacker believes in."""

Singles = npt.NDArray[np.float32]
Bytes = npt.NDArray[np.uint8]


class Chances(NamedTuple):
    """How often words stay.

    Attributes:
      grid: epsilons, E of them.
      stay: uint8 [D, E], in how many of ``STAY_DRAWS`` draws each word was released as itself.
    """

    grid: list[float]
    stay: Bytes


class Beliefs(NamedTuple):
    """What an attacker believes who sees noisy vectors and knows how frequent words are.

    Attributes:
      grid: epsilons, E of them.
      truth: float32 [D, E], how likely it takes the true word to be, the mean over draws.
      right: uint8 [D, E], in how many of ``BELIEF_DRAWS`` draws its first guess is right.
      words: int64 [D, E, k], the words that it takes for the likeliest, best first.
      shares: float32 [D, E, k], how likely, the mean over draws.
    """

    grid: list[float]
    truth: Singles
    right: Bytes
    words: Ids
    shares: Singles


def chances(
    mechanism: Mechanism, ids: Ids, grid: Sequence[float], search: NeighborSearch
) -> Chances:
    """How often each of D words stays: at a grid, or at every fifth value of it.

    Args:
      mechanism: with any epsilon.
      ids: int64 [D], UNKNOWN for words outside the vocabulary, which never stay.
      grid: 60 epsilons.
      search: the vocabulary.
    """
    dimensions = search.vocabulary.dimensions
    rows = np.repeat(ids, STAY_DRAWS)
    [random] = drawn(mechanism, dimensions, len(rows), new_keys(1))
    random = random[:, : mechanism.draws(dimensions)]
    if isinstance(mechanism, ScalesNoise):
        epsilons = list(grid)
        noise = mechanism.noise(random, search) / mechanism.noise_scale
        scales = np.array([at(mechanism, epsilon).noise_scale for epsilon in epsilons])
        starts = mechanism.noise_starts(ids, search)
        kept = _leaves_at(starts, noise, ids, search)[:, None] >= scales
    else:
        epsilons = list(grid[coarse(COARSEST)])
        released = [at(mechanism, epsilon).release(rows, random, search) for epsilon in epsilons]
        kept = np.stack(released, axis=1) == rows[:, None]
    stay = kept.reshape(len(ids), STAY_DRAWS, -1).sum(axis=1).astype(np.uint8)
    return Chances(epsilons, stay)


def _leaves_at(starts: Floats, noise: Floats, ids: Ids, search: NeighborSearch) -> Floats:
    """The scale of the noise at which each word ceases to be the nearest one: float64 [D * K]."""
    words = search.computed_once("lines", lambda words: every_epsilon.lines(words.vectors))
    half = words.half_squares.astype(np.float32)
    found = np.full(len(noise), -1.0)
    first_lines = starts.astype(np.float32) @ words.vectors.T - half
    for row in np.flatnonzero(is_known(ids)):
        part, at_zero = slice(row * STAY_DRAWS, (row + 1) * STAY_DRAWS), first_lines[row]
        ahead = np.maximum(at_zero[ids[row]] - at_zero, np.float32(1e-12))
        ahead[ids[row]] = np.inf
        slopes = noise[part].astype(np.float32) @ words.vectors.T
        slopes -= slopes[:, ids[row], None].copy()
        slopes /= ahead
        found[part] = 1 / np.maximum(slopes.max(axis=1), np.float32(1e-12))
    return found


def beliefs(
    mechanism: Mechanism, ids: Ids, grid: Sequence[float], prior: Floats, search: NeighborSearch
) -> Beliefs | None:
    """What Bayes on the noisy vector says of each of D words, at every fifth value of a grid.

    No release shows noisy vectors, so whoever sees one released word by itself can know no more of
    it, on average; whoever reads the words around it may.

    Arguments as ``chances``; prior: float64 [N], how frequent words are.

    Returns:
      None where the mechanism adds no noise that only epsilon scales, of a density that depends on
      a Euclidean length.
    """
    if not (isinstance(mechanism, ScalesNoise) and has_noise_density(mechanism)):
        return None
    if not noise_density(mechanism, search).euclidean or len(prior) < NAMED:
        return None
    epsilons, logs = list(grid[coarse(COARSEST)]), np.log(prior).astype(np.float32)
    random = drawn(mechanism, search.vocabulary.dimensions, len(ids), new_keys(BELIEF_DRAWS))
    starts = mechanism.noise_starts(ids, search)
    noise = np.stack([mechanism.noise(rows, search) for rows in random], axis=1)
    noise /= mechanism.noise_scale
    steps: list[tuple[float, NoiseDensity]] = []
    for epsilon in epsilons:
        there: Any = at(mechanism, epsilon)
        steps.append((there.noise_scale, noise_density(there, search)))
    words, coordinates = steps[0][1].words, steps[0][1].coordinates
    if coordinates is not None:
        starts, noise = starts @ coordinates, noise @ coordinates
    squares = np.einsum("ij,ij->i", words, words)
    products = starts.astype(np.float32) @ words.T
    shape = (len(ids), len(epsilons))
    found = Beliefs(
        epsilons,
        np.zeros(shape, np.float32),
        np.zeros(shape, np.uint8),
        np.zeros((*shape, NAMED), np.int64),
        np.zeros((*shape, NAMED), np.float32),
    )
    for row, word in enumerate(ids.tolist()):
        apart = squares - 2 * products[row] + np.float32(starts[row] @ starts[row])
        around = _Around(starts[row], noise[row], apart, words)
        for column, (scale, density) in enumerate(steps):
            best, mean = around.posterior(scale, density, logs)
            likeliest = np.argpartition(mean, -NAMED)[-NAMED:]
            likeliest = likeliest[np.argsort(-mean[likeliest])]
            found.words[row, column], found.shares[row, column] = likeliest, mean[likeliest]
            if word >= 0:
                found.truth[row, column] = mean[word]
                found.right[row, column] = (best == word).sum()
    return found


class _Around:
    """A word's start and its draws of noise, multiplied with all words once.

    Args:
      start: float64 [n], in the density's coordinates, as all that follows.
      noise: float64 [K, n], at scale 1.
      apart: float32 [N], squared distances of the words from the start.
      words: float32 [N, n].
    """

    def __init__(self, start: Floats, noise: Floats, apart: Singles, words: Singles):
        self._apart = apart
        self._products = noise.astype(np.float32) @ words.T
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
        scores -= scores[np.arange(len(best)), best][:, None]
        np.exp(scores, out=scores)
        weights = 1 / (len(best) * scores.sum(axis=1))
        return best, weights @ scores
