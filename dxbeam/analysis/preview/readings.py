"""Everything that a mechanism releases for the words of a page, by epsilon, c and decoder.

Noise of which epsilon is only a scale is drawn once, and every epsilon of four digits read off it
(every_epsilon.py). All else is released anew at each value of a grid, from the same random numbers.
What is drawn is therefore exactly what a Sanitizer would release from these random numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from dxbeam.analysis.measure import every_epsilon
from dxbeam.analysis.preview.draws import drawn
from dxbeam.analysis.preview.epsilons import COARSE, at, coarse, grid, position, scales
from dxbeam.analysis.preview.runs import Runs, at_places, joined, of_grid
from dxbeam.analysis.preview.sample import Sample
from dxbeam.language.model import LanguageModel
from dxbeam.mechanisms import DescribesNoise, Mechanism, ReadsReleased, ScalesNoise
from dxbeam.mechanisms.sampling.released_before import STARTS, places_after
from dxbeam.mechanisms.sampling.resampling import RankResampling
from dxbeam.randomness import Random
from dxbeam.space.search.neighbors import Ids, NeighborSearch
from dxbeam.space.vocabulary.words import UNKNOWN
from dxbeam.text.decoding.decoder import CONTEXT, NEAREST, PRIOR, Decoder
from dxbeam.text.decoding.likeliest import likeliest
from dxbeam.text.decoding.losses import most_probable
from dxbeam.text.decoding.reader import observations
from dxbeam.text.decoding.reading import by_frequency, in_context

RANK_CS = (0.02, 0.03, 0.05, 0.08, 0.12, 0.2, 0.3, 0.5)
"""The values of c that a page shows, besides none."""

_BEFORE = np.array([STARTS, 0, UNKNOWN])  # what places_after calls STARTS, FOLLOWS, CUT


class Reading(NamedTuple):
    """What one way of releasing makes of the words.

    Attributes:
      decode: nearest, prior or context.
      rank_c: of rank resampling; None for none.
      grid: the epsilons of its places; None where places are positions, for every epsilon.
      runs: which word is released from where on.
    """

    decode: str
    rank_c: float | None
    grid: list[float] | None
    runs: Runs


class Drawn(NamedTuple):
    """A mechanism and its draws.

    Attributes:
      mechanism: at any epsilon.
      random: uint64 [K, T, draws].
      resampling: uint64 [K, T], the numbers of rank resampling.
      grid: 60 epsilons in increasing order, over which it begins to keep words.
    """

    mechanism: Mechanism
    random: Random
    resampling: Random
    grid: list[float]


def draw(mechanism: Mechanism, sample: Sample, keys: list[bytes], search: NeighborSearch) -> Drawn:
    """Draws, and looks where the mechanism begins to keep words."""
    random = drawn(mechanism, search.vocabulary.dimensions, len(sample.ids), keys)
    draws = mechanism.draws(search.vocabulary.dimensions)
    known = np.flatnonzero(sample.known)
    values = grid(mechanism, sample.ids[known], random[0, known, :draws], search)
    return Drawn(mechanism, random[..., :draws], random[..., draws], values)


def readings(
    draws: Drawn,
    sample: Sample,
    model: LanguageModel | None,
    search: NeighborSearch,
    threads: int = 1,
) -> Iterator[Reading]:
    """Every way of releasing the words that a page shows for a mechanism.

    Args:
      draws: of the mechanism.
      sample: the words.
      model: a public language model that decoders read with, or None.
      search: the vocabulary.
      threads: that compute side by side.
    """
    if isinstance(draws.mechanism, ScalesNoise):
        runs = _every_epsilon(draws, sample, search, threads)
        yield Reading(NEAREST, None, None, runs)
        released = at_places(runs, np.array([position(epsilon) for epsilon in draws.grid]))
    else:
        released = _released(draws, sample, search)
        yield Reading(NEAREST, None, draws.grid, of_grid(released, len(draws.random)))
    yield from _resampled(draws, released, search)
    if model is not None and isinstance(draws.mechanism, DescribesNoise):
        yield from _decoded(draws, sample, model, search, threads)


def _every_epsilon(draws: Drawn, sample: Sample, search: NeighborSearch, threads: int) -> Runs:
    mechanism: Any = draws.mechanism
    # Word after word, so that draws of the same word are computed together.
    by_word = np.arange(draws.random[..., 0].size).reshape(len(draws.random), -1).T.ravel()
    starts = np.repeat(mechanism.noise_starts(sample.ids, search), len(draws.random), axis=0)
    noise = mechanism.noise(_rows(draws)[by_word], search) / mechanism.noise_scale
    first, last = position(draws.grid[0]), position(draws.grid[-1])
    lines = search.computed_once("lines", lambda words: every_epsilon.lines(words.vectors))
    along = scales(mechanism, first, last)[::-1]
    spans = every_epsilon.spans(starts, noise, along, lines, threads)
    in_order = (spans[place] for place in np.argsort(by_word).tolist())
    return joined((_by_position(each, first, last) for each in in_order), len(draws.random))


def _by_position(spans: every_epsilon.Spans, first: int, last: int) -> tuple[Ids, Ids]:
    """Runs in the order of epsilons: scales are in the opposite order."""
    behind = np.append(spans.first[1:], last - first + 1)
    return (last + 1 - behind)[::-1], spans.ids[::-1]


def _released(draws: Drawn, sample: Sample, search: NeighborSearch) -> Ids:
    """What is released at each epsilon of the grid: int64 [K * T, E]."""
    count = len(draws.random)
    ids, random = np.tile(sample.ids, count), _rows(draws)
    released = np.empty((len(ids), len(draws.grid)), np.int64)
    # From the middle on: there most words need the distances of all others, which are then kept.
    middle = len(draws.grid) // 2
    for column in sorted(range(len(draws.grid)), key=lambda place: abs(place - middle)):
        mechanism = at(draws.mechanism, draws.grid[column])
        if isinstance(mechanism, ReadsReleased):
            places = places_after(np.tile(_BEFORE[sample.breaks], count))
            released[:, column] = mechanism.release_in_order(ids, random, search, places)
        else:
            released[:, column] = mechanism.release(ids, random, search)
    return released


def _resampled(draws: Drawn, released: Ids, search: NeighborSearch) -> Iterator[Reading]:
    count, epsilons = len(draws.random), draws.grid[coarse(COARSE)]
    chosen, last = released[:, coarse(COARSE)], draws.resampling.reshape(-1, 1)
    words = len(search.vocabulary)
    ranks = np.array(
        [[RankResampling(c).ranks(last, epsilon, words) for epsilon in epsilons] for c in RANK_CS]
    )
    # Few pairs of word and rank are different: each is looked up once.
    pairs, which = np.unique(chosen.T * words + ranks, return_inverse=True)
    neighbors = search.neighbor(pairs // words, pairs % words)[which].reshape(ranks.shape)
    for c, words_of_c in zip(RANK_CS, neighbors, strict=True):
        yield Reading(NEAREST, c, epsilons, of_grid(np.ascontiguousarray(words_of_c.T), count))


def _decoded(
    draws: Drawn, sample: Sample, model: LanguageModel, search: NeighborSearch, threads: int
) -> Iterator[Reading]:
    count = len(draws.random)
    ids, random = np.tile(sample.ids, count), _rows(draws)
    breaks = np.tile(sample.breaks, count)
    decoder, decoded = Decoder(CONTEXT, model=model.digest), []
    for epsilon in draws.grid:
        mechanism = at(draws.mechanism, epsilon)
        seen = observations(mechanism, search, model, decoder, threads)
        observed = seen.observe(ids, random)
        candidates = seen.candidates(observed)
        kept = likeliest(candidates, breaks, model, decoder.kept)
        posteriors = (
            by_frequency(seen.likelihoods(observed, candidates), model),
            in_context(seen.likelihoods(observed, kept), breaks, model),
        )
        decoded.append([most_probable(posterior) for posterior in posteriors])
    by_decoder = np.moveaxis(np.array(decoded), 0, 2)
    for kind, released in zip((PRIOR, CONTEXT), by_decoder, strict=True):
        yield Reading(kind, None, draws.grid, of_grid(released, count))


def _rows(draws: Drawn) -> Random:
    """The random numbers of all draws, one after the other: uint64 [K * T, draws]."""
    return draws.random.reshape(-1, draws.random.shape[2])
