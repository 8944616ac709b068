"""What a measurement is asked for, and what it plans once it knows vocabulary and words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dxbeam.analysis.measure import grids
from dxbeam.analysis.measure.public_parameters import Known, epsilons_of, reading_of
from dxbeam.analysis.measure.read_words import texts_of
from dxbeam.analysis.measure.settings import Named, NamedWeights, Setting, make_named
from dxbeam.analysis.measure.word_sample import UNIFORM, WordSample
from dxbeam.analysis.theory import geometry
from dxbeam.analysis.theory.geometry import Bounds, Nearer, Threshold
from dxbeam.mechanisms import ChoosesWords, check_vocabulary
from dxbeam.space.artifact import artifact
from dxbeam.space.artifact.artifact import VocabularyHandle
from dxbeam.space.search.neighbors import NeighborSearch

_POINTS_OF_CHANNELS = 10  # the sums of a channel take long, and are of one epsilon

REPEATED_WORDS = 100
"""How many words are released again and again; fewer where fewer are measured."""


class Question(NamedTuple):
    """What is asked.

    Attributes:
      mechanisms: each with its parameters.
      epsilons: the same for all mechanisms, in increasing order; None gives each its own.
      rank_cs: of rank resampling, in increasing order; without it is always measured as well.
      repeats: how often each of a few words is released for N_w and S_w; 0 for not at all.
      importance: public weights of words for all mechanisms, or None.
    """

    mechanisms: tuple[Named, ...]
    epsilons: tuple[float, ...] | None
    rank_cs: tuple[float, ...]
    repeats: int
    importance: NamedWeights | None = None


class Plan(NamedTuple):
    """What is measured.

    Attributes:
      sample: the words.
      settings: what is measured on them.
      repeats: how often each of the repeated words is released.
      repeated: ids of these words.
      thresholds: Table 2 of the sample.
      points: Figure 6 of the sample over the epsilons of Laplace noise; empty where it is not
        measured.
      bounds: of the repeated words, over the same epsilons.
    """

    sample: WordSample
    settings: list[Setting]
    repeats: int
    repeated: list[int]
    thresholds: list[Threshold]
    points: list[Nearer]
    bounds: list[Bounds]


def plan(question: Question, sample: WordSample, search: NeighborSearch) -> Plan:
    """Gives every mechanism its grid, and computes what needs no noise.

    Words of a corpus are not repeated, as a table of single words would quote the corpus.
    """
    settings = [
        Setting(
            *named,
            epsilons_of(named[1], question.epsilons)
            or tuple(grid_of(named, sample, search, question.importance)),
            question.rank_cs,
            question.importance,
        )
        for named in question.mechanisms
    ]
    known = np.array(sample.known_ids, np.int64)
    thresholds = geometry.thresholds(known, search, sample.texts_of_known)
    laplace = nearest_laplace(settings)
    repeated = sample.ids[:REPEATED_WORDS]
    if sample.weighting != UNIFORM or not question.repeats:
        repeated = []
    return Plan(
        sample,
        settings,
        question.repeats,
        repeated,
        thresholds,
        geometry.nearer(thresholds, search.vocabulary.dimensions, laplace.epsilons)
        if laplace
        else [],
        geometry.bounds(np.array(repeated, np.int64), laplace.epsilons, search)
        if laplace and repeated
        else [],
    )


def nearest_laplace(settings: Sequence[Setting]) -> Setting | None:
    """The mechanism that the paper's geometry is about: laplace, without a decoder."""
    return next(
        (one for one in settings if one.mechanism == "laplace" and one.reading is None), None
    )


def grid_of(
    named: Named,
    sample: WordSample,
    search: NeighborSearch,
    importance: NamedWeights | None = None,
) -> list[float]:
    """A grid over the range in which the words begin to come out as themselves.

    Of words that are decoded after the mechanism chose them it is the range before decoding, at a
    few points.
    """
    mechanism, reading = make_named(named, importance=importance), reading_of(named[1])
    known = np.array(sample.known_ids, np.int64)
    if reading is None:
        return grids.automatic(mechanism, known, search)
    if reading.decoder and isinstance(mechanism, ChoosesWords):
        return grids.by_shares(mechanism, known, search, _POINTS_OF_CHANNELS)
    ids = np.array(sample.ids, np.int64)
    return grids.automatic(mechanism, ids, search, reading, texts_of(sample))


def check_words(question: Question, vocabulary: VocabularyHandle) -> None:
    """Refuses what is public of words, but not of this vocabulary's.

    Raises:
      ConfigurationError: lists that name none of its words, or a scan of another vocabulary.
    """
    known = [
        make_named(named, importance=question.importance)
        for named in question.mechanisms
        if question.importance or any(isinstance(value, Known) for _, value in named[1])
    ]
    if known:
        opened = artifact.open_vocabulary(vocabulary)
        for mechanism in known:
            check_vocabulary(mechanism, opened)
        for _, parameters in question.mechanisms:
            if reading := reading_of(parameters):
                reading.model.opened(opened)
