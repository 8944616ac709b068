"""Posteriors along a text, against all sequences of words."""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
import pytest

from dxbeam.language.model import LanguageModel, language_model_of
from dxbeam.space.search.neighbors import Floats
from dxbeam.space.vocabulary.words import UNKNOWN, Vocabulary
from dxbeam.text.decoding.likelihoods import Likelihoods, Posterior, emissions_of, states_of
from dxbeam.text.decoding.losses import most_probable, nearest_to_mean
from dxbeam.text.decoding.pairs import by_pairs
from dxbeam.text.decoding.pieces import CUT, FOLLOWS, OVERLAP, PIECE, STARTS, pieces_at_once
from dxbeam.text.decoding.reading import by_frequency, in_context
from dxbeam.text.decoding.triples import by_triples

WORDS = 5


def _vocabulary() -> Vocabulary:
    vectors = np.random.default_rng(3).normal(size=(WORDS, 4)).astype(np.float32)
    return Vocabulary(list("abcde"), vectors)


def _model(vocabulary: Vocabulary, order: int = 2) -> LanguageModel:
    rng = np.random.default_rng(5)
    sentences = [rng.integers(-1, WORDS, rng.integers(1, 7)) for _ in range(40)]
    return language_model_of(sentences, vocabulary, order)


def _likelihoods(places: int, seed: int) -> Likelihoods:
    logs = np.random.default_rng(seed).normal(size=(places, 1 + WORDS)) * 2
    return Likelihoods(np.tile(np.arange(WORDS), (places, 1)), logs)


def _by_sequences(likelihoods: Likelihoods, first: int, model: LanguageModel) -> Posterior:
    """One sentence: the sum over all sequences."""
    places = len(likelihoods.logs)
    states = [UNKNOWN, *range(WORDS)]
    start = model.probabilities(model.start) if first == STARTS else model.prior
    total = np.zeros((places, 1 + WORDS))
    for sequence in itertools.product(range(1 + WORDS), repeat=places):
        weight = start[states[sequence[0]]]
        for t in range(1, places):
            two = sequence[t - 2] if t > 1 else None
            weight *= _next(model, first, two, sequence[t - 1])[states[sequence[t]]]
        weight *= np.exp(sum(likelihoods.logs[t, x] for t, x in enumerate(sequence)))
        for t, x in enumerate(sequence):
            total[t, x] += weight
    total /= total.sum(axis=1, keepdims=True)
    return Posterior(likelihoods.words, total[:, 1:], total[:, 0])


@cache
def _next(model: LanguageModel, first: int, two: int | None, before: int) -> Floats:
    """What follows the state ``two`` and the state ``before``; ``two`` is None at place 1."""
    states = [UNKNOWN, *range(WORDS)]
    pair = model.probabilities(states[before])
    if model.order == 2 or (two is None and first == CUT):
        return pair
    context = model.start if two is None else states[two]
    after = np.array([*range(WORDS), UNKNOWN])
    return model.backoff2(context, states[before]) * pair + model.corrections3(
        np.full(1 + WORDS, context), np.full(1 + WORDS, states[before]), after
    )


@pytest.mark.parametrize("order", [2, 3])
@pytest.mark.parametrize("first", [STARTS, CUT])
@pytest.mark.parametrize("places", [1, 2, 5])
def test_a_sentence_is_read_as_all_its_sequences(places: int, first: int, order: int) -> None:
    model = _model(_vocabulary(), order)
    likelihoods = _likelihoods(places, seed=places)
    breaks = np.array([first] + [FOLLOWS] * (places - 1), np.int8)
    found, right = in_context(likelihoods, breaks, model), _by_sequences(likelihoods, first, model)
    np.testing.assert_allclose(found.probabilities, right.probabilities, atol=1e-12)
    np.testing.assert_allclose(found.unknown, right.unknown, atol=1e-12)


@pytest.mark.parametrize("order", [2, 3])
def test_sentences_have_the_same_bits_beside_any_others(order: int) -> None:
    model = _model(_vocabulary(), order)
    likelihoods = _likelihoods(30, seed=9)
    breaks = np.full(30, FOLLOWS, np.int8)
    breaks[[0, 3, 4, 20]] = STARTS
    whole = in_context(likelihoods, breaks, model)
    for start, stop in ((0, 3), (3, 4), (4, 20), (20, 30)):
        part = in_context(
            Likelihoods(*(each[start:stop] for each in likelihoods)), breaks[start:stop], model
        )
        assert part.probabilities.tobytes() == whole.probabilities[start:stop].tobytes()


def test_pieces_are_read_as_many_at_once_as_fit() -> None:
    breaks = np.full(30, FOLLOWS, np.int8)
    breaks[[0, 3, 4, 20]] = STARTS
    [whole] = pieces_at_once(breaks, 10)
    parts = list(pieces_at_once(breaks, 10, at_once=150))
    assert [part.sentence.tolist() for part in parts] == [[4], [20, 0, 3]]
    for every, *several in zip(whole, *parts, strict=True):
        assert np.concatenate(several).tolist() == every.tolist()


