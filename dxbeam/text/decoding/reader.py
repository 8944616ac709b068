"""Words and random numbers -> released words, by way of what was drawn and what is public."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np

from dxbeam.errors import ConfigurationError
from dxbeam.language.model import LanguageModel
from dxbeam.language.sentences import sentence_ends
from dxbeam.mechanisms import ChoosesWords, DescribesNoise, Mechanism
from dxbeam.randomness import Random
from dxbeam.space.search.neighbors import Ids, NeighborSearch
from dxbeam.space.search.offset_search import NOTHING
from dxbeam.space.vocabulary.words import Vocabulary
from dxbeam.text.decoding.decoder import PRIOR, WINDOW, Decoder
from dxbeam.text.decoding.drawn_words import DrawnWords
from dxbeam.text.decoding.likeliest import likeliest
from dxbeam.text.decoding.likelihoods import Likelihoods, Posterior
from dxbeam.text.decoding.losses import WORD, most_probable, nearest_to_mean
from dxbeam.text.decoding.noisy_vectors import NoisyVectors
from dxbeam.text.decoding.pieces import CUT, FOLLOWS, OVERLAP, STARTS, Breaks
from dxbeam.text.decoding.reading import by_frequency, in_context


class Tells(Protocol):
    """What drawn noise or words tell of the words behind them."""

    def candidates(self, observed: Any, unknown: bool = True) -> Likelihoods:
        """Candidates, given what was drawn and nothing else, and about their likelihoods."""
        ...

    def likelihoods(self, observed: Any, candidates: Likelihoods) -> Likelihoods:
        """The likelihoods of some of these candidates."""
        ...


class Observations(Tells, Protocol):
    """What a mechanism draws, and what that tells."""

    def observe(self, ids: Ids, random: Random) -> Any:
        """What is drawn for words, one row each: int64 [B], uint64 [B, draws]."""
        ...


def why_not_decoded(mechanism: Mechanism) -> str | None:
    """Why what a mechanism draws cannot be decoded; None where it can."""
    if isinstance(mechanism, (DescribesNoise, ChoosesWords)):
        return None
    return (
        f"`decode` cannot be used with `mechanism` {mechanism.name}: what it draws has no known "
        "density or channel; leave `decode` out"
    )


def observations(
    mechanism: Mechanism,
    search: NeighborSearch,
    model: LanguageModel,
    decoder: Decoder,
    threads: int = 1,
) -> Observations:
    """What reads the mechanism's draws; refused where they have no known density or channel."""
    if reason := why_not_decoded(mechanism):
        raise ConfigurationError(reason)
    count, width = decoder.candidates, decoder.width
    if isinstance(mechanism, DescribesNoise):
        return NoisyVectors(mechanism, search, model.prior, count, width, threads)
    assert isinstance(mechanism, ChoosesWords)
    return DrawnWords(mechanism, search, model.prior, count, width)


class Reader:
    """Decodes what a mechanism draws.

    Args:
      decoder: how.
      mechanism: what draws.
      search: the vocabulary.
      model: the public language model, made for that vocabulary.
      unknown: whether words outside the vocabulary are drawn for like any other.
      threads: of the search for candidates.

    Raises:
      ConfigurationError: what the mechanism draws has no known density or channel.
    """

    def __init__(
        self,
        decoder: Decoder,
        mechanism: Mechanism,
        search: NeighborSearch,
        model: LanguageModel,
        unknown: bool = True,
        threads: int = 1,
    ):
        self.decoder, self._model, self._unknown = decoder, model, unknown
        self._vocabulary = search.vocabulary
        self._observations = observations(mechanism, search, model, decoder, threads)

    def posteriors(self, ids: Ids, random: Random, breaks: Breaks) -> Posterior:
        """What was probably there, by what is drawn for words, int64 [T]."""
        observed = self._observations.observe(ids, random)
        return self.read(observed, breaks)

    def read(self, observed: Any, breaks: Breaks) -> Posterior:
        """The same of what was drawn; nothing here sees a word."""
        seen = self._observations
        return posterior_of(self.decoder, seen, observed, breaks, self._model, self._unknown)

    def release(self, ids: Ids, random: Random, breaks: Breaks) -> Ids:
        """A word of the vocabulary for each word: int64 [T]; arguments as ``posteriors``."""
        observed, decoder = self._observations.observe(ids, random), self.decoder
        one = decoder.kind == PRIOR and decoder.loss == WORD
        if not one or not isinstance(self._observations, NoisyVectors):
            return chosen(decoder, self.read(observed, breaks), self._vocabulary)
        released = self._observations.most_probable(observed)
        rest = np.flatnonzero(released == NOTHING)
        if len(rest):
            released[rest] = most_probable(self.read(observed[rest], breaks[rest]))
        return released


def posterior_of(
    decoder: Decoder,
    tells: Tells,
    observed: Any,
    breaks: Breaks,
    model: LanguageModel,
    unknown: bool = True,
) -> Posterior:
    """What was probably at each of T places, as the decoder reads; ``breaks`` as in reading.py.

    ``unknown`` says whether words outside the vocabulary were drawn for like any other.
    """
    candidates = tells.candidates(observed, unknown)
    if decoder.kind == PRIOR:
        return by_frequency(tells.likelihoods(observed, candidates), model)
    candidates = likeliest(candidates, breaks, model, decoder.kept)
    return in_context(tells.likelihoods(observed, candidates), breaks, model)


def chosen(decoder: Decoder, posterior: Posterior, vocabulary: Vocabulary) -> Ids:
    """The words that lose least: int64 [T]."""
    if decoder.loss == WORD:
        return most_probable(posterior)
    return nearest_to_mean(posterior, vocabulary)


class Window(NamedTuple):
    """A part of a document that is read together.

    Attributes:
      first: the first word that is read.
      start: the first that is released of it.
      stop: behind the last that is released.
      end: behind the last that is read.
    """

    first: int
    start: int
    stop: int
    end: int


def windows(words: int, overlap: int = OVERLAP) -> Iterator[Window]:
    """The windows of a document of this many words."""
    for start in range(0, words, WINDOW):
        stop = min(start + WINDOW, words)
        yield Window(max(0, start - overlap), start, stop, min(stop + overlap, words))


def breaks_of(gaps: list[str]) -> Breaks:
    """Where sentences start, by the gap in front of each word of a document: int8 [T]."""
    breaks = np.full(len(gaps), FOLLOWS, np.int8)
    breaks[[sentence_ends(gap) for gap in gaps]] = STARTS
    breaks[:1] = STARTS
    return breaks


def breaks_of_runs(runs: list[tuple[int, int]]) -> Breaks:
    """The same of runs of words whose gaps are not known: one sentence each, int8 [T].

    A run is the position of its first word in its document, and the number of its words.
    """
    breaks = np.full(sum(count for _, count in runs), FOLLOWS, np.int8)
    start = 0
    for position, count in runs:
        if count:
            breaks[start] = CUT if position else STARTS
        start += count
    return breaks
