"""What noisy vectors tell: candidates for the word behind each, and the noise's density given them.

Noisy vectors are first rounded to a public grid, so that what reads them sees no more than a number
of steps a coordinate; decoder.py says why. The density is then taken at the grid point.

Candidates are words of about the largest log prior + log density, chosen by integer products
(space/search/rounded_choice.py) and with the densities of rounded vectors, until those are known
that are read: these have the exact density. Clipped and whitened words are rounded in the density's
coordinates. Sums of absolute values have no such products: all words are gone through, in float32,
and twice as many as are asked for settled in float64. Which words are candidates depends on no
processor, backend, batch or number of threads.
"""

from __future__ import annotations

import dataclasses
import math
from functools import cached_property

import numpy as np
import numpy.typing as npt

from dxbeam.mechanisms import DescribesNoise
from dxbeam.space.search.backends.rounded_vectors import RoundedVectors, round_vectors
from dxbeam.space.search.exact_arithmetic import log
from dxbeam.space.search.neighbors import Floats, Ids, NeighborSearch
from dxbeam.space.search.offset_search import NOTHING, OffsetSearch
from dxbeam.space.search.rounded_choice import RoundedChoice
from dxbeam.space.vocabulary.words import UNKNOWN, Vocabulary, distances_to_words
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
        """The noisy vectors of words, on the grid: int64 [B], uint64 [B, d] -> float64 [B, n]."""
        starts = self._mechanism.noise_starts(ids, self._search)
        return on_grid(starts, self._mechanism.noise(random, self._search), self.step)

    def candidates(self, noisy: Floats, unknown: bool = True) -> Likelihoods:
        """Candidates of noisy vectors on the grid, float64 [T, n], and about their likelihoods.

        ``unknown`` says whether the word may have been one outside the vocabulary.
        """
        vocabulary = self._search.vocabulary
        words, logs = self._chosen(noisy)
        order = np.argsort(np.where(np.isfinite(logs), words, len(vocabulary)), axis=1)
        filled = int(np.isfinite(logs).sum(axis=1).max(initial=1))
        order = order[:, :filled]
        rows = np.arange(len(words))[:, None]
        words, logs = words[rows, order], logs[rows, order]
        words[~np.isfinite(logs)] = len(vocabulary) - 1
        nothing = np.full((len(noisy), 1), UNKNOWN)
        first = self.density.logs(noisy, nothing, vocabulary) if unknown else nothing * np.inf
        return Likelihoods(words, np.concatenate([first, logs], axis=1))

    def likelihoods(self, noisy: Floats, candidates: Likelihoods) -> Likelihoods:
        """The likelihoods of candidates of noisy vectors on the grid, float64 [T, n]."""
        density, vocabulary, words = self.density, self._search.vocabulary, candidates.words
        if density.is_plain and density.power == 1:
            logs = -density.rate * distances_to_words(vocabulary.vectors, noisy, words)
        else:
            logs = density.logs(noisy, words, vocabulary)
        there = np.isfinite(candidates.logs[:, 1:])
        logs = np.where(there, logs, -np.inf)
        return Likelihoods(words, np.concatenate([candidates.logs[:, :1], logs], axis=1))

    def most_probable(self, noisy: Floats) -> Ids:
        """The word, int64 [T], of the largest prior times density at noisy vectors, float64 [T, n].

        Each is read by itself, and faster than by candidates. NOTHING where only ``likelihoods``
        can tell: where a search for one word is no faster, where rounding decides between two
        words, and where all may be so unlikely against the unknown word that their posteriors come
        out as 0.
        """
        density = self.density
        if not density.is_plain:
            return np.full(len(noisy), NOTHING)
        best = self._nearby.best(noisy, min(2, len(self._offsets)), _SAME)
        unlikely = density.rate * best.distances[:, 0] ** density.power > _UNLIKELY
        unsure = unlikely | (best.words[:, 1:] != NOTHING).any(axis=1)
        return np.asarray(np.where(unsure, NOTHING, best.words[:, 0]))

    def _chosen(self, noisy: Floats) -> tuple[Ids, Floats]:
        """Words, int64 [T, K], and about their log densities, [T, K]; -inf for what is no word."""
        density = self.density
        if density.absolute:
            words = np.array([self._by_sums(row) for row in noisy]).reshape(-1, self._count)
            logs = density.logs(noisy, np.maximum(words, 0), self._search.vocabulary)
            return words, np.where(words == NOTHING, -np.inf, logs)
        if self._count == len(self._offsets):
            words = np.tile(np.arange(self._count), (len(noisy), 1))
            logs = density.logs(noisy, words, self._search.vocabulary)
            values = self._offsets[words] + logs
        else:
            queries = noisy if density.is_plain else density.in_coordinates(noisy)
            words, values = self._choice.best(queries, self._count)
            logs = values - self._offsets[words]
        best = values.max(axis=1, keepdims=True)
        return words, np.where(values >= best - self._width, logs, -np.inf)

    @cached_property
    def _choice(self) -> RoundedChoice:
        density = self.density
        rounded = self._rounded_words if density.is_plain else self._moved_words[1]
        return RoundedChoice(rounded, self._offsets, density.rate, self._threads, density.power)

    @cached_property
    def _nearby(self) -> OffsetSearch:
        density, search = self.density, self._search
        vectors, bounds = search.vocabulary.vectors, search.exact_backend.bounds
        return OffsetSearch(
            vectors, bounds, self._offsets, density.rate, self._threads, density.power
        )

    @property
    def _rounded_words(self) -> RoundedVectors:
        """The vocabulary in integers: as it is stored, or made once."""
        rounded = self._search.vocabulary.rounded
        if rounded is not None:
            return rounded

        def of(vocabulary: Vocabulary) -> RoundedVectors:
            return round_vectors(vocabulary.vectors, vocabulary.vectors_of(np.array([UNKNOWN]))[0])

        computed: RoundedVectors = self._search.computed_once("rounded words", of)
        return computed

    @property
    def _moved_words(self) -> tuple[Singles, RoundedVectors]:
        """What noise is added to, of all words, in the density's coordinates, and in integers.

        It is the same at every epsilon.
        """
        density = self.density

        def of(vocabulary: Vocabulary) -> tuple[Singles, RoundedVectors]:
            moved = np.empty(vocabulary.vectors.shape, np.float32)
            for start in range(0, len(moved), _WORDS_PER_BLOCK):
                part = slice(start, start + _WORDS_PER_BLOCK)
                starts = density.starts(vocabulary.vectors[part].astype(np.float64))
                moved[part] = density.in_coordinates(starts)
            return moved, round_vectors(moved, moved.mean(axis=0, dtype=np.float64))

        whitened = None if density.whiten is None else density.whiten.tobytes()
        kept: tuple[Singles, RoundedVectors] = self._search.computed_once(
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
