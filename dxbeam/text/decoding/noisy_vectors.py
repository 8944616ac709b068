"""What noisy vectors tell: candidates for the word behind each, and the noise's density given them.

Noisy vectors are first rounded to a public grid, so that what reads them sees no more than a number
of steps a coordinate; decoder.py says why. The density is then taken at the grid point.

Candidates are the words of the largest log prior + log density. For laplace they are found by the
certified search of space/offset_search.py in the vocabulary's own geometry. Clipped and whitened
words are a float32 copy, searched in the same way by float32 products. Sums of absolute values have
no such search: all words are gone through, in float32, and twice as many as are asked for settled
in float64. Which words are candidates depends on no backend, batch or number of threads.
"""

from __future__ import annotations

import dataclasses
import math
from functools import cached_property

import numpy as np
import numpy.typing as npt

from dxbeam.mechanisms import DescribesNoise
from dxbeam.space.search.backends.float32_bounds import Float32Bounds
from dxbeam.space.search.exact_arithmetic import log
from dxbeam.space.search.neighbors import Floats, Ids, NeighborSearch
from dxbeam.space.search.offset_search import NOTHING, OffsetSearch
from dxbeam.space.vocabulary.words import UNKNOWN, Vocabulary
from dxbeam.text.decoding.likelihoods import Likelihoods

_STEPS_PER_DEVIATION = 16
_WORDS_PER_BLOCK = 256
_ROWS_AT_ONCE = 32  # stay in the cache
_SAME = 1e-6  # a logarithm that rounding may turn into another one
_UNLIKELY = 700.0  # in logarithms; exponentials of less are not rounded to 0

Singles = npt.NDArray[np.float32]


def grid_step(deviation: float) -> float:
    """The largest power of two that is at most a sixteenth of a deviation."""
    return math.ldexp(1.0, math.frexp(deviation / _STEPS_PER_DEVIATION)[1] - 1)


def on_grid(starts: Floats, noise: Floats, step: float) -> Floats:
    """The grid points nearest to starts + noise: float64 [B, n] -> [B, n], multiples of ``step``.

    The grid point next to the start is added last, exactly, so that a long start rounds no noise.
    """
    points = np.empty(starts.shape)
    for first in range(0, len(points), _ROWS_AT_ONCE):
        part = slice(first, first + _ROWS_AT_ONCE)
        nearest = np.rint(starts[part] / step)
        steps = np.rint(((starts[part] - nearest * step) + noise[part]) / step) + nearest
        points[part] = (steps + 0.0) * step  # never -0, whose sign would tell
    return points


