"""How likely each word is to stay: by a formula where there is one, else counted in further draws.

The page does not show these draws, and no released word depends on them, so float32 does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dxbeam.analysis.attackers.channel import is_known, log_falling, public_base
from dxbeam.analysis.measure import every_epsilon
from dxbeam.analysis.preview.draws import drawn, new_keys
from dxbeam.analysis.preview.epsilons import COARSE, COARSEST, at, coarse
from dxbeam.mechanisms import Mechanism, ScalesNoise
from dxbeam.mechanisms.sampling.noise import Floats
from dxbeam.space.search.distance_rows import distance_rows
from dxbeam.space.search.neighbors import Ids, NeighborSearch
from dxbeam.space.search.neighbors import is_known as is_known_word

STAY_DRAWS = 32
"""Draws of each word, where its chance is counted."""

PER_CENT = 100

_NOTHING = np.float32(-80.0)  # a logarithm; numbers below take ten times as long

Bytes = npt.NDArray[np.uint8]


class Chances(NamedTuple):
    """How often words stay.

    Attributes:
      grid: epsilons, E of them.
      stay: uint8 [D, E], in how many of ``of`` draws each word was released as itself; in per cent
        where it was computed.
      of: ``STAY_DRAWS``; 0 where it was computed.
    """

    grid: list[float]
    stay: Bytes
    of: int


def chances(
    mechanism: Mechanism, ids: Ids, grid: Sequence[float], search: NeighborSearch
) -> Chances:
    """How often each of D words stays: at a grid, or at some values of it.

    Args:
      mechanism: with any epsilon.
      ids: int64 [D], UNKNOWN for words outside the vocabulary, which never stay.
      grid: 60 epsilons.
      search: the vocabulary.
    """
    if is_known(mechanism):
        epsilons = list(grid[coarse(COARSE)])
        shares = _computed(mechanism, ids, epsilons, search)
        return Chances(epsilons, np.rint(PER_CENT * shares).astype(np.uint8), 0)
    dimensions = search.vocabulary.dimensions
    if isinstance(mechanism, ScalesNoise):
        epsilons = list(grid)
        # Each word meets the same few vectors of noise: its own chance is what is asked for.
        [random] = drawn(mechanism, dimensions, STAY_DRAWS, new_keys(1))
        noise = mechanism.noise(random[:, : mechanism.draws(dimensions)], search)
        noise /= mechanism.noise_scale
        scales = np.array([at(mechanism, epsilon).noise_scale for epsilon in epsilons])
        leaves = _leaves_at(mechanism.noise_starts(ids, search), noise, ids, search)
        kept = leaves[:, :, None] >= scales
    else:
        epsilons = list(grid[coarse(COARSEST)])
        rows = np.repeat(ids, STAY_DRAWS)
        [random] = drawn(mechanism, dimensions, len(rows), new_keys(1))
        random = random[:, : mechanism.draws(dimensions)]
        released = [at(mechanism, epsilon).release(rows, random, search) for epsilon in epsilons]
        kept = (np.stack(released, axis=1) == rows[:, None]).reshape(len(ids), STAY_DRAWS, -1)
    return Chances(epsilons, kept.sum(axis=1).astype(np.uint8), STAY_DRAWS)


def _computed(
    mechanism: Mechanism, ids: Ids, epsilons: Sequence[float], search: NeighborSearch
) -> Floats:
    """Pr[x -> x] of santext and tem: float64 [D, E]."""
    shares = np.zeros((len(ids), len(epsilons)))
    known = np.flatnonzero(is_known_word(ids))
    for part, rows in distance_rows(ids[known], search):
        words = ids[known][part]
        for column, epsilon in enumerate(epsilons):
            there = at(mechanism, epsilon)
            logs = log_falling(there, words, rows.copy(), search)
            weights = np.exp(np.maximum(logs, _NOTHING, out=logs), out=logs)
            base = public_base(there, search)
            if base is not None:
                weights = weights * base
            unchanged = weights[np.arange(len(words)), words]
            shares[known[part], column] = unchanged / weights.sum(axis=1, dtype=np.float64)
    return shares


def _leaves_at(starts: Floats, noise: Floats, ids: Ids, search: NeighborSearch) -> Floats:
    """The scale of each noise at which each word ceases to be the nearest one: float64 [D, K]."""
    words = search.computed_once("lines", lambda words: every_epsilon.lines(words.vectors))
    half = words.half_squares.astype(np.float32)
    leaves = np.full((len(ids), len(noise)), -1.0)
    slopes = noise.astype(np.float32) @ words.vectors.T
    first_lines = starts.astype(np.float32) @ words.vectors.T - half
    # Of an inverse of 0 the product is 0, so the word itself is none of those that overtake it.
    for row in np.flatnonzero(is_known_word(ids)):
        at_zero = first_lines[row]
        ahead = 1 / np.maximum(at_zero[ids[row]] - at_zero, np.float32(1e-12))
        ahead[ids[row]] = 0
        steepest = ((slopes - slopes[:, ids[row], None]) * ahead).max(axis=1)
        leaves[row] = 1 / np.maximum(steepest, np.float32(1e-12))
    return leaves
