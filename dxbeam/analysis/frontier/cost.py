"""How long a frontier will take, roughly: from short trials on the machine that asks."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np

from dxbeam.analysis.attackers.channel import is_known
from dxbeam.analysis.attackers.context import CANDIDATES
from dxbeam.analysis.attackers.models import word_model
from dxbeam.analysis.attackers.resampled_channel import ranks_followed
from dxbeam.analysis.frontier.plan import followed
from dxbeam.analysis.measure.settings import Setting
from dxbeam.mechanisms.channels.estimated_channel import LAW_PAIRS
from dxbeam.space.search.distance_rows import distance_rows
from dxbeam.space.search.neighbors import NeighborSearch

_TRIAL, _READ = 64, 16

_ROW_WORK = 3.0
"""An attacker's work on a row of distances, in multiples of computing it."""


def expected_seconds(
    settings: Sequence[Setting], ids: Sequence[int], pairs: int, search: NeighborSearch
) -> float:
    """Processor time of all settings; documents come on top.

    Args:
      settings: as ``planned`` gives them.
      ids: words as they are attacked.
      pairs: how many an attacker releases itself to learn a mechanism.
      search: the vocabulary.
    """
    tried = np.array(ids[:_TRIAL], np.int64)
    row = _ROW_WORK * _seconds(lambda: list(distance_rows(tried, search))) / len(tried)
    words = len(search.vocabulary)
    per_word: dict[str, float] = {}
    total = 0.0
    for setting in settings:
        mechanism, [epsilon] = setting.make(), setting.epsilons
        if setting.mechanism not in per_word:
            draws = mechanism.draws(search.vocabulary.dimensions)
            generator = np.random.default_rng(0)  # a trial: nothing is released
            random = generator.integers(0, 2**64, (len(tried), draws), dtype=np.uint64)
            spent = _seconds(lambda: mechanism.release(tried, random, search))  # noqa: B023
            per_word[setting.mechanism] = spent / len(tried)
        release = per_word[setting.mechanism]
        learning = words * row if is_known(mechanism) else pairs * release + LAW_PAIRS * row
        attacking = len(ids) * (release + 2 * row)
        for c in setting.rank_cs:
            if followed(c, epsilon, words):
                around = min(words, len(ids) * ranks_followed(c, epsilon, words))
                attacking += around * row + len(ids) * release
        total += learning + attacking
    return total


def seconds_with_model(path: str, words: int, search: NeighborSearch) -> float:
    """Processor time in which the model of a directory reads words, as attackers ask it.

    Args:
      path: of the directory.
      words: how many.
      search: the vocabulary.
    """
    known = len(search.vocabulary)
    model = word_model.open_model(path, search.vocabulary.words, np.full(known, 1 / known))
    text = np.arange(_READ) * 7919 % known
    candidates = (text[:, None] + np.arange(min(CANDIDATES, known))) % known
    return words * _seconds(lambda: model.log_chances(text, candidates)) / _READ


def _seconds(work: Callable[[], object]) -> float:
    work()  # which also computes what is computed once
    started = time.monotonic()
    work()
    return time.monotonic() - started
