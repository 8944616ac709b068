"""Attackers on single words get what they should, and no more than is possible."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dxbeam.analysis.attackers.draws import Draws
from dxbeam.analysis.attackers.prior import Prior, prior_from_counts, uniform_prior
from dxbeam.analysis.attackers.rare_words import rare_in, survival
from dxbeam.analysis.attackers.single_words import (
    NOISY_VECTOR,
    OUTPUT,
    PRIOR,
    RELEASED_WORD,
    attack_all,
)
from dxbeam.analysis.attackers.success import Success, chance, counted, prior_alone
from dxbeam.errors import ConfigurationError
from dxbeam.mechanisms import make_mechanism
from dxbeam.mechanisms.laplace import Laplace
from dxbeam.space.search.neighbors import NeighborSearch
from tests.support.attacked import channel_of, drawn, numbers, tabled, zipf

WORDS, N = 300, 6
EVERY = ["laplace", "vickrey", "gaussian", "coordinate_laplace", "santext", "tem"]


@pytest.fixture(scope="module")
def search() -> NeighborSearch:
    return tabled(WORDS, N)


def _attack(
    name: str,
    epsilon: float,
    search: NeighborSearch,
    prior: Prior,
    rank_c: float | None = None,
    words: int = 2_000,
) -> dict[str, Success]:
    mechanism = make_mechanism(name, epsilon=epsilon)
    channel = channel_of(mechanism, rank_c, prior, search)
    return attack_all(mechanism, drawn(mechanism, rank_c, prior, words, search), channel, search)


@pytest.mark.parametrize("name", EVERY)
def test_without_noise_every_word_is_found(name: str, search: NeighborSearch) -> None:
    found = _attack(name, 500.0, search, zipf(WORDS), words=500)
    for attacker in set(found) - {PRIOR}:
        assert found[attacker].first >= 0.99 * 500, attacker


@pytest.mark.parametrize("name", EVERY)
def test_with_nothing_but_noise_the_prior_is_all_there_is(
    name: str, search: NeighborSearch
) -> None:
    """4.5 standard errors of a difference of two shares, 12 times: once in 10^4."""
    found = _attack(name, 0.002, search, zipf(WORDS))
    for attacker in set(found) - {PRIOR, OUTPUT}:
        for share in ("first", "among"):
            got, prior = (getattr(found[kind], share) / 2_000 for kind in (attacker, PRIOR))
            assert abs(got - prior) < 4.5 * math.sqrt(2 * prior * (1 - prior) / 2_000), attacker


@pytest.mark.parametrize("name", ["laplace", "santext"])
@pytest.mark.parametrize("rank_c", [None, 0.1])
def test_attackers_beat_chance_and_prior_where_there_is_something_to_see(
    name: str, rank_c: float | None, search: NeighborSearch
) -> None:
    """Twice the width of a 95 % interval above: a false alarm is out of the question."""
    prior = zipf(WORDS)
    found = _attack(name, 2.0, search, prior, rank_c)
    _, _, limit = found[PRIOR].first_share()
    for attacker in set(found) - {PRIOR, OUTPUT}:
        share, low, _ = found[attacker].first_share()
        assert 2 * low - share > max(limit, chance(WORDS)[0])


@pytest.mark.parametrize("epsilon", [1.0, 2.0, 3.0])
@pytest.mark.parametrize("rank_c", [None, 0.1])
@pytest.mark.parametrize("known", [uniform_prior(WORDS), zipf(WORDS)], ids=["uniform", "zipf"])
def test_the_noisy_vector_tells_at_least_as_much_as_the_released_word(
    epsilon: float, rank_c: float | None, known: Prior, search: NeighborSearch
) -> None:
    """The limit is 3.7 standard errors of two attackers that are equally good and differ on every
    fourth word, 24 times: once in 400 at most."""
    found = _attack("laplace", epsilon, search, known, rank_c)
    for share in ("first", "among"):
        vector, word = (getattr(found[kind], share) for kind in (NOISY_VECTOR, RELEASED_WORD))
        assert vector >= word - 3.7 * math.sqrt(2_000 * 0.25)


@pytest.mark.parametrize("name", ["laplace", "santext"])
@pytest.mark.parametrize("rank_c", [None, 0.1])
def test_knowing_prior_and_mechanism_does_not_hurt(
    name: str, rank_c: float | None, search: NeighborSearch
) -> None:
    """An exact attacker is at least as good as one that knows nothing; an estimated one, nearly."""
    found = _attack(name, 1.5, search, zipf(WORDS), rank_c)
    for share in ("first", "among"):
        word, output = (getattr(found[kind], share) for kind in (RELEASED_WORD, OUTPUT))
        assert word > output - 0.02 * 2_000


class HalfTheNoise(Laplace):
    """Claims epsilon and draws the noise of twice as much."""

    def noise(self, random, search):
        return super().noise(random, search) / 2


@pytest.mark.parametrize("rank_c", [None, 0.1])
def test_a_mechanism_with_half_the_noise_is_seen_by_every_attacker(
    rank_c: float | None, search: NeighborSearch
) -> None:
    """Intervals lie apart: at 95 % each and in one direction, under 1 in 10^3."""
    prior, sound, broken = zipf(WORDS), Laplace(1.5), HalfTheNoise(1.5)
    channel = channel_of(sound, rank_c, prior, search)
    expected = attack_all(sound, drawn(sound, rank_c, prior, 2_000, search), channel, search)
    found = attack_all(broken, drawn(broken, rank_c, prior, 2_000, search), channel, search)
    for attacker in (OUTPUT, RELEASED_WORD, NOISY_VECTOR):
        assert found[attacker].first_share()[1] > expected[attacker].first_share()[2], attacker
    assert found[PRIOR] == expected[PRIOR]


@pytest.mark.parametrize("name", ["laplace", "coordinate_laplace", "santext"])
def test_counts_over_parts_add_up(name: str, search: NeighborSearch) -> None:
    mechanism, prior = make_mechanism(name, epsilon=2.0), zipf(WORDS)
    channel = channel_of(mechanism, 0.1, prior, search, 5_000)
    every = drawn(mechanism, 0.1, prior, 300, search)
    whole = attack_all(mechanism, every, channel, search)
    sums = {attacker: Success(0, 0, 0) for attacker in whole}
    for part in (slice(0, 1), slice(1, 130), slice(130, 300)):
        noisy = None if every.noisy is None else every.noisy[part]
        own = Draws(every.ids[part], noisy, every.chosen[part], every.released[part])
        for attacker, success in attack_all(mechanism, own, channel, search).items():
            sums[attacker] = sums[attacker].plus(success)
    assert sums == whole


def test_success_is_counted() -> None:
    guesses = np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9], [0, 1, 2]])
    success = counted(guesses, np.array([1, 6, 6, 0]))
    assert success == (4, 2, 3)
    assert success.first_share()[0] == 0.5
    assert success.among_share()[0] == 0.75
    assert chance(1_000) == (0.001, 0.01)
    assert chance(4) == (0.25, 1.0)


def test_the_prior_alone_guesses_the_most_frequent_words() -> None:
    prior = prior_from_counts("text", np.array([0, 7, 2, 7] + [1] * 20))
    assert prior.best(3).tolist() == [1, 3, 2]
    assert prior.shares[0] > 0
    assert prior.shares.sum() == pytest.approx(1)
    assert prior_alone(prior, np.array([1, 3, 0, 23])) == (4, 1, 2)


def test_words_are_drawn_as_probable_as_they_are() -> None:
    """20,000 draws at 5 standard deviations, 5 times: once in 10^5."""
    shares = np.array([0.4, 0.05, 0.25, 0.2, 0.1])
    counts = np.bincount(Prior("uneven", shares).draw(numbers(1, 20_000, 3)[0]), minlength=5)
    assert (np.abs(counts - 20_000 * shares) < 5 * np.sqrt(20_000 * shares)).all()


@pytest.mark.parametrize("counts", [[], [3, -1]])
def test_counts_that_are_none_make_no_prior(counts: list[int]) -> None:
    with pytest.raises(ConfigurationError, match="`counts`"):
        prior_from_counts("text", np.array(counts, np.int64))


def test_rare_words_survive_less_where_the_prior_is_against_them(search: NeighborSearch) -> None:
    """30 rare words, 50 times each; the true shares lie more than 10 standard errors apart."""
    counts = np.random.default_rng(3).permutation(WORDS) ** 2
    rare, mechanism = rare_in(counts, 900), make_mechanism("laplace", epsilon=1.5)
    assert (counts[rare] <= 900).all()
    assert len(rare) == 31
    found = {}
    for prior in (uniform_prior(WORDS), prior_from_counts("text", counts)):
        channel = channel_of(mechanism, None, prior, search)
        random = numbers(50 * len(rare), mechanism.draws(N), 7)
        found[prior.name] = survival(mechanism, None, rare, 50, random, channel, search)
    for attacker in (RELEASED_WORD, NOISY_VECTOR):
        flat, against = (found[name][attacker] for name in ("uniform over the vocabulary", "text"))
        assert against.words == 50 * len(rare)
        assert against.first_share()[2] < flat.first_share()[1]
    assert found["text"][OUTPUT] == found["uniform over the vocabulary"][OUTPUT]
