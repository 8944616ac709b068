"""Documents found again by who knows the mechanism.

Draws are seeded. Where a rate is stated, it is how often another seed would fail if all is well.
"""

from __future__ import annotations

import numpy as np
import pytest

from dxbeam.analysis.attackers.channel import known_channel
from dxbeam.analysis.attackers.models.released_texts import Column
from dxbeam.analysis.attackers.prior import Prior, prior_from_counts
from dxbeam.analysis.evaluate.text_features import GAPS, FeatureMaker
from dxbeam.analysis.exposure.linking_by_reading import (
    LIKELIEST,
    likeliest,
    linked_by_reading,
    log_likelihoods,
    nearest_read,
)
from dxbeam.mechanisms.santext import SanText
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.space.vocabulary.words import Vocabulary
from tests.support import tiny

WORDS = 120
EPSILON = 1.0

Texts = list[np.ndarray]


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return tiny.vocabulary(WORDS)


@pytest.fixture(scope="module")
def prior() -> Prior:
    return prior_from_counts("public text", np.arange(WORDS) % 7)


def _texts(documents: int, length: int, seed: int) -> Texts:
    return list(np.random.default_rng(seed).integers(0, WORDS, (documents, length)))


def _matrix(vocabulary: Vocabulary, epsilon: float = EPSILON) -> np.ndarray:
    """Pr[x -> z] of santext, by its definition."""
    vectors = vocabulary.vectors.astype(np.float64)
    apart = np.linalg.norm(vectors[:, None] - vectors, axis=2)
    weights = np.exp(-epsilon * apart / 2)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _released(matrix: np.ndarray, texts: Texts, seed: int) -> Texts:
    generator = np.random.default_rng(seed)
    return [np.array([generator.choice(WORDS, p=matrix[x]) for x in text]) for text in texts]


def test_how_probable_a_release_is_follows_from_the_definition(
    vocabulary: Vocabulary, prior: Prior
) -> None:
    matrix, search = _matrix(vocabulary), NeighborSearch(vocabulary)
    texts = _texts(9, 6, seed=1)
    released = np.stack(_released(matrix, texts, seed=2))
    scores = log_likelihoods(
        np.stack(texts), released, known_channel(SanText(EPSILON), prior, search)
    )
    exact = [[np.log(matrix[x, z]).sum() for x in texts] for z in released]
    assert scores == pytest.approx(np.array(exact), abs=1e-3)


def test_it_is_right_as_often_as_its_posterior_says(vocabulary: Vocabulary, prior: Prior) -> None:
    """Of 600 releases of 20 texts; fails once in 10^4 seeds (four standard deviations)."""
    matrix, search = _matrix(vocabulary), NeighborSearch(vocabulary)
    channel = known_channel(SanText(EPSILON), prior, search)
    texts = _texts(20, 3, seed=3)
    right, expected, by_words = 0.0, [], 0.0
    for seed in range(30):
        released = _released(matrix, texts, seed=100 + seed)
        right += likeliest(texts, released, channel).among(1).sum()
        by_words += nearest_read(texts, released, WORDS).among(1).sum()
        scores = log_likelihoods(np.stack(texts), np.stack(released), channel)
        chances = np.exp(scores - scores.max(axis=1, keepdims=True))
        expected += list(chances.max(axis=1) / chances.sum(axis=1))
    expected_right = np.array(expected)
    spread = np.sqrt((expected_right * (1 - expected_right)).sum())
    assert abs(right - expected_right.sum()) < 4 * spread
    assert right > by_words + 4 * spread, "who only compares words does not know the mechanism"


def test_half_the_noise_moves_the_likeliest(vocabulary: Vocabulary, prior: Prior) -> None:
    """Intervals that do not meet, of 200 texts; by far, so no other seed would fail."""
    texts = _texts(200, 6, seed=8)
    channel = known_channel(SanText(EPSILON), prior, NeighborSearch(vocabulary))
    gaps = [FeatureMaker([GAPS], None, ()).features("a", ["a"])] * 200
    sound, broken = (
        next(
            linked_by_reading(
                texts, _released(_matrix(vocabulary, epsilon), texts, 9), [], (gaps, gaps), channel
            )
        )
        for epsilon in (EPSILON, 2 * EPSILON)
    )
    assert sound.measure == broken.measure == "right one first"
    assert sound.low > 1 / 200
    assert sound.high < broken.low


def test_uniform_output_tells_nothing(vocabulary: Vocabulary, prior: Prior) -> None:
    """One in 40 is right by chance, of 400; fails once in 10^4 seeds (ten right are expected)."""
    channel = known_channel(SanText(EPSILON), prior, NeighborSearch(vocabulary))
    texts = _texts(40, 8, seed=4)
    right = sum(
        likeliest(texts, _texts(40, 8, seed=50 + seed), channel).among(1).sum()
        for seed in range(10)
    )
    assert 1 <= right <= 24


def test_other_lengths_are_impossible_and_equal_texts_share_their_places(
    vocabulary: Vocabulary, prior: Prior
) -> None:
    channel = known_channel(SanText(EPSILON), prior, NeighborSearch(vocabulary))
    (text,) = _texts(1, 5, seed=5)
    texts = [text, text[:4], text, text[:3]]
    released = [text, text[:4], text, text[:3]]
    places = likeliest(texts, released, channel)
    assert places.among(1).tolist() == [0.5, 1, 0.5, 1]


def test_who_reads_first_is_judged_by_what_it_read(vocabulary: Vocabulary, prior: Prior) -> None:
    """One that reads everything right finds every text; who left texts out has no row."""
    texts = _texts(30, 8, seed=6)
    strangers = _texts(30, 8, seed=7)
    columns = [
        Column("believed", texts, strangers),
        Column("learned", texts, texts),
        Column("masked_5", texts, texts),
        Column("endpoint", texts, [None, *texts[1:]]),
    ]
    maker = FeatureMaker([GAPS], None, ())
    gaps = [maker.features(" ".join("abcdefgh"), list("abcdefgh"))] * 30
    channel = known_channel(SanText(EPSILON), prior, NeighborSearch(vocabulary))
    rows = {
        (row.attacker, row.measure): row
        for row in linked_by_reading(texts, strangers, columns, (gaps, gaps), channel)
    }
    assert {attacker for attacker, _ in rows} == {
        LIKELIEST,
        "believes the release, then nearest by TF-IDF",
        "learned inversion, then nearest by TF-IDF",
    }
    first = rows["learned inversion, then nearest by TF-IDF", "right one first"]
    assert (first.success, first.n) == (1, 30)
    assert first.chance == pytest.approx(1 / 30), "all have the same gaps"
    assert rows["believes the release, then nearest by TF-IDF", "right one first"].success < 0.5
