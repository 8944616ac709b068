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

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dxbeam.analysis.attackers.channel import Channel, is_known, log_falling, public_base
from dxbeam.analysis.attackers.make_channel import make_channel
from dxbeam.analysis.attackers.noisy_vector import NoiseDensity, has_noise_density, noise_density
from dxbeam.analysis.attackers.prior import Prior
from dxbeam.analysis.preview.draws import drawn, new_keys
from dxbeam.analysis.preview.epsilons import COARSEST, FEWEST, at, coarse
from dxbeam.mechanisms import Mechanism, ScalesNoise
from dxbeam.mechanisms.sampling.noise import Floats
from dxbeam.mechanisms.vickrey import Vickrey
from dxbeam.space.search.distance_rows import distance_rows, half_squares
from dxbeam.space.search.neighbors import Ids, NeighborSearch

WORD, VECTOR, PAIRS = "word", "vector", "pairs"

BELIEF_DRAWS = 2
"""Draws of each word."""

NAMED = 3
"""How many words are named that an attacker believes in."""

SUMMED, SIMULATED = 512, 1_000
"""Words that stand for a larger vocabulary in its sums; and pairs that an attacker learns from."""

_WORDS_PER_BLOCK = 1024
_WORDS_AT_ONCE = 16
_FAR = float(np.finfo(np.float32).max)

_NOTHING = np.float32(-80.0)  # a logarithm

Singles = npt.NDArray[np.float32]
After = Callable[[Ids], Singles]
"""Released words, int64 [U] -> posteriors of all words, float32 [U, N]."""


class Beliefs(NamedTuple):
    """What an attacker believes of D words.

    Attributes:
      sees: WORD, VECTOR or PAIRS.
      grid: epsilons, E of them.
      truth: float32 [D, E], how likely it takes the true word to be, the mean over draws.
      right: uint8 [D, E], in how many of ``BELIEF_DRAWS`` draws its first guess is right.
      words: int64 [D, E, k], the words that it takes for the likeliest, best first.
      shares: float32 [D, E, k], how likely, the mean over draws.
    """

    sees: str
    grid: list[float]
    truth: Singles
    right: npt.NDArray[np.uint8]
    words: Ids
    shares: Singles


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
        return _of_vectors(noise, ids, list(grid[coarse(COARSEST)]), prior, search, keys[0])
    known = is_known(mechanism)
    epsilons = list(grid[coarse(COARSEST if known else FEWEST)])
    steps = [at(mechanism, epsilon) for epsilon in epsilons]
    dimensions, count = search.vocabulary.dimensions, len(ids) * BELIEF_DRAWS
    [random] = drawn(mechanism, dimensions, count, keys[:1])
    random = random[:, : mechanism.draws(dimensions)]
    result = _Means(WORD if known else PAIRS, epsilons, ids, len(prior))
    blocks = _known if known else _learnt
    for column, after in enumerate(blocks(steps, prior, search, keys[1])):
        released = steps[column].release(np.repeat(ids, BELIEF_DRAWS), random, search)
        outputs, which = np.unique(released, return_inverse=True)
        posteriors = after(outputs)
        best = posteriors.argmax(axis=1)
        for row, these in enumerate(which.reshape(-1, BELIEF_DRAWS)):
            mean = posteriors[these[0]].copy()
            for other in these[1:]:
                mean += posteriors[other]
            result.enter(row, column, best[these], mean / BELIEF_DRAWS)
    return result.means


def _falls_with_length(mechanism: Mechanism, search: NeighborSearch) -> bool:
    """Whether the noise has a density of a Euclidean length, and only epsilon scales it."""
    if not (isinstance(mechanism, ScalesNoise) and has_noise_density(mechanism)):
        return False
    return noise_density(mechanism, search).euclidean


def _known(
    steps: Sequence[Any],
    prior: Floats,
    search: NeighborSearch,
    key: bytes,  # noqa: ARG001  nothing is drawn
) -> Iterator[After]:
    """By the formula, at each epsilon."""
    for step, sums in zip(steps, sums_over_words(steps, search), strict=True):
        yield partial(posteriors_by_formula, step, np.log(prior / sums), search)


