"""Which settings a frontier is measured at: a task for each mechanism and epsilon."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from dxbeam.analysis.attackers.resampled_channel import MOST_RANKS, ranks_needed
from dxbeam.analysis.measure import grids
from dxbeam.analysis.measure.plan import Question
from dxbeam.analysis.measure.public_parameters import epsilons_of, reading_of
from dxbeam.analysis.measure.settings import Setting, make_named
from dxbeam.analysis.measure.transform import Searching, SharedSearch
from dxbeam.analysis.measure.word_sample import WordSample
from dxbeam.space.search.neighbors import NeighborSearch

SETTINGS = "settings"
"""What progress is counted in."""


class Task(NamedTuple):
    """A mechanism at one epsilon, and the words it is tried on.

    Attributes:
      part: names the task, and its random numbers.
      setting: of one epsilon.
      ids: the words.
    """

    part: int
    setting: Setting
    ids: list[int]


class PlanFrontier(Searching):
    """Gives every mechanism its epsilons, a Task for each of them, on each WordSample.

    Args:
      question: what is wanted; its repeats are of no use here.
      points: values of epsilon of a mechanism where none are named.
      search: of the vocabulary.
    """

    def __init__(self, question: Question, points: int, search: SharedSearch):
        super().__init__(search)
        self._question = question
        self._points = points

    def process(self, sample: WordSample) -> Iterator[Task]:  # noqa: D102
        ids = WordSample(*sample).ids
        settings = planned(self._question, self._points, ids, self._search)
        for part, setting in enumerate(settings):
            yield Task(part, setting, ids)


def planned(
    question: Question, points: int, ids: Sequence[int], search: NeighborSearch
) -> list[Setting]:
    """The settings of a frontier, of one epsilon each, mechanism by mechanism.

    Args:
      question: what is wanted; its repeats are of no use here.
      points: values of epsilon of a mechanism where none are named.
      ids: the words that are attacked, in random order.
      search: the vocabulary.
    """
    settings = []
    for named in question.mechanisms:
        mechanism = make_named(named, importance=question.importance)
        rank_cs = () if reading_of(named[1]) else question.rank_cs
        epsilons = epsilons_of(named[1], question.epsilons) or grids.by_shares(
            mechanism, np.array(ids, np.int64), search, points
        )
        settings += [
            Setting(*named, (epsilon,), rank_cs, question.importance) for epsilon in epsilons
        ]
    return settings


def followed(rank_c: float, epsilon: float, words: int) -> bool:
    """Whether the attacker can follow rank resampling with this c in N words."""
    return ranks_needed(rank_c, epsilon, words) <= MOST_RANKS
