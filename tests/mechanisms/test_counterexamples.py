"""What published forms lose, computed exactly or drawn; each once as coded elsewhere, once as here.

The figures are in docs/reference/unequal-budgets.md and docs/results/peers.md. Drawn figures have
fixed seeds.
"""

from __future__ import annotations

import hashlib
import math

import numpy as np
import pytest

from dxbeam.documents import Document
from dxbeam.errors import ConfigurationError
from dxbeam.mechanisms.laplace import Laplace
from dxbeam.mechanisms.public.importance import WordWeights
from dxbeam.mechanisms.published.scaled_noise_published import ScaledNoisePublished
from dxbeam.mechanisms.published.trlaplace_published import TrLaplacePublished
from dxbeam.mechanisms.santext import SanText
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.space.vocabulary.words import Vocabulary
from dxbeam.text.configuration import Configuration
from dxbeam.text.sanitizer import Sanitizer
from tests.support import vocabularies
from tests.support.distributions import Floats, Ids, chi_square_p, random_numbers

FARTHEST = {5: 2.35, 20: 9.85, 40: 19.85, 80: 39.85}
"""Place of the far word -> nats, where max(g) d is 0.2."""


def laplace_law(places: Floats, start: float, rate: float) -> Floats:
    """The word nearest to start + noise on a line, by the tails of the Laplace distribution."""
    z = (places[1:] + places[:-1]) / 2 - start
    above = np.where(z >= 0, 0.5 * np.exp(-rate * np.abs(z)), 1 - 0.5 * np.exp(-rate * np.abs(z)))
    return np.asarray(-np.diff(np.concatenate([[1.0], above, [0.0]])))


def largest_loss(first: Floats, second: Floats) -> float:
    return float(np.abs(np.log(first) - np.log(second)).max())


# --- A scale of noise for each word. --------------------------------------------------------------


@pytest.mark.parametrize(("far", "nats"), FARTHEST.items())
def test_noise_of_a_scale_for_each_word_loses_without_a_bound(far: float, nats: float) -> None:
    places = np.array([0.0, 0.1, far])
    little, more = laplace_law(places, 0.0, 1.0), laplace_law(places, 0.1, 2.0)
    assert largest_loss(little, more) == pytest.approx(nats, abs=0.005)
    same = laplace_law(places, 0.1, 2.0), laplace_law(places, 0.0, 2.0)
    assert largest_loss(*same) <= 2 * 0.1 + 1e-12
    # The same two words with public weights in the metric instead: bounded wherever the far one is.
    words = vocabularies.line_vocabulary(places)
    weights = WordWeights({words.words[1]: 2.0})
    loss = largest_loss(*_importance_laws(words, 2.0, weights)[:2])
    assert loss <= 2 * 0.1 + 2.0 + 1e-12


def _importance_laws(words: Vocabulary, epsilon: float, weights: WordWeights) -> Floats:
    places, rho = words.vectors[:, 0].astype(np.float64), weights.of(words)
    prime = epsilon * np.abs(places[:, None] - places) + rho[:, None] + rho
    np.fill_diagonal(prime, 0.0)
    shares = np.exp(-prime / 2)
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def test_where_noise_is_smaller_its_density_is_higher_by_the_dimension() -> None:
    """n ln 2 at the word itself: 208 nats in 300 dimensions for a ratio of 2."""

    def log_density(length: float, rate: float, n: int) -> float:
        sphere = math.log(2) + n / 2 * math.log(math.pi) - math.lgamma(n / 2)
        return n * math.log(rate) - rate * length - sphere - math.lgamma(n)

    loss = log_density(0.0, 2.0, 300) - log_density(0.001, 1.0, 300)
    assert loss == pytest.approx(300 * math.log(2) + 0.001)
    assert round(loss) == 208
    step = 0.001  # it is a density: at n = 3 it integrates to 1
    shells = (
        4 * math.pi * (i * step) ** 2 * math.exp(log_density(i * step, 1.0, 3))
        for i in range(60_000)
    )
    assert step * sum(shells) == pytest.approx(1.0, abs=1e-6)


