"""The attacker that reads on: decodes exactly, and gains where there is context and only there."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from benchmarks.context_gain import Gain, measure_gain, read_on
from dxbeam.analysis.attackers.channel import Channel, known_channel
from dxbeam.analysis.attackers.context import (
    Candidates,
    candidates_for,
    read_each,
    read_texts,
    share_right,
)
from dxbeam.analysis.attackers.prior import Prior
from dxbeam.analysis.attackers.word_pairs import WordPairs, learn_pairs
from dxbeam.errors import CorpusError
from dxbeam.mechanisms import make_mechanism
from dxbeam.space.search.neighbors import NeighborSearch
from tests.support.attacked import channel_of, drawn, numbers, zipf
from tests.support.vocabularies import random_vocabulary

WORDS = 40


@pytest.fixture(scope="module")
def search() -> NeighborSearch:
    return NeighborSearch(random_vocabulary(WORDS, 4))


def _chain(words: int, length: int, seed: int) -> np.ndarray:
    """A text in which each word is followed by one of two, nearly always."""
    generator = np.random.default_rng(seed)
    follow = np.random.default_rng(17).integers(0, words, (words, 2))
    text = [0]
    for _ in range(length - 1):
        strays = generator.random() < 0.1
        text.append(generator.integers(words) if strays else generator.choice(follow[text[-1]]))
    return np.array(text)


def _pairs(words: int = WORDS) -> WordPairs:
    return learn_pairs([_chain(words, 5_000, 1), _chain(words, 5_000, 2)], words)


def _best(candidates: Candidates, pairs: WordPairs) -> np.ndarray:
    """The best of all choices among the candidates of each place, from the definition."""
    places, count = candidates.ids.shape
    chosen = np.array(list(itertools.product(range(count), repeat=places)))
    ids = candidates.ids[np.arange(places), chosen]
    posterior, priors = (part[np.arange(places), chosen] for part in candidates[1:])
    score = np.log(posterior[:, 0]) + np.log(posterior[:, 1:] / priors[:, 1:]).sum(axis=1)
    score += pairs.log_following(ids[:, :-1], ids[:, 1:]).sum(axis=1)
    return ids[score.argmax()]


def _best_at_each_place(candidates: Candidates, pairs: WordPairs) -> np.ndarray:
    """The best candidate of each place, by sums over all sequences of candidates and others."""
    places, count = candidates.ids.shape
    left = 1 - candidates.posterior.sum(axis=1, keepdims=True)
    chances = np.concatenate([candidates.posterior, left], axis=1)
    ids = np.concatenate([candidates.ids, np.zeros((places, 1), np.int64)], axis=1)
    tied = np.ones((places, count + 1, count + 1))
    for t in range(1, places):
        following = np.exp(pairs.log_following(ids[t - 1][:, None], ids[t]))
        tied[t, :-1, :-1] = following[:-1, :-1] / candidates.priors[t]
    sums = np.zeros((places, count + 1))
    for chosen in itertools.product(range(count + 1), repeat=places):
        chance = chances[np.arange(places), chosen].prod()
        chance *= tied[np.arange(1, places), chosen[:-1], chosen[1:]].prod()
        sums[np.arange(places), chosen] += chance
    return candidates.ids[np.arange(places), sums[:, :count].argmax(axis=1)]


def _some_candidates(seed: int, places: int = 4, count: int = 3) -> Candidates:
    generator = np.random.default_rng(seed)
    ids = np.stack([generator.permutation(6)[:count] for _ in range(places)])
    posterior = generator.dirichlet([0.5] * (count + 1), places)[:, :count]
    return Candidates(ids, posterior, generator.dirichlet([2.0] * 6)[ids])


def _strong_pairs() -> WordPairs:
    return learn_pairs([np.random.default_rng(5).choice(6, 60) for _ in range(1)], 6)


def _greedy(candidates: Candidates, pairs: WordPairs) -> np.ndarray:
    """The best word at each place given the one before it: a mistaken decoder."""
    chosen = [int(candidates.posterior[0].argmax())]
    for place in range(1, len(candidates.ids)):
        before = candidates.ids[place - 1, chosen[-1]]
        steps = np.exp(pairs.log_following(before, candidates.ids[place]))
        steps *= candidates.posterior[place] / candidates.priors[place]
        chosen.append(int(steps.argmax()))
    return candidates.ids[np.arange(len(chosen)), chosen]


class Transposed(WordPairs):
    """Takes the word after for the word before."""

    def log_following(self, before, after):
        return super().log_following(after, before)


def _wrong(decode, pairs: WordPairs, best=_best) -> int:
    """How many of 30 short sequences are not the best ones."""
    wrong = 0
    for seed in range(30):
        candidates = _some_candidates(seed)
        wrong += (decode(candidates) != best(candidates, pairs)).any()
    return wrong


def test_decoding_finds_the_best_of_all_sequences() -> None:
    pairs = _strong_pairs()
    assert _wrong(lambda candidates: read_on(candidates, pairs), pairs) == 0


def test_reading_each_word_sums_over_all_sequences() -> None:
    pairs = _strong_pairs()
    assert _wrong(lambda candidates: read_each(candidates, pairs), pairs, _best_at_each_place) == 0
    wrong = Transposed(*pairs)
    assert _wrong(lambda candidates: read_each(candidates, wrong), pairs, _best_at_each_place) > 2
    assert _wrong(lambda candidates: read_on(candidates, pairs), pairs, _best_at_each_place) > 2


def test_mistaken_decoders_are_caught() -> None:
    pairs = _strong_pairs()
    assert _wrong(lambda candidates: _greedy(candidates, pairs), pairs) > 2
    assert _wrong(lambda candidates: read_on(candidates, Transposed(*pairs)), pairs) > 2


def test_texts_of_one_word_and_of_none_are_read() -> None:
    candidates, pairs = _some_candidates(0, places=1), _strong_pairs()
    best = candidates.posterior.argmax()
    assert read_on(candidates, pairs).tolist() == [candidates.ids[0, best]]
    assert read_each(candidates, pairs).tolist() == [candidates.ids[0, best]]
    none = Candidates(*(part[:0] for part in candidates))
    assert len(read_on(none, pairs)) == len(read_each(none, pairs)) == 0


def test_probabilities_of_the_next_word_add_up_to_one() -> None:
    pairs = learn_pairs([np.array([0, 1, 0, 1, 0, 2, 3]), np.array([3]), np.array([1, 0])], 6)
    every = np.exp(pairs.log_following(np.arange(6)[:, None], np.arange(6)))
    assert every.sum(axis=1) == pytest.approx(np.ones(6))
    assert every.min() > 0
    assert every[0, 1] > every[0, 2] > every[0, 4]


def test_smoothing_is_that_of_kneser_and_ney() -> None:
    """By hand: pairs 01 and 10 twice, 02 and 23 once; n1 = 2, n2 = 2, so D = 1/3."""
    pairs = learn_pairs([np.array([0, 1, 0, 1, 0, 2, 3])], 4)
    ending = 0.99 * 1 / 4 + 0.01 / 4  # each word ends one of four distinct pairs
    expected = (2 - 1 / 3) / 3 + 1 / 3 * 2 / 3 * ending
    assert math.exp(pairs.log_following(np.array(0), np.array(1))) == pytest.approx(expected)
    assert math.exp(pairs.log_following(np.array(3), np.array(1))) == pytest.approx(ending)


def test_no_pair_reaches_from_one_text_to_the_next() -> None:
    apart = learn_pairs([np.array([0, 1]), np.array([2, 1])], 4)
    assert apart.keys.tolist() == [1, 9]


def test_a_text_without_pairs_is_refused() -> None:
    with pytest.raises(CorpusError, match="name a larger text"):
        learn_pairs([np.array([3]), np.array([], np.int64)], 4)


def test_candidates_are_ordered_by_their_posterior(search: NeighborSearch) -> None:
    prior = zipf(WORDS)
    channel = known_channel(make_mechanism("santext", epsilon=1.0), prior, search)
    released = np.array([5, 3, 5])
    found = candidates_for(channel, released, 7)
    assert (np.diff(found.posterior, axis=1) <= 0).all()
    assert (found.ids[0] == found.ids[2]).all()
    [(_, joint)] = channel.joint(np.array([3]))
    assert found.posterior[1] == pytest.approx(np.sort(joint[0])[::-1][:7] / joint.sum())
    assert (found.priors == prior.shares[found.ids]).all()
    every = candidates_for(channel, released, 1_000)
    assert every.ids.shape == (3, WORDS)
    assert every.posterior.sum(axis=1) == pytest.approx(np.ones(3))


def _gain(texts: list[np.ndarray], pairs: WordPairs, search: NeighborSearch, name: str):
    counts = np.bincount(np.concatenate(texts), minlength=WORDS) + 1
    prior = Prior("the texts", counts / counts.sum())
    mechanism = make_mechanism(name, epsilon=1.2)
    channel = channel_of(mechanism, None, prior, search)
    random = numbers(sum(map(len, texts)), mechanism.draws(4), 9)
    parts = np.split(random, np.cumsum([len(text) for text in texts])[:-1])
    released = [
        mechanism.release(text, part, search) for text, part in zip(texts, parts, strict=True)
    ]
    return measure_gain(channel, pairs, texts, released)


@pytest.mark.parametrize("name", ["santext", "laplace"])
def test_context_adds_where_words_follow_from_words(name: str, search: NeighborSearch) -> None:
    """By its 95 % interval over texts, and by a wide margin above that."""
    texts = [_chain(WORDS, 40, seed) for seed in range(100, 150)]
    gain = _gain(texts, _pairs(), search, name)
    words, single, right, both, _ = gain.counts.sum(axis=0)
    assert words == 2_000
    assert both <= min(single, right)
    share, low, high = gain.gained()
    assert low > 0.05
    assert low < share < high


@pytest.mark.parametrize("name", ["santext", "laplace"])
def test_context_adds_nothing_where_words_are_independent(
    name: str, search: NeighborSearch
) -> None:
    """A model learnt of independent words; 5 standard errors above 0 once in 10^6."""
    generator = np.random.default_rng(4)
    shares = zipf(WORDS).shares
    pairs = learn_pairs([generator.choice(WORDS, 20_000, p=shares)], WORDS)
    texts = [generator.choice(WORDS, 40, p=shares) for _ in range(50)]
    share, low, _ = _gain(texts, pairs, search, name).gained()
    assert share - 5 * (share - low) / 1.96 < 0
    assert abs(share) < 0.05


def test_gains_do_not_depend_on_how_texts_are_divided(search: NeighborSearch) -> None:
    prior = zipf(WORDS)
    mechanism = make_mechanism("santext", epsilon=1.2)
    channel = channel_of(mechanism, None, prior, search)
    draws = [drawn(mechanism, None, prior, length, search, length) for length in (5, 1, 30, 12)]
    texts, released = [d.ids for d in draws], [d.released for d in draws]
    whole = measure_gain(channel, _pairs(), texts, released)
    first = measure_gain(channel, _pairs(), texts[:1], released[:1])
    others = measure_gain(channel, _pairs(), texts[1:], released[1:])
    assert np.array_equal(np.concatenate([first.counts, others.counts]), whole.counts)


def test_the_interval_of_a_gain_is_that_over_texts() -> None:
    """Equal texts are no certainty; a single text says nothing."""
    one = [10, 4, 6, 4, 6]
    assert Gain(np.array([one])).gained() == (0.2, -1.0, 1.0)
    share, low, high = Gain(np.array([one] * 3)).gained()
    assert share == pytest.approx(0.2)
    assert low < 0.1 < 0.4 < high
    share, low, high = Gain(np.array([one] * 1_536)).gained()
    assert 0.18 < low < 0.2 < high < 0.22, "and of many texts narrow"


def test_an_attacker_who_gets_nothing_is_not_certain_to_get_nothing() -> None:
    nothing = Gain(np.array([[10, 0, 0, 0, 0]] * 30))
    assert nothing.gained() == pytest.approx((0, -0.1157, 0.1157), abs=1e-3)
    texts = [np.zeros(10, np.int64)] * 30
    share, low, high = share_right(texts, [np.ones(10, np.int64)] * 30)
    assert (share, low) == (0, 0)
    assert high == pytest.approx(1 - 0.025 ** (1 / 30)), "Clopper and Pearson's of 30 texts"


def _context_share(
    channel: Channel, originals: list[np.ndarray], released: list[np.ndarray]
) -> tuple[float, float, float]:
    """The share of words that are got with context, and its 95 % interval."""
    candidates = candidates_for(channel, np.concatenate(released))
    return share_right(originals, read_texts(candidates, originals, _pairs()))


def test_the_share_with_context_is_that_of_the_gain(search: NeighborSearch) -> None:
    """A single text and equal texts show the ends of its interval."""
    prior, mechanism = zipf(WORDS), make_mechanism("santext", epsilon=1.2)
    channel = channel_of(mechanism, None, prior, search)
    draws = [drawn(mechanism, None, prior, length, search, length) for length in (5, 1, 30, 12)]
    texts, released = [d.ids for d in draws], [d.released for d in draws]
    gain = measure_gain(channel, _pairs(), texts, released)
    share, low, high = _context_share(channel, texts, released)
    assert share == gain.counts[:, 2].sum() / gain.counts[:, 0].sum()
    assert 0 <= low < share < high <= 1
    assert _context_share(channel, texts[:1], released[:1])[1:] == (0, 1)
    equal = _context_share(channel, texts[2:3] * 3, released[2:3] * 3)
    assert equal[1] < equal[0] < equal[2], "equal texts are no certainty"
