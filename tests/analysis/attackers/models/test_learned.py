"""The attacker that learns to invert: as good as what it starts from, better where there is more.

Networks need PyTorch, which is too large for the test environment (some gigabytes), so their tests
are skipped where it is not installed.
"""

from __future__ import annotations

import numpy as np
import pytest

from dxbeam.analysis.attackers.context import Candidates, read_texts, share_right
from dxbeam.analysis.attackers.models.learned import (
    PIECE,
    check_installed,
    learn,
    pieces,
    read_with_context,
)
from dxbeam.analysis.attackers.models.reads import Read
from dxbeam.analysis.attackers.noisy_context import candidates_from_vectors
from dxbeam.analysis.attackers.prior import Prior
from dxbeam.analysis.attackers.word_pairs import WordPairs, learn_pairs
from dxbeam.errors import ConfigurationError, CorpusError
from dxbeam.mechanisms import make_mechanism
from dxbeam.space.search.neighbors import NeighborSearch
from tests.support.attacked import chained

WORDS = 24


def _topics(texts: int, length: int, seed: int) -> list[np.ndarray]:
    """Every other word is of the text's topic, the rest of any: pairs of words say nothing."""
    generator = np.random.default_rng(seed)
    topics = np.random.default_rng(3).permutation(WORDS).reshape(3, -1)
    rows = generator.integers(0, WORDS, (texts, length))
    own = topics[generator.integers(0, 3, texts)]
    for place in range(0, length, 2):
        rows[:, place] = own[np.arange(texts), generator.integers(0, own.shape[1], texts)]
    return list(rows)


def _chain(texts: int, length: int, seed: int, words: int = WORDS) -> list[np.ndarray]:
    """Texts in which a word is followed by the next one nine times of ten, else by any."""
    return chained(texts, length, words, 0.9, seed)


def _chain_pairs(words: int = WORDS) -> WordPairs:
    """The law of ``_chain``, exactly."""
    follow = np.full((words, words), 0.1 / words)
    follow[np.arange(words), (np.arange(words) + 1) % words] += 0.9
    keys = np.arange(words * words)
    return WordPairs(keys, follow.ravel(), np.zeros(words), np.full(words, 1 / words))


def _read(texts: list[np.ndarray], pairs: WordPairs, search: NeighborSearch, seed: int) -> Read:
    mechanism = make_mechanism("laplace", epsilon=0.8)
    ids = np.concatenate(texts)
    generator = np.random.default_rng(seed)
    random = generator.integers(0, 2**64, (len(ids), mechanism.draws(4)), dtype=np.uint64)
    noisy = search.vocabulary.vectors_of(ids) + mechanism.noise(random, search)
    prior = Prior("uniform", np.full(WORDS, 1 / WORDS))
    candidates = candidates_from_vectors(mechanism, noisy, prior, search, WORDS)
    return read_with_context(candidates, [len(text) for text in texts], pairs)


def _apart(texts: list[np.ndarray], ours: list[np.ndarray], others: list[np.ndarray]) -> list[int]:
    """For each text, how many words more are right."""
    return [
        int((one == text).sum()) - int((other == text).sum())
        for text, one, other in zip(texts, ours, others, strict=True)
    ]


def test_reading_keeps_each_text_to_itself(search: NeighborSearch) -> None:
    texts = _chain(3, 5, 0)
    read = _read(texts, _chain_pairs(), search, 1)
    assert [part.stop - part.start for part in read.parts()] == [5, 5, 5]
    own = read.some([2])
    assert (own.in_context == read.in_context[10:]).all()
    again = read_with_context(own.candidates, [5], _chain_pairs())
    np.testing.assert_array_equal(again.in_context, own.in_context)
    guesses = np.concatenate(read_texts(read.candidates, texts, _chain_pairs()))
    best = read.candidates.ids[np.arange(15), read.in_context.argmax(axis=1)]
    assert (guesses == best).all()


def test_pieces_are_spread_over_the_text() -> None:
    texts = [np.arange(100), np.arange(1), np.arange(3 * PIECE)] * 20
    every = pieces(texts, 10**9)
    assert sum(map(len, every)) == 20 * (100 + 3 * PIECE)
    assert {len(piece) for piece in every} == {PIECE, 100 % PIECE}
    some = pieces(texts, 1_000)
    assert 1_000 <= sum(map(len, some)) < 1_500
    with pytest.raises(CorpusError, match="16 at least; name a larger text"):
        pieces([np.arange(10)])


def test_without_pytorch_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    monkeypatch.delitem(
        __import__("sys").modules, "dxbeam.analysis.attackers.models.sequence_model", raising=False
    )
    with pytest.raises(ConfigurationError, match=r"dxbeam\[neural\]"):
        check_installed()


def test_an_untrained_network_answers_as_the_attacker_with_context(search: NeighborSearch) -> None:
    pytest.importorskip("torch")
    from dxbeam.analysis.attackers.models.sequence_model import Network

    texts = [*_chain(4, 9, 3), np.array([5])]
    read = _read(texts, _chain_pairs(), search, 4)
    guesses = Network(search.vocabulary.vectors).guesses(read)
    expected = read_texts(read.candidates, texts, _chain_pairs())
    assert [guess.tolist() for guess in guesses] == [guess.tolist() for guess in expected]


def test_it_learns_what_pairs_of_words_do_not_say(search: NeighborSearch) -> None:
    """By 4.7 standard errors, once in a million by chance; the same again from the same seed."""
    pytest.importorskip("torch")
    public, private = _topics(1_500, 12, 5), _topics(800, 12, 6)
    pairs = learn_pairs(public, WORDS)
    training = _read(public, pairs, search, 7)
    tested = _read(private, pairs, search, 8)
    model = learn(public, training, search.vocabulary.vectors, 0)
    guesses = model.guesses(tested)
    apart = _apart(private, guesses, read_texts(tested.candidates, private, pairs))
    assert np.mean(apart) > 4.7 * np.std(apart) / np.sqrt(len(apart))
    again = learn(public, training, search.vocabulary.vectors, 0).guesses(tested)
    assert all((a == b).all() for a, b in zip(guesses, again, strict=True))


def test_on_noisy_vectors_none_beats_the_exact_posterior(search: NeighborSearch) -> None:
    """Of a chain whose law the exact attacker knows: 4.7 standard errors, once in a million."""
    pytest.importorskip("torch")
    public, private = _chain(800, 10, 8), _chain(400, 10, 9)
    exact = _read(private, _chain_pairs(), search, 11)
    best = read_texts(exact.candidates, private, _chain_pairs())
    learnt_pairs = learn_pairs(public, WORDS)
    model = learn(public, _read(public, learnt_pairs, search, 10), search.vocabulary.vectors, 1)
    guesses = model.guesses(_read(private, learnt_pairs, search, 11))
    apart = _apart(private, guesses, best)
    assert np.mean(apart) < 4.7 * np.std(apart) / np.sqrt(len(apart))
    assert share_right(private, guesses)[0] > 0.9 * share_right(private, best)[0]


def test_words_that_are_no_candidates_teach_nothing(search: NeighborSearch) -> None:
    pytest.importorskip("torch")
    public = _chain(64, 6, 12)
    read = _read(public, _chain_pairs(), search, 13)
    few = Candidates(*(part[:, :2] for part in read.candidates))
    nowhere = [(few.ids[part].max(axis=1) * 0 - 1) for part in read.parts()]
    read = read_with_context(few, read.sizes, _chain_pairs())
    guesses = learn(nowhere, read, search.vocabulary.vectors, 0).guesses(read)
    assert [len(guess) for guess in guesses] == [6] * 64
