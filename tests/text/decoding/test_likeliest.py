"""Which candidates are read together: those that the neighbours make the most probable."""

from __future__ import annotations

import numpy as np

from dxbeam.language.model import LanguageModel, language_model_of
from dxbeam.space.vocabulary.words import UNKNOWN, Vocabulary
from dxbeam.text.decoding.likeliest import likeliest
from dxbeam.text.decoding.likelihoods import Likelihoods
from dxbeam.text.decoding.pieces import CUT, FOLLOWS, STARTS
from dxbeam.text.decoding.reading import in_context

WORDS, KEPT = 30, 5


def _model() -> LanguageModel:
    small = Vocabulary([f"w{i}" for i in range(WORDS)], np.eye(WORDS, dtype=np.float32))
    generator = np.random.default_rng(3)
    starts = generator.integers(0, WORDS, 400)
    sentences = [(start + np.arange(9) * 7) % WORDS for start in starts]  # each word's successor
    return language_model_of([*sentences, *generator.integers(UNKNOWN, WORDS, (60, 6))], small)


def _likelihoods(places: int) -> Likelihoods:
    logs = np.random.default_rng(places).normal(0, 1, (places, 1 + WORDS))
    return Likelihoods(np.tile(np.arange(WORDS), (places, 1)), logs)


def _breaks(places: int) -> np.ndarray:
    breaks = np.full(places, FOLLOWS, np.int8)
    breaks[[0, 7]], breaks[12] = STARTS, CUT
    return breaks


def _known(likelihoods: Likelihoods, place: int, word: int) -> None:
    likelihoods.logs[place] = -60.0
    likelihoods.logs[place, 1 + word] = 0.0


def test_between_known_words_the_kept_are_the_most_probable_ones() -> None:
    model = _model()
    for place in (0, 3, 7, 12, 19):  # starts, middle, end
        likelihoods, breaks = _likelihoods(20), _breaks(20)
        for beside in (place - 1, place + 1):
            if 0 <= beside < 20:
                _known(likelihoods, beside, (7 * beside) % WORDS)
        kept = likeliest(likelihoods, breaks, model, KEPT).words[place]
        exact = in_context(likelihoods, breaks, model).probabilities[place]
        assert kept.tolist() == np.sort(np.argsort(-exact)[:KEPT]).tolist()


def test_likelihoods_stay_with_their_words_and_the_unknown_word_stays() -> None:
    likelihoods = _likelihoods(20)
    kept = likeliest(likelihoods, _breaks(20), _model(), KEPT)
    assert kept.words.shape == (20, KEPT)
    assert (np.diff(kept.words) > 0).all()
    np.testing.assert_array_equal(kept.logs[:, 0], likelihoods.logs[:, 0])
    rows = np.arange(20)[:, None]
    np.testing.assert_array_equal(kept.logs[:, 1:], likelihoods.logs[rows, 1 + kept.words])


def test_where_few_are_asked_for_all_are_kept() -> None:
    likelihoods = _likelihoods(4)
    assert likeliest(likelihoods, _breaks(20)[:4], _model(), WORDS) is likelihoods


def test_other_sentences_and_what_is_filled_up_change_no_bit() -> None:
    model, likelihoods, breaks = _model(), _likelihoods(20), _breaks(20)
    kept = likeliest(likelihoods, breaks, model, KEPT)
    part = likeliest(Likelihoods(*(each[7:12] for each in likelihoods)), breaks[7:12], model, KEPT)
    assert (part.words == kept.words[7:12]).all()
    again = likeliest(_filled_up(likelihoods, 3), breaks, model, KEPT)
    assert (again.words == kept.words).all()


def test_places_with_few_candidates_keep_these() -> None:
    model, breaks = _model(), _breaks(20)
    words, logs = _likelihoods(20)
    few = Likelihoods(words[:, :4], logs[:, :5])
    kept = likeliest(_filled_up(few, 6), breaks, model, KEPT)
    assert (kept.words[:, :4] == few.words).all()
    exact, read = (in_context(each, breaks, model).probabilities for each in (few, kept))
    assert read[:, :4].tobytes() == exact.tobytes()
    assert not read[:, 4:].any()


def _filled_up(likelihoods: Likelihoods, by: int) -> Likelihoods:
    words, logs = likelihoods
    nothing = np.full((len(words), by), -np.inf)
    last = np.full((len(words), by), WORDS - 1)
    return Likelihoods(np.hstack([words, last]), np.hstack([logs, nothing]))
