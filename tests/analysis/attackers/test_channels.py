"""Posteriors given the released word are those of exact enumeration."""

from __future__ import annotations

import numpy as np
import pytest

from dxbeam.analysis.attackers.channel import guess_from_words, known_channel
from dxbeam.analysis.attackers.estimated_channel import estimated_channel
from dxbeam.analysis.attackers.prior import Prior, uniform_prior
from dxbeam.analysis.attackers.resampled_channel import MOST_RANKS, resampled_channel
from dxbeam.audit.references import choice as choice_references
from dxbeam.errors import ConfigurationError
from dxbeam.mechanisms import Mechanism, make_mechanism
from dxbeam.mechanisms.public.importance import FrequencyWeights
from dxbeam.space.search.neighbors import NeighborSearch
from tests.support.attacked import channel_of, numbers, tabled, zipf
from tests.support.vocabularies import line_vocabulary, of

UNEVEN = Prior("uneven", np.array([0.4, 0.05, 0.25, 0.2, 0.1]))


@pytest.fixture(scope="module")
def five() -> NeighborSearch:
    """Five words on a line."""
    return NeighborSearch(line_vocabulary())


def _posterior(channel) -> np.ndarray:
    """[output, original]"""
    words = len(channel.prior.shares)
    joint = np.concatenate([np.array(rows) for _, rows in channel.joint(np.arange(words))])
    return joint / joint.sum(axis=1, keepdims=True)


def _enumerated(mechanism: Mechanism, search: NeighborSearch) -> np.ndarray:
    """Pr[x -> z] as [x, z], from the audit's own formula."""
    reference = getattr(choice_references, mechanism.name)(mechanism, search.vocabulary)
    ids = np.arange(len(search.vocabulary))
    vectors = search.vocabulary.vectors_of(ids)
    return np.stack([reference.released(int(i), v) for i, v in zip(ids, vectors, strict=True)])


def _ranks(search: NeighborSearch, rate: float) -> np.ndarray:
    """Rank resampling's R(x* -> z) as [x*, z]."""
    words = len(search.vocabulary)
    law = np.exp(-rate * np.arange(words))
    made = np.empty((words, words))
    for word in range(words):
        made[word, search.neighbor(np.full(words, word), np.arange(words))] = law / law.sum()
    return made


@pytest.mark.parametrize("name", ["santext", "tem"])
@pytest.mark.parametrize("rank_c", [None, 0.3])
@pytest.mark.parametrize("importance", [None, FrequencyWeights(3.0)])
def test_known_posteriors_are_those_of_enumeration(
    name: str, rank_c: float | None, importance: FrequencyWeights | None, five: NeighborSearch
) -> None:
    mechanism = make_mechanism(name, epsilon=1.5, importance=importance)
    chances = _enumerated(mechanism, five)
    if rank_c:
        chances = chances @ _ranks(five, 1.5 * rank_c)
    expected = UNEVEN.shares[:, None] * chances
    channel = channel_of(mechanism, rank_c, UNEVEN, five)
    assert _posterior(channel) == pytest.approx((expected / expected.sum(axis=0)).T, rel=1e-3)


@pytest.mark.parametrize("rank_c", [None, 0.3])
def test_estimated_posteriors_come_near_the_enumerated_ones(
    rank_c: float | None, five: NeighborSearch
) -> None:
    """100,000 pairs, 4,000 for the rarest word: 0.03 is over 4 standard errors of the counts."""
    channel = channel_of(make_mechanism("santext", epsilon=1.5), rank_c, UNEVEN, five)
    originals = UNEVEN.draw(numbers(1, 100_000, 5)[0])
    mechanism = make_mechanism("santext", epsilon=1.5)
    released = mechanism.release(originals, numbers(100_000, mechanism.draws(1), 6), five)
    estimated = estimated_channel(originals, released, UNEVEN, five)
    if rank_c:
        estimated = resampled_channel(estimated, rank_c, 1.5, five)
    assert np.abs(_posterior(estimated) - _posterior(channel)).max() < 0.03


