"""Documents found again by their releases: the right places, chance, and broken mechanisms.

Draws are seeded. Where a rate is stated, it is how often another seed would fail if all is well.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dxbeam.analysis.evaluate.text_features import (
    GAPS,
    LENGTH,
    MEAN_VECTOR,
    WORDS,
    FeatureMaker,
)
from dxbeam.analysis.exposure import linking
from dxbeam.analysis.exposure.attack import Attack
from dxbeam.analysis.exposure.linking import linked, standing
from dxbeam.mechanisms.laplace import Laplace
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.space.vocabulary.words import Vocabulary
from tests.support import tiny

KINDS = (WORDS, MEAN_VECTOR, LENGTH, GAPS)
FIRST = "right one first"
BEHIND = "others behind the right one"

Texts = list[np.ndarray]


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return tiny.vocabulary()


def _texts(documents: int, length: int, words: int, seed: int = 0) -> Texts:
    return list(np.random.default_rng(seed).integers(0, words, (documents, length)))


def _features(vocabulary: Vocabulary, texts: Texts, gap: str = " ") -> list[Any]:
    maker = FeatureMaker(KINDS, vocabulary, ())
    named = [[f"w{word}" for word in text] for text in texts]
    return [maker.features(gap.join(words), words) for words in named]


def _linked(vocabulary: Vocabulary, before: Texts, after: Texts) -> dict[tuple[str, str], Attack]:
    sides = (_features(vocabulary, texts) for texts in (before, after))
    return {(row.attacker, row.measure): row for row in linked(*sides, "the originals")}


def _laplace(vocabulary: Vocabulary, texts: Texts, epsilon: float) -> Texts:
    mechanism, search = Laplace(epsilon), NeighborSearch(vocabulary)
    ids = np.concatenate(texts)
    draws = mechanism.draws(vocabulary.dimensions)
    random = np.random.default_rng(1).integers(0, 2**64, (len(ids), draws), np.uint64)
    return list(mechanism.release(ids, random, search).reshape(len(texts), -1))


def test_texts_that_stay_are_found(vocabulary: Vocabulary) -> None:
    texts = _texts(60, 12, 300)
    rows = _linked(vocabulary, texts, texts)
    for kind in (WORDS, MEAN_VECTOR):
        assert rows[linking.ATTACKERS[kind], FIRST].success == 1
        assert rows[linking.ATTACKERS[kind], BEHIND].success == 1


def test_who_sees_no_difference_gets_exactly_chance(vocabulary: Vocabulary) -> None:
    """All texts have the same length and the same gaps."""
    rows = _linked(vocabulary, _texts(50, 12, 300), _texts(50, 12, 300, seed=1))
    for kind in (LENGTH, GAPS):
        for measure, chance in ((FIRST, 1 / 50), (BEHIND, 0.5)):
            row = rows[linking.ATTACKERS[kind], measure]
            assert row.success == pytest.approx(chance)
            assert row.chance == pytest.approx(chance)


def test_a_perfect_mechanism_leaves_all_at_chance(vocabulary: Vocabulary) -> None:
    """Uniform words. Fails for one seed in 10,000: P(Poisson(1) >= 7), and four deviations."""
    texts = 400
    rows = _linked(vocabulary, _texts(texts, 12, 300), _texts(texts, 12, 300, seed=1))
    for kind in KINDS:
        assert rows[linking.ATTACKERS[kind], FIRST].success * texts < 7
        behind = rows[linking.ATTACKERS[kind], BEHIND].success
        assert abs(behind - 0.5) < 4 * 0.2887 / np.sqrt(texts)


def test_lengths_and_gaps_are_given_away_by_a_perfect_mechanism(vocabulary: Vocabulary) -> None:
    lengths = np.arange(1, 41)
    before, after = (
        [np.random.default_rng(seed).integers(0, 300, length) for length in lengths]
        for seed in (0, 1)
    )
    rows = _linked(vocabulary, before, after)
    for kind in (LENGTH, GAPS):
        assert rows[linking.ATTACKERS[kind], FIRST].success == 1


def test_chance_of_who_sees_words_is_what_gaps_give_away(vocabulary: Vocabulary) -> None:
    lengths = np.arange(1, 41) // 2 + 1
    before, after = (
        [np.random.default_rng(seed).integers(0, 300, length) for length in lengths]
        for seed in (0, 1)
    )
    rows = _linked(vocabulary, before, after)
    for measure in (FIRST, BEHIND):
        gaps = rows[linking.ATTACKERS[GAPS], measure]
        assert gaps.success > gaps.chance
        for kind in (WORDS, MEAN_VECTOR):
            assert rows[linking.ATTACKERS[kind], measure].chance == pytest.approx(gaps.success)


def test_gaps_tell_texts_of_one_length_apart(vocabulary: Vocabulary) -> None:
    texts = _texts(2, 9, 300)
    features = [_features(vocabulary, [text], gap)[0] for text, gap in zip(texts, (" ", ", "))]  # noqa: B905
    places = standing(*([each[GAPS] for each in features] for _ in range(2)), GAPS)
    assert places.among(1).tolist() == [1, 1]


def test_half_the_noise_moves_every_attacker(vocabulary: Vocabulary) -> None:
    """Intervals that do not meet; by far, so no other seed would fail in practice."""
    texts = _texts(300, 12, 300)
    sound, broken = (
        _linked(vocabulary, texts, _laplace(vocabulary, texts, epsilon)) for epsilon in (1.5, 3.0)
    )
    for kind in (WORDS, MEAN_VECTOR):
        key = linking.ATTACKERS[kind], FIRST
        assert sound[key].low > 1 / 300
        assert sound[key].high < broken[key].low


@pytest.mark.parametrize("kind", KINDS)
def test_places_are_those_of_all_distances(vocabulary: Vocabulary, kind: str) -> None:
    texts = [text[: 1 + number % 12] for number, text in enumerate(_texts(40, 12, 300))]
    before = [each[kind] for each in _features(vocabulary, texts)]
    after = [each[kind] for each in _features(vocabulary, _laplace_each(vocabulary, texts))]
    whole = standing(before, after, kind)
    left, right = (linking._points(side, kind) for side in (before, after))
    if not isinstance(left, np.ndarray):
        used = np.union1d(left.indices, right.indices)
        left, right = (side[:, used].toarray() for side in (left, right))
    distances = np.round(np.square(right[:, None] - left[None]).sum(axis=2), 7)
    own = np.diagonal(distances)[:, None]
    assert whole.ahead.tolist() == (distances < own).sum(axis=1).tolist()
    assert whole.level.tolist() == (distances == own).sum(axis=1).tolist()
    parted = standing(before, after, kind, distances_at_once=100)
    assert parted.ahead.tolist() == whole.ahead.tolist()


def _laplace_each(vocabulary: Vocabulary, texts: Texts) -> Texts:
    return [_laplace(vocabulary, [text], 3.0)[0] for text in texts]


def test_texts_without_words_are_level() -> None:
    empty = FeatureMaker((WORDS, LENGTH, GAPS), None, ()).features("", [])
    for kind in (WORDS, LENGTH, GAPS):
        places = standing([empty[kind]] * 3, [empty[kind]] * 3, kind)
        assert places.among(1).tolist() == pytest.approx([1 / 3] * 3)
        assert places.behind().tolist() == pytest.approx([0.5] * 3)