def test_scaled_noise_published_has_the_law_that_loses() -> None:
    """What it releases is what was computed above: chi-square, false-alarm rate 1e-6 a word."""
    words = vocabularies.line_vocabulary([0.1, 0.0, 5.0])
    made = ScaledNoisePublished(1.0, ratio=2.0, frequent=1 / 3)
    search = NeighborSearch(words)
    order = np.array([1, 0, 2])
    for word, rate in ((0, 2.0), (1, 1.0)):
        random = random_numbers(40_000, made.draws(1), seed=word)
        released = made.release(np.full(40_000, word), random, search)
        expected = np.empty(3)
        expected[order] = laplace_law(np.array([0.0, 0.1, 5.0]), words.vectors[word, 0], rate)
        assert chi_square_p(np.bincount(released, minlength=3), expected) > 1e-6
    with pytest.raises(ConfigurationError, match=r"guarantees nothing.*allow_unsound"):
        Configuration(made)


@pytest.mark.parametrize("far", FARTHEST)
def test_an_exponential_mechanism_with_its_own_epsilon_exceeds_the_largest(far: float) -> None:
    """By 11 to 199 times in these examples, and never more than g' d + |g - g'| max d."""
    places, g = np.array([0.0, 0.1, far]), np.array([1.0, 2.0, 1.0])
    apart = np.abs(places[:, None] - places)
    shares = np.exp(-g[:, None] * apart / 2)
    law = shares / shares.sum(axis=1, keepdims=True)
    loss = largest_loss(law[0], law[1])
    assert loss > 11 * 2 * 0.1
    assert loss <= 2 * 0.1 + (2 - 1) * far


# --- Mahalanobis noise whose direction is brought to length 1. ------------------------------------


def spectrum(n: int, largest_to_smallest: float) -> Floats:
    """A covariance's eigenvalues that fall as those of embeddings do, of mean 1."""
    values = np.geomspace(largest_to_smallest, 1.0, n)
    return np.asarray(values / values.mean())


def renormalised_log_density(noise: Floats, values: Floats, epsilon: float) -> float:
    """Up to a constant: length Gamma(n, 1 / epsilon), direction S^(1/2) u / |S^(1/2) u|.

    The direction v is an angular central Gaussian one, of density |S|^(-1/2) (v' S^-1 v)^(-n / 2).
    """
    length, n = float(np.linalg.norm(noise)), len(noise)
    direction = noise / length
    return -epsilon * length - n / 2 * math.log(float((direction**2 / values).sum()))


def test_renormalised_mahalanobis_noise_loses_912_nats() -> None:
    """GloVe's covariance has a largest eigenvalue 437 times the smallest: 150 ln 437."""
    n, epsilon = 300, 10.0
    values = spectrum(n, 436.96)
    step = 1e-9
    along, across = np.zeros(n), np.zeros(n)
    along[0], across[-1] = step, step  # seen from two words that are less than 2e-9 apart
    loss = renormalised_log_density(along, values, epsilon) - renormalised_log_density(
        across, values, epsilon
    )
    apart = float(np.linalg.norm(along - across))
    assert round(loss - epsilon * apart) == 912
    assert loss > 1e7 * epsilon * apart / math.sqrt(values.min())
    # Without the renormalisation the loss is epsilon times the difference of Mahalanobis lengths.
    lengths = [float(np.sqrt((noise**2 / values).sum())) for noise in (along, across)]
    assert abs(lengths[0] - lengths[1]) * epsilon < 1e-6


def test_the_direction_of_renormalised_noise_has_that_density() -> None:
    """In the plane, by chi-square over 24 sectors; false-alarm rate 1e-6."""
    values = np.array([1.8, 0.2])
    generator = np.random.default_rng(0)
    drawn = generator.normal(size=(40_000, 2)) * np.sqrt(values)
    borders = np.linspace(-np.pi, np.pi, 25)
    counts = np.histogram(np.arctan2(drawn[:, 1], drawn[:, 0]), borders)[0]
    fine = np.linspace(-np.pi, np.pi, 24 * 400 + 1)
    middles = (fine[1:] + fine[:-1]) / 2
    directions = np.column_stack([np.cos(middles), np.sin(middles)])
    density = np.exp([renormalised_log_density(v, values, 0.0) for v in directions])
    expected = density.reshape(24, 400).sum(axis=1)
    assert chi_square_p(counts, expected / expected.sum()) > 1e-6


# --- CusText with a set of k words for each word. -------------------------------------------------


