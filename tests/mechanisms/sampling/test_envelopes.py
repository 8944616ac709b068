"""Envelopes are kept for the first words that occur; what is released does not depend on it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from dxbeam.mechanisms import make_mechanism
from dxbeam.mechanisms.public.word_distribution import WordDistribution
from dxbeam.mechanisms.sampling import envelopes
from dxbeam.mechanisms.sampling.envelopes import KeptEnvelopes
from dxbeam.mechanisms.sampling.exponential_choice import ChoiceSizes, choose
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.space.vocabulary.words import UNKNOWN
from tests.support.distributions import random_numbers
from tests.support.vocabularies import random_vocabulary


@pytest.mark.parametrize("room", [0, 1, 40])
@pytest.mark.parametrize("name", ["santext", "tem", "santext_plus"])
def test_words_beyond_those_that_are_kept_are_drawn_alike(name: str, room: int) -> None:
    mechanism: Any = make_mechanism(name, epsilon=2.0)
    words = random_vocabulary(300, 10)
    ids = np.random.default_rng(0).integers(UNKNOWN, 300, 500)
    random = random_numbers(500, mechanism.draws(10), seed=1)
    distribution = mechanism.distribution(words)
    expected = choose(ids, random, distribution, NeighborSearch(words))
    search = NeighborSearch(words)
    for _ in range(2):  # some words are kept by now
        drawn = choose(ids, random, distribution, search, ChoiceSizes(kept_words=room))
        assert np.array_equal(drawn, expected)


def test_an_envelope_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    compute = envelopes.computed

    def counting(words: np.ndarray, *others: object) -> object:
        asked.extend(words.tolist())
        return compute(words, *others)

    monkeypatch.setattr(envelopes, "computed", counting)
    kept = KeptEnvelopes(20, WordDistribution(1.0), NeighborSearch(random_vocabulary(300, 10)), 301)
    for ids in ([5, 5, UNKNOWN], [7, 5], [UNKNOWN, 7]):
        [(positions, _, places)] = kept.parts(np.array(ids))
        assert positions.tolist() == list(range(len(ids)))
        assert len(places) == len(ids)
    assert sorted(asked) == [UNKNOWN, 5, 7]


def test_threads_share_envelopes() -> None:
    search, distribution = NeighborSearch(random_vocabulary(300, 10)), WordDistribution(1.0)
    kept = KeptEnvelopes(20, distribution, search, 301)
    batches = np.random.default_rng(0).integers(UNKNOWN, 300, (64, 50))

    def sums(ids: np.ndarray) -> np.ndarray:
        [(_, found, places)] = kept.parts(ids)
        return found.sums[places]

    with ThreadPoolExecutor(8) as pool:
        for ids, found in zip(batches, pool.map(sums, batches), strict=True):
            assert np.array_equal(found, envelopes.computed(ids, 20, distribution, search).sums)