class NoisyVectors:
    """Reads the noisy vectors of a mechanism.

    Args:
      mechanism: adds noise of known density.
      search: the vocabulary.
      prior: float64 [N + 1], probabilities of the words and last of the unknown one.
      count: K, candidates a place.
      width: candidates are no further below the best one, in natural logarithms.
      threads: of the search.
    """

    def __init__(
        self,
        mechanism: DescribesNoise,
        search: NeighborSearch,
        prior: Floats,
        count: int,
        width: float,
        threads: int = 1,
    ):
        self._mechanism, self._search, self._threads = mechanism, search, threads
        density = mechanism.density(search)
        self.step = grid_step(density.deviation)
        self.density = dataclasses.replace(density, limit=density.limit + self.step)
        self._offsets = log(prior[:-1])
        self._count, self._width = min(count, len(search.vocabulary)), width

    def observe(self, ids: Ids, random: npt.NDArray[np.uint64]) -> Floats:
        """The noisy vectors of words, on the grid.

        Args:
          ids: int64 [B].
          random: uint64 [B, draws].

        Returns:
          float64 [B, n].
        """
        starts = self._mechanism.noise_starts(ids, self._search)
        return on_grid(starts, self._mechanism.noise(random, self._search), self.step)

    def likelihoods(self, noisy: Floats, unknown: bool = True) -> Likelihoods:
        """Candidates and likelihoods of noisy vectors, float64 [T, n].

        Args:
          noisy: on the grid.
          unknown: whether the word may have been one outside the vocabulary.
        """
        vocabulary = self._search.vocabulary
        words, logs = self._candidates(noisy)
        filled = int((words != NOTHING).sum(axis=1).max(initial=1))
        words, logs = words[:, :filled], logs[:, :filled]  # the best come first
        order = np.argsort(np.where(words == NOTHING, len(vocabulary), words), axis=1)
        rows = np.arange(len(words))[:, None]
        words, logs = words[rows, order], logs[rows, order]
        nothing = np.full((len(noisy), 1), UNKNOWN)
        first = self.density.logs(noisy, nothing, vocabulary) if unknown else nothing * np.inf
        words = np.where(words == NOTHING, len(vocabulary) - 1, words)
        return Likelihoods(words, np.concatenate([first, logs], axis=1))

    def most_probable(self, noisy: Floats) -> Ids:
        """The word of the largest prior times density at each noisy vector, read by itself.

        A search for it is faster than one for candidates.

        Args:
          noisy: on the grid, float64 [T, n].

        Returns:
          int64 [T]; NOTHING where only ``likelihoods`` can tell: where a search for one word is no
          faster, where rounding decides between two words, and where all may be so unlikely against
          the unknown word that their posteriors come out as 0.
        """
        density = self.density
        if not density.is_plain:
            return np.full(len(noisy), NOTHING)
        best = self._nearby.best(noisy, min(2, len(self._offsets)), _SAME)
        unlikely = density.rate * best.distances[:, 0] ** density.power > _UNLIKELY
        unsure = unlikely | (best.words[:, 1:] != NOTHING).any(axis=1)
        return np.asarray(np.where(unsure, NOTHING, best.words[:, 0]))

    def _candidates(self, noisy: Floats) -> tuple[Ids, Floats]:
        """Words, int64 [T, K], NOTHING where there are no more, and log densities, [T, K]."""
        density = self.density
        if density.absolute:
            words = np.array([self._by_sums(row) for row in noisy]).reshape(-1, self._count)
        else:
            queries = noisy if density.is_plain else density.in_coordinates(noisy)
            best = self._nearby.best(queries, self._count, self._width)
            if density.is_plain and density.power == 1:
                return best.words, -density.rate * best.distances
            words = best.words
        logs = density.logs(noisy, np.maximum(words, 0), self._search.vocabulary)
        return words, np.where(words == NOTHING, -np.inf, logs)

    @cached_property
    def _nearby(self) -> OffsetSearch:
        density, search = self.density, self._search
        if density.is_plain:
            vectors, bounds = search.vocabulary.vectors, search.exact_backend.bounds
        else:
            vectors, bounds = self._moved_words
        return OffsetSearch(
            vectors, bounds, self._offsets, density.rate, self._threads, density.power
        )

    @property
    def _moved_words(self) -> tuple[Singles, Float32Bounds]:
        """What noise is added to, of all words, in the density's coordinates, and bounds of it.

        It is the same at every epsilon.
        """
        density = self.density

        def of(vocabulary: Vocabulary) -> tuple[Singles, Float32Bounds]:
            moved = np.empty(vocabulary.vectors.shape, np.float32)
            for start in range(0, len(moved), _WORDS_PER_BLOCK):
                part = slice(start, start + _WORDS_PER_BLOCK)
                starts = density.starts(vocabulary.vectors[part].astype(np.float64))
                moved[part] = density.in_coordinates(starts)
            return moved, Float32Bounds(moved)

        whitened = None if density.whiten is None else density.whiten.tobytes()
        kept: tuple[Singles, Float32Bounds] = self._search.computed_once(
            ("moved", density.clip, whitened), of
        )
        return kept

    def _by_sums(self, query: Floats) -> Ids:
        """Candidates of one noisy vector by sums of absolute values: float64 [n] -> int64 [K]."""
        words, _ = self._moved_words
        density, single = self.density, query.astype(np.float32)
        values = np.empty(len(words))
        for start in range(0, len(words), _WORDS_PER_BLOCK):
            part = slice(start, start + _WORDS_PER_BLOCK)
            apart = np.abs(words[part] - single)
            values[part] = apart.sum(axis=1)
            if density.limit < math.inf:
                values[part][apart.max(axis=1) > density.limit + self.step] = np.inf
        values = self._offsets - density.rate * values
        some = min(2 * self._count, len(values))
        near = np.flatnonzero(values >= np.partition(values, -some)[-some])
        logs = density.logs(query[None], near[None], self._search.vocabulary)[0]
        exact = self._offsets[near] + logs
        order = np.lexsort((near, -exact))[: self._count]
        kept = exact[order] >= exact[order[0]] - self._width
        kept &= np.isfinite(exact[order])
        return np.where(kept, near[order], NOTHING)