def posteriors_by_formula(
    mechanism: Mechanism, logs: Floats, search: NeighborSearch, outputs: Ids
) -> Singles:
    """What was probably there, given released words: int64 [U] -> float32 [U, N].

    Args:
      mechanism: santext or tem, with its epsilon.
      logs: float64 [N], logarithms of prior over sum.
      search: the vocabulary.
      outputs: released words.
    """
    posteriors, singles = np.empty((len(outputs), len(logs)), np.float32), logs.astype(np.float32)
    for part, rows in distance_rows(outputs, search):
        scores = log_falling(mechanism, outputs[part], rows, search)
        scores += singles
        _normalise(scores)
        posteriors[part] = scores
    return posteriors


def _learnt(
    steps: Sequence[Any], prior: Floats, search: NeighborSearch, key: bytes
) -> Iterator[After]:
    """By a channel that is estimated from simulated pairs, at each epsilon."""
    [random] = drawn(steps[0], search.vocabulary.dimensions, SIMULATED, [key])
    for step in steps:
        channel = make_channel(step, None, Prior("of the page", prior), [random], search)
        yield partial(_of_channel, channel)


def _of_channel(channel: Channel, outputs: Ids) -> Singles:
    posteriors = np.empty((len(outputs), len(channel.prior.shares)), np.float32)
    for part, joint in channel.joint(outputs):
        posteriors[part] = joint / joint.sum(axis=1, keepdims=True)
    return posteriors


def _normalise(scores: Singles) -> None:
    """Makes posteriors of logarithms: float32 [B, N]."""
    scores -= scores.max(axis=1, keepdims=True)
    # Smaller numbers say nothing, and processors take ten times as long for them.
    np.maximum(scores, _NOTHING, out=scores)
    np.exp(scores, out=scores)
    scores /= (scores @ np.ones(scores.shape[1], np.float32))[:, None]


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
    own = np.ones(words) if base is None else base
    factors = (own * leaving)[some].astype(np.float32)
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
            weights = np.minimum(apart, np.float32(min(distribution.cap, _FAR)))
            weights *= np.float32(-distribution.rate)
            np.maximum(weights, _NOTHING, out=weights)
            np.exp(weights, out=weights)
            weights[itself] = 0
            sums[row, part] = own[part] + leaving[part] * scale * (weights @ factors)
    return sums


class _Means:
    """Gathers the beliefs of each word at each epsilon."""

    def __init__(self, sees: str, epsilons: list[float], ids: Ids, words: int):
        shape, named = (len(ids), len(epsilons)), min(NAMED, words)
        self._ids = ids
        self.means = Beliefs(
            sees,
            epsilons,
            np.zeros(shape, np.float32),
            np.zeros(shape, np.uint8),
            np.zeros((*shape, named), np.int64),
            np.zeros((*shape, named), np.float32),
        )

    def enter(self, row: int, column: int, best: Ids, mean: Singles) -> None:
        """Enters the first guess in each draw, int64 [K], and the mean, float32 [N]."""
        word, means = self._ids[row], self.means
        if word >= 0:
            means.truth[row, column] = mean[word]
            means.right[row, column] = (best == word).sum()
        mean = mean.copy()
        for place in range(means.words.shape[2]):
            likeliest = mean.argmax()
            means.words[row, column, place] = likeliest
            means.shares[row, column, place] = mean[likeliest]
            mean[likeliest] = -1


def _of_vectors(
    mechanism: Any,
    ids: Ids,
    epsilons: list[float],
    prior: Floats,
    search: NeighborSearch,
    key: bytes,
) -> Beliefs:
    """What Bayes on the noisy vectors says."""
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
    result = _Means(VECTOR, epsilons, ids, len(prior))
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
    return result.means


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
        _normalise(scores)
        return best, np.full(len(best), 1 / len(best), np.float32) @ scores
