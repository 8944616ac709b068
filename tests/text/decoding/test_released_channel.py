"""What is read of released words is what a reading over all words says, resampled ones too."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from dxbeam.errors import ConfigurationError
from dxbeam.mechanisms import make_mechanism
from dxbeam.mechanisms.channels import resampled_channel
from dxbeam.mechanisms.channels.resampled_channel import ResampledWordChannel
from dxbeam.mechanisms.channels.word_channel import FallingChannel
from dxbeam.mechanisms.laplace import Laplace
from dxbeam.mechanisms.sampling.resampling import RankResampling
from dxbeam.mechanisms.santext import SanText
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.text.decoding.decoder import CONTEXT, Decoder
from dxbeam.text.decoding.drawn_words import ReleasedWords
from dxbeam.text.decoding.pieces import FOLLOWS, STARTS
from dxbeam.text.decoding.reader import posterior_of
from dxbeam.text.decoding.released_channel import (
    APPROXIMATE,
    EXACT,
    kind_of,
    learn,
    released_channel,
    word_shares,
)
from tests.support import every_word, tiny
from tests.support.every_word import CHOICES, TEXT, WORDS, N


def law_of_ranks(search: NeighborSearch, rate: float) -> Any:
    """R(z | x*), float64 [N, N], from the vocabulary's distances and the truncated geometric."""
    words = len(search.vocabulary)
    near = search.nearest_neighbors(np.arange(words), words)
    chances = np.exp(-rate * np.arange(words))
    law = np.zeros((words, words))
    np.put_along_axis(law, near, chances / chances.sum(), axis=1)
    return law


@pytest.mark.parametrize("c", [None, 0.2])
@pytest.mark.parametrize("name", CHOICES)
def test_posteriors_are_those_over_all_words(
    name: str, c: float | None, vocabulary: Any, model: Any
) -> None:
    kind, parameters = CHOICES[name]
    mechanism, search = make_mechanism(kind, **parameters), NeighborSearch(vocabulary)
    resampling = None if c is None else RankResampling(c)
    assert kind_of(mechanism) == EXACT
    drawn = np.random.default_rng(3).integers(0, WORDS, TEXT)
    breaks = np.full(TEXT, FOLLOWS, np.int8)
    breaks[[0, 3]] = STARTS
    every_drawn = np.exp(
        every_word.log_emissions(mechanism, vocabulary, np.arange(WORDS))
    )  # [z, x]
    law = np.eye(WORDS) if c is None else law_of_ranks(search, mechanism.epsilon * c)
    with np.errstate(divide="ignore"):
        emissions = np.log((law.T @ every_drawn)[drawn])
    learnt = learn(mechanism, search, model)
    other = NeighborSearch(vocabulary)  # learnt in one process, used in another
    channel = released_channel(mechanism, resampling, learnt, other, model)
    decoder = Decoder(CONTEXT, candidates=WORDS, kept=WORDS, width=1e4)
    reader = ReleasedWords(channel, model.prior, WORDS, decoder.width)
    found = posterior_of(decoder, reader, drawn, breaks, model)
    every = np.zeros((TEXT, WORDS + 1))
    np.add.at(every, (np.arange(TEXT)[:, None], found.words), found.probabilities)
    every[:, WORDS] = found.unknown
    exact = every_word.by_context(emissions, breaks == STARTS, model)
    np.testing.assert_allclose(every, exact, rtol=0, atol=1e-9)


def test_sums_over_all_words_are_made_once_for_a_search(
    vocabulary: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker process has one search, so it sums up once, however many bundles it reads."""
    summed = tiny.counted(monkeypatch, FallingChannel, "_sums")
    search = NeighborSearch(vocabulary)
    for _ in range(3):
        SanText(2.0).channel(search)
    assert len(summed) == 1
    SanText(2.5).channel(search)
    assert len(summed) == 2


def test_threads_may_share_what_reads(vocabulary: Any, model: Any) -> None:
    channel = SanText(2.0).channel(NeighborSearch(vocabulary))
    drawn = [np.random.default_rng(seed).permutation(WORDS) for seed in range(8)]
    expected = [ReleasedWords(channel, model.prior, 9, 5.0).candidates(each) for each in drawn]
    interval = sys.getswitchinterval()
    shared = ReleasedWords(channel, model.prior, 9, 5.0, at_once=1)
    try:
        sys.setswitchinterval(1e-6)
        with ThreadPoolExecutor(2) as pool:
            read = list(pool.map(shared.candidates, drawn))
    finally:
        sys.setswitchinterval(interval)
    for one, other in zip(read, expected, strict=True):
        assert [each.tobytes() for each in one] == [each.tobytes() for each in other]


def test_few_ranks_are_followed_in_a_large_vocabulary(vocabulary: Any, model: Any) -> None:
    """Left out are ranks that hold a millionth, and the candidates are the best of all words."""
    search, rate, count = NeighborSearch(vocabulary), 0.5, 8
    chosen = SanText(2.0).channel(search)
    channel = ResampledWordChannel(chosen, rate, search, all_ranks=5)
    drawn, every = np.arange(WORDS), np.tile(np.arange(WORDS), (WORDS, 1))
    exact = law_of_ranks(search, rate).T @ np.exp(chosen.logs(drawn, every))
    found = np.exp(channel.logs(drawn, every))
    found *= exact.sum() / found.sum()
    np.testing.assert_allclose(found, exact, atol=3e-6 * exact.max())
    offsets = np.log(word_shares(model))
    best = np.argsort(-(offsets + np.log(exact)), axis=1)[:, :count]
    likely = channel.likely(drawn, offsets, count)
    kept = [
        len(set(right) & set(row.tolist()))
        for right, row in zip(best.tolist(), likely, strict=True)
    ]
    assert sum(kept) >= 0.98 * count * WORDS


def test_more_ranks_than_can_be_followed_are_refused(vocabulary: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"resampled over .* ranks"):
        resampled_channel.ranks_followed(1e-4, 100_000)
    assert resampled_channel.ranks_followed(1e-4, WORDS) == WORDS


def test_an_estimated_channel_is_near_the_true_one(vocabulary: Any, model: Any) -> None:
    """It is made of words that are drawn by the public model, with a public key: the same twice."""
    search, mechanism = NeighborSearch(vocabulary), Laplace(1.5)
    assert kind_of(mechanism) == APPROXIMATE
    learnt = learn(mechanism, search, model)
    again = learn(mechanism, NeighborSearch(vocabulary), model)
    assert learnt.estimated is not None
    assert again.estimated is not None
    assert (learnt.estimated.pairs == again.estimated.pairs).all()
    channel = released_channel(mechanism, None, learnt, search, model)
    drawn, every = np.arange(WORDS), np.tile(np.arange(WORDS), (WORDS, 1))
    estimated = np.exp(channel.logs(drawn, every)).T  # [x, z]
    draws = 100_000
    random = np.random.default_rng(0).integers(
        0, 2**64, (draws, mechanism.draws(N)), dtype=np.uint64
    )
    originals = np.arange(draws) % WORDS
    counts = np.zeros((WORDS, WORDS))
    np.add.at(counts, (originals, mechanism.release(originals, random, search)), 1)
    true = counts / counts.sum(axis=1, keepdims=True)
    apart = np.abs(estimated / estimated.sum(axis=1, keepdims=True) - true).sum(axis=1) / 2
    assert (apart * word_shares(model)).sum() < 0.1