def test_a_long_sentence_is_read_in_pieces_that_overlap() -> None:
    model = _model(_vocabulary())
    count = 3 * PIECE + 5
    likelihoods = _likelihoods(count, seed=4)
    breaks = np.full(count, FOLLOWS, np.int8)
    breaks[0] = STARTS
    whole = in_context(likelihoods, breaks, model)
    first, end = PIECE - OVERLAP, 2 * PIECE + OVERLAP
    cut = np.full(end - first, FOLLOWS, np.int8)
    cut[0] = CUT
    part = Likelihoods(*(each[first:end] for each in likelihoods))
    right = _by_recursion(part, cut[0], model)
    found = whole.probabilities[PIECE : 2 * PIECE]
    np.testing.assert_allclose(found, right[OVERLAP : OVERLAP + PIECE, 1:], atol=1e-12)


def _by_recursion(likelihoods: Likelihoods, first: int, model: LanguageModel) -> Floats:
    states = [UNKNOWN, *range(WORDS)]
    steps = np.array([model.probabilities(x)[states] for x in states])
    seen = np.exp(likelihoods.logs)
    start = model.probabilities(model.start) if first == STARTS else model.prior
    ahead = [seen[0] * start[states]]
    for each in seen[1:]:
        ahead.append(each * (ahead[-1] @ steps))
    back = [np.ones(len(states))]
    for each in seen[:0:-1]:
        back.append(steps @ (each * back[-1]))
    total = np.array(ahead) * np.array(back[::-1])
    return np.asarray(total / total.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("order", [2, 3])
def test_candidates_that_are_filled_up_change_no_bit(order: int) -> None:
    model = _model(_vocabulary(), order)
    words, logs = _likelihoods(12, seed=2)
    breaks = np.array([STARTS] + [FOLLOWS] * 11, np.int8)
    few = in_context(Likelihoods(words, logs), breaks, model)
    filled = Likelihoods(
        np.concatenate([words, np.zeros((12, 9), np.int64)], axis=1),
        np.concatenate([logs, np.full((12, 9), -np.inf)], axis=1),
    )
    more = in_context(filled, breaks, model)
    assert more.probabilities[:, :WORDS].tobytes() == few.probabilities.tobytes()
    assert not more.probabilities[:, WORDS:].any()


def test_of_many_words_the_most_probable_are_read_by_triples() -> None:
    model = _model(_vocabulary(), 3)
    likelihoods = _likelihoods(6, seed=8)
    breaks = np.array([STARTS] + [FOLLOWS] * 5, np.int8)
    exact = in_context(likelihoods, breaks, model)
    states, emissions = states_of(likelihoods.words), emissions_of(likelihoods.logs)
    pairs = by_pairs(states, emissions, breaks, model)
    some = by_triples(states, emissions, pairs, breaks, model, most=4)
    np.testing.assert_allclose(some.sum(axis=1), 1, atol=1e-12)
    assert ((some == pairs).sum(axis=1) == 2).all()  # of 6 states the 2 least probable
    right = np.column_stack([exact.unknown, exact.probabilities])
    assert np.abs(some - right).max() < np.abs(pairs - right).max()


def test_a_place_by_itself_is_judged_by_frequency_and_likelihood() -> None:
    model = _model(_vocabulary())
    likelihoods = _likelihoods(4, seed=1)
    found = by_frequency(likelihoods, model)
    weights = model.prior[[UNKNOWN, *range(WORDS)]] * np.exp(likelihoods.logs)
    weights /= weights.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found.probabilities, weights[:, 1:], atol=1e-13)
    np.testing.assert_allclose(found.unknown, weights[:, 0], atol=1e-13)


def test_the_word_with_the_largest_probability_is_a_word_of_the_vocabulary() -> None:
    words = np.tile(np.arange(WORDS), (2, 1))
    shares = np.array([[0.1, 0.2, 0.05, 0.05, 0.0], [0.25, 0.25, 0.25, 0.25, 0.0]])
    posterior = Posterior(words, shares, np.array([0.6, 0.0]))
    assert most_probable(posterior).tolist() == [1, 0]  # not the unknown word; ties by id


def test_the_word_nearest_to_the_mean_is_near_what_is_probable() -> None:
    vectors = np.array([[0, 0], [1, 0], [2, 0], [9, 9]], np.float32)
    vocabulary = Vocabulary(list("abcd"), vectors, unknown_vector=np.zeros(2, np.float32))
    words = np.array([[0, 1, 2, 3]])
    sides = Posterior(words, np.array([[0.45, 0.05, 0.5, 0.0]]), np.zeros(1))
    assert most_probable(sides).tolist() == [2]
    assert nearest_to_mean(sides, vocabulary).tolist() == [1]
    unknown = Posterior(words, np.array([[0.0, 0.1, 0.2, 0.0]]), np.array([0.7]))
    assert nearest_to_mean(unknown, vocabulary).tolist() == [1]