def equal_sets(vectors: Floats, k: int) -> tuple[int, int]:
    """Pairs of words with the same k nearest words, themselves among them, and all pairs."""
    apart = np.linalg.norm(vectors[:, None] - vectors, axis=2)
    sets = np.sort(np.argsort(apart, axis=1, kind="stable")[:, :k], axis=1)
    counts = np.unique(sets, axis=0, return_counts=True)[1]
    return int((counts * (counts - 1) // 2).sum()), len(vectors) * (len(vectors) - 1) // 2


def test_sets_of_their_own_leave_nearly_no_pair_with_a_finite_loss() -> None:
    """On GloVe's 33,849 words 411 of 572,860,476 pairs; here 600 words in 10 dimensions."""
    vectors = np.random.default_rng(1).normal(size=(600, 10))
    finite, pairs = equal_sets(vectors, 10)
    assert finite <= pairs * 1e-4
    # All that is released for one word and never for another has an infinite loss between them.
    clusters = np.repeat(np.arange(60), 10)  # a public partition of the same size
    within = int(sum(10 * 9 // 2 for _ in np.unique(clusters)))
    assert within > 20 * max(finite, 1)


# --- A generator whose seed everybody knows. ------------------------------------------------------


def seeded_geometric(ids: Ids, words: int, alpha: float, seed: int = 42) -> Ids:
    """A word moves along a public order by geometric noise, as a library with a default seed."""
    return np.clip(ids + _geometric(len(ids), alpha, seed), 0, words - 1)


def _geometric(count: int, alpha: float, seed: int) -> Ids:
    generator = np.random.default_rng(seed)
    return generator.geometric(1 - alpha, count) - generator.geometric(1 - alpha, count)


def test_a_default_seed_gives_the_text_away_and_ours_has_none() -> None:
    """Of a library with seed 42 by default 479 of 488 noised words were recovered."""
    words, alpha = 400, math.exp(-0.05)
    ids = np.random.default_rng(5).integers(0, words, 500)
    released = seeded_geometric(ids, words, alpha)
    moved = released != ids
    recovered = released - _geometric(len(ids), alpha, 42)
    assert moved.sum() > 450
    assert (recovered == ids)[moved].mean() > 0.85  # but for those at the ends of the order

    vocabulary = vocabularies.of(np.random.default_rng(2).normal(size=(words, 6)))
    text = " ".join(vocabulary.words[i] for i in ids)
    known_keys = [bytes(32), hashlib.sha256(b"42").digest(), (42).to_bytes(32, "big")]
    for mechanism in (Laplace(1.0), SanText(1.0)):
        first, second = (_ids(Sanitizer(vocabulary, mechanism), text) for _ in range(2))
        assert (first == second).mean() < 0.2, "two releases draw their own noise"
        guesses = [_ids(Sanitizer(vocabulary, mechanism, key), text) for key in known_keys]
        for guess in guesses:
            assert (guess == first).mean() < 0.2, "no key that anybody knows"


def _ids(sanitizer: Sanitizer, text: str) -> Ids:
    [result] = sanitizer.sanitize([Document("a", text)])
    assert result.document
    return sanitizer.search.vocabulary.ids_of(result.document.text.split())


# --- Truncated Laplace noise as published. --------------------------------------------------------


def test_the_published_truncation_is_exceeded_by_released_words() -> None:
    """Two words of four: one becomes one of a set with probability 0.944, the other never.

    In 300 dimensions, at epsilon = 0.5 a unit of distance (the paper's 1), delta = 1e-5, C = 1.
    """
    n, mechanism = 300, TrLaplacePublished(0.5, 1e-5, 1.0)
    limit = mechanism.limit(n)
    assert limit == pytest.approx(1.05503, abs=5e-6)
    places = np.array([-1.0, 1.0, limit - 1.29, limit - 0.69])
    words = vocabularies.of(np.eye(1, n) * places[:, None])
    rate, border = 0.5 / math.sqrt(n), (places[2] + places[3]) / 2
    assert -1.0 + limit < border, "the noise of the first word ends before the set begins"
    below = border - 1.0  # how far down the noise of the second must go to miss the set
    missed = (math.exp(rate * below) - math.exp(-rate * limit)) / 2 / -math.expm1(-rate * limit)
    assert 1 - missed == pytest.approx(0.944, abs=5e-4)
    claimed = math.exp(0.5 * 2.0) * 0.0 + 1e-5
    assert 1 - missed > 90_000 * claimed
    random, search = random_numbers(4000, mechanism.draws(n), seed=3), NeighborSearch(words)
    drawn = [mechanism.release(np.full(4000, word), random, search) for word in (0, 1)]
    shares = [float(np.isin(released, (1, 3)).mean()) for released in drawn]
    assert shares[0] == 0.0
    assert shares[1] == pytest.approx(0.944, abs=0.02)  # 5.6 standard deviations
    said = " ".join(mechanism.guarantee().caveats)
    assert "false for released words, too" in said
    assert "No violation" not in said