def test_few_pairs_are_drawn_towards_a_law_of_distance() -> None:
    """With 3,000 pairs for 300 words, counts by themselves say little of most words."""
    search, prior = tabled(300, 4), uniform_prior(300)
    mechanism = make_mechanism("santext", epsilon=2.0)
    originals = prior.draw(numbers(1, 3_000, 5)[0])
    released = mechanism.release(originals, numbers(3_000, mechanism.draws(4), 6), search)
    estimated = _posterior(estimated_channel(originals, released, prior, search))
    exact = _posterior(known_channel(mechanism, prior, search))
    counts = np.full((300, 300), 1 / 300)
    np.add.at(counts, (released, originals), 1)
    counts /= counts.sum(axis=1, keepdims=True)
    apart, plain = (np.abs(p - exact).sum(axis=1).mean() / 2 for p in (estimated, counts))
    assert apart < 0.2 < 2 * apart < plain


def test_guesses_are_the_most_probable_words(five: NeighborSearch) -> None:
    channel = channel_of(make_mechanism("santext", epsilon=1.5), None, UNEVEN, five)
    order = np.argsort(-_posterior(channel), axis=1)
    released = np.array([3, 0, 0, 4, 1, 2])
    assert (guess_from_words(channel, released, 3) == order[released, :3]).all()


def test_of_equally_probable_words_the_lowest_id_comes_first() -> None:
    """Twins at 0, and two words at the same distance from them."""
    search = NeighborSearch(of([[0.0], [-1.0], [1.0], [0.0]]))
    channel = known_channel(make_mechanism("santext", epsilon=1.0), uniform_prior(4), search)
    assert guess_from_words(channel, np.array([0, 3]), 4).tolist() == [[0, 3, 1, 2]] * 2


@pytest.mark.parametrize("name", ["santext", "laplace"])
@pytest.mark.parametrize("rank_c", [None, 0.3])
def test_guesses_do_not_depend_on_the_words_beside(name: str, rank_c: float | None) -> None:
    search, prior = tabled(300, 4), zipf(300)
    channel = channel_of(make_mechanism(name, epsilon=2.0), rank_c, prior, search, 5_000)
    released = np.arange(0, 300, 3)
    together = guess_from_words(channel, released, 10)
    parts = [guess_from_words(channel, part, 10) for part in np.array_split(released, 7)]
    assert (np.concatenate(parts) == together).all()


def test_sums_are_computed_once(monkeypatch: pytest.MonkeyPatch, five: NeighborSearch) -> None:
    mechanism = make_mechanism("tem", epsilon=1.25)
    first = known_channel(mechanism, UNEVEN, five)
    monkeypatch.setattr("dxbeam.analysis.attackers.channel.distance_rows", None)
    again = known_channel(mechanism, uniform_prior(5), five)
    assert first.weights / UNEVEN.shares == pytest.approx(again.weights * 5)


def _largest_error(rank_c: float, epsilon: float, **cut: float) -> float:
    """Of all posteriors, next to those with every rank, under a prior like that of words."""
    vocabulary = of(np.random.default_rng(0).normal(0, 2, (300, 8)))
    search, prior = NeighborSearch(vocabulary), zipf(300)
    channel = known_channel(make_mechanism("santext", epsilon=epsilon), prior, search)
    cut = _posterior(resampled_channel(channel, rank_c, epsilon, search, **cut))
    chosen = np.concatenate([np.array(rows) for _, rows in channel.joint(np.arange(300))])
    whole = _ranks(search, epsilon * rank_c).T @ chosen
    return float(np.abs(cut - whole / whole.sum(axis=1, keepdims=True)).max())


@pytest.mark.parametrize(("rank_c", "epsilon"), [(0.05, 1.0), (0.02, 10.0), (0.02, 20.0)])
def test_ranks_that_are_left_out_hardly_change_posteriors(rank_c: float, epsilon: float) -> None:
    assert _largest_error(rank_c, epsilon) < 1e-4


def test_with_a_thousandth_left_out_they_do() -> None:
    assert 0.01 < _largest_error(0.02, 10.0, left_out=1e-3) < 0.05


def test_what_cannot_be_computed_is_refused(five: NeighborSearch) -> None:
    with pytest.raises(ConfigurationError, match="estimate it from pairs"):
        known_channel(make_mechanism("laplace", epsilon=1), UNEVEN, five)
    with pytest.raises(ConfigurationError, match="there are none"):
        channel_of(make_mechanism("laplace", epsilon=1), None, UNEVEN, five, 0)
    large = NeighborSearch(of(np.arange(MOST_RANKS + 1)[:, None]))
    channel = known_channel(make_mechanism("santext", epsilon=1), uniform_prior(2_001), large)
    with pytest.raises(ConfigurationError, match="larger rank_c or epsilon"):
        resampled_channel(channel, 0.001, 1.0, large)
