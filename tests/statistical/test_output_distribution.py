"""The distribution of released words: exact by integration, in one, two, 50 and 300 dimensions.

False-alarm rate 1e-6 a test. Broken mechanisms, each caught in at least one of the settings, show
that the checks can fail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pytest

from dxbeam.mechanisms.laplace import Laplace
from dxbeam.mechanisms.sampling.noise import laplace
from dxbeam.mechanisms.sampling.resampling import RankResampling
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.space.vocabulary.words import UNKNOWN, Vocabulary
from tests.support.distributions import (
    Floats,
    Ids,
    chi_square_p,
    is_caught,
    judge,
    line_distribution,
    plane_distribution,
    random_numbers,
    rank_distribution,
)

pytestmark = pytest.mark.exhaustive

ROWS = 20_000
Release = Callable[[Ids, np.ndarray, NeighborSearch, float], Ids]


@dataclass
class Setting:
    """A vocabulary, an epsilon, and the exact distribution of what is released for each word."""

    search: NeighborSearch
    epsilon: float
    distributions: dict[int, Floats]


def _settings() -> Iterator[Setting]:
    positions = np.array([-3.0, -1.0, 0.0, 0.5, 4.0])
    for n, epsilon in ((1, 0.7), (50, 4.0), (300, 12.0)):
        vectors = np.zeros((5, n), np.float32)
        vectors[:, 0] = positions
        vocabulary = Vocabulary(list("abcde"), vectors)
        starts = {**dict(enumerate(positions)), UNKNOWN: float(np.float32(positions.mean()))}
        distributions = {
            w: line_distribution(positions, start, n, epsilon) for w, start in starts.items()
        }
        yield Setting(NeighborSearch(vocabulary), epsilon, distributions)
    points = np.array([[0, 0], [1, 0.2], [-0.7, 1], [2, 2], [0.3, -1.5], [-2, -1], [0.1, 0.6]])
    vocabulary = Vocabulary(list("abcdefg"), points.astype(np.float32))
    exact = vocabulary.vectors.astype(np.float64)
    distributions = {w: plane_distribution(exact, exact[w], 1.3) for w in range(len(points))}
    distributions[UNKNOWN] = plane_distribution(
        exact, np.asarray(vocabulary.unknown_vector, np.float64), 1.3
    )
    yield Setting(NeighborSearch(vocabulary), 1.3, distributions)


SETTINGS = list(_settings())


def _release(ids: Ids, random: np.ndarray, search: NeighborSearch, epsilon: float) -> Ids:
    return Laplace(epsilon).release(ids, random, search)


def check_output(release: Release, setting: Setting) -> None:
    vocabulary = setting.search.vocabulary
    draws = Laplace(setting.epsilon).draws(vocabulary.dimensions)
    p_values = {}
    for word, distribution in setting.distributions.items():
        random = random_numbers(ROWS, draws, seed=word + 10)
        released = release(np.full(ROWS, word), random, setting.search, setting.epsilon)
        assert released.min() >= 0, "not a word of the vocabulary"
        p_values[str(word)] = chi_square_p(
            np.bincount(released, minlength=len(distribution)), distribution
        )
    judge(p_values)


@pytest.mark.parametrize("setting", SETTINGS, ids=["1", "50", "300", "2"])
def test_released_words_have_the_exact_distribution(setting: Setting) -> None:
    check_output(_release, setting)


@pytest.mark.parametrize("setting", SETTINGS, ids=["1", "50", "300", "2"])
def test_the_exact_distribution_keeps_the_promise(setting: Setting) -> None:
    """The d_X inequality on the distributions themselves: shows that the integration is right."""
    vocabulary = setting.search.vocabulary
    words = np.array(list(setting.distributions))
    vectors = vocabulary.vectors_of(words)
    for i, x in enumerate(words):
        for j, other in enumerate(words):
            distance = np.linalg.norm(vectors[i] - vectors[j])
            bound = np.exp(setting.epsilon * distance) * setting.distributions[int(other)]
            assert (setting.distributions[int(x)] <= bound * (1 + 1e-6) + 1e-9).all()


def _redraw_when_equal(ids: Ids, random: np.ndarray, search: NeighborSearch, epsilon: float) -> Ids:
    released = _release(ids, random, search, epsilon)
    again = _release(ids, random[::-1].copy(), search, epsilon)
    return np.where(released == ids, again, released)


def _original_excluded(ids: Ids, random: np.ndarray, search: NeighborSearch, epsilon: float) -> Ids:
    noisy = search.vocabulary.vectors_of(ids) + laplace(
        random, search.vocabulary.dimensions, epsilon
    )
    distances = np.linalg.norm(noisy[:, None, :] - search.vocabulary.vectors[None], axis=2)
    distances[np.arange(len(ids)), np.maximum(ids, 0)] = np.inf
    return distances.argmin(axis=1)


def _original_one_time_in_fifty(
    ids: Ids, random: np.ndarray, search: NeighborSearch, epsilon: float
) -> Ids:
    released = _release(ids, random, search, epsilon)
    return np.where(np.arange(len(ids)) % 50 == 0, np.maximum(ids, 0), released)


def _far_words_refused(ids: Ids, random: np.ndarray, search: NeighborSearch, epsilon: float) -> Ids:
    released = _release(ids, random, search, epsilon)
    vectors = search.vocabulary.vectors_of(ids)
    far = np.linalg.norm(search.vocabulary.vectors_of(released) - vectors, axis=1) > 3
    return np.where(far, np.maximum(ids, 0), released)


def _with_epsilon(factor: float) -> Release:
    return lambda ids, random, search, epsilon: _release(ids, random, search, factor * epsilon)


BROKEN: dict[str, Release] = {
    "unknown words passed through": lambda ids, random, search, epsilon: np.where(
        ids == UNKNOWN, UNKNOWN, _release(ids, random, search, epsilon)
    ),
    "unknown words released as the first word": lambda ids, random, search, epsilon: np.where(
        ids == UNKNOWN, 0, _release(ids, random, search, epsilon)
    ),
    "no noise": lambda ids, random, search, epsilon: np.maximum(ids, 0),
    "redrawn when equal": _redraw_when_equal,
    "original excluded": _original_excluded,
    "original one time in fifty": _original_one_time_in_fifty,
    "far words refused": _far_words_refused,
    "epsilon 5 % too large": _with_epsilon(1.05),
    "epsilon 5 % too small": _with_epsilon(0.95),
    "noise in one direction": lambda ids, random, search, epsilon: search.nearest(
        search.vocabulary.vectors_of(ids)
        + np.abs(laplace(random, search.vocabulary.dimensions, epsilon))
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_mechanismis_caught(check_output, name: str) -> None:
    assert any(is_caught(check_output, BROKEN[name], setting) for setting in SETTINGS)


# Rank resampling: twelve words, a table of three neighbours, ranks to the last one.

RATE, WORDS = 0.25, 12
Resample = Callable[[Ids, np.ndarray, NeighborSearch], Ids]


def _irregular() -> NeighborSearch:
    vectors = np.random.default_rng(2).normal(size=(WORDS, 3)).astype(np.float32)
    plain = NeighborSearch(Vocabulary([f"w{i}" for i in range(WORDS)], vectors))
    table, _ = plain.neighbor_table(np.arange(WORDS), 3)
    return NeighborSearch(Vocabulary(plain.vocabulary.words, vectors, neighbor_ids=table))


def _resample(released: Ids, random: np.ndarray, search: NeighborSearch) -> Ids:
    return RankResampling(RATE / 5).resample(released, random, 5.0, search)


def check_resampling(resample: Resample) -> None:
    search = _irregular()
    vectors = search.vocabulary.vectors.astype(np.float64)
    p_values = {}
    for word in range(0, WORDS, 4):
        ranked = np.argsort(np.linalg.norm(vectors - vectors[word], axis=1), kind="stable")
        distribution = np.empty(WORDS)
        distribution[ranked] = rank_distribution(WORDS, RATE)
        drawn = resample(np.full(60_000, word), random_numbers(60_000, 1, seed=word), search)
        p_values[str(word)] = chi_square_p(np.bincount(drawn, minlength=WORDS), distribution)
    judge(p_values)


def test_resampling_equals_the_closed_form_to_the_last_rank() -> None:
    assert rank_distribution(WORDS, RATE)[-1] * 60_000 > 800, "the last rank is drawn often"
    check_resampling(_resample)


def _with_ranks(change: Callable[[Ids], Ids], rate: float = RATE) -> Resample:
    def resample(released: Ids, random: np.ndarray, search: NeighborSearch) -> Ids:
        ranks = RankResampling(rate / 5).ranks(random, 5.0, WORDS)
        return search.neighbor(released, change(ranks))

    return resample


@pytest.mark.parametrize(
    "resample",
    [
        _with_ranks(lambda ranks: np.minimum(ranks, 3)),
        _with_ranks(lambda ranks: np.where(ranks > 3, 0, ranks)),
        _with_ranks(lambda ranks: np.minimum(ranks + 1, WORDS - 1)),
        _with_ranks(lambda ranks: np.minimum(ranks, WORDS - 2)),
        _with_ranks(lambda ranks: ranks, RATE * 1.05),
        lambda released, random, search: released,
    ],
    ids=["cut at the table", "deep ranks dropped", "off by one", "never the last", "rate", "none"],
)
def test_broken_resamplingis_caught(check_output, resample: Resample) -> None:
    with pytest.raises(AssertionError):
        check_resampling(resample)


def test_the_inverse_distribution_function_is_exact_on_a_grid() -> None:
    grid = (np.arange(200_000, dtype=np.uint64) * np.uint64(2**64 // 200_000))[:, None]
    counts = np.bincount(RankResampling(0.05).ranks(grid, 5.0, WORDS), minlength=WORDS)
    assert np.abs(counts / 200_000 - rank_distribution(WORDS, 0.25)).max() < 2 / 200_000


Both = Callable[[Ids, np.ndarray, NeighborSearch, float], Ids]


def check_resampled_output(release: Both) -> None:
    """Mechanism and resampling together: the distribution is a mixture over x*, not over x."""
    setting = SETTINGS[0]
    vectors = setting.search.vocabulary.vectors.astype(np.float64)
    mixture = np.zeros((5, 5))
    for word in range(5):
        ranked = np.argsort(np.linalg.norm(vectors - vectors[word], axis=1), kind="stable")
        mixture[word, ranked] = rank_distribution(5, 0.5 * setting.epsilon)
    p_values = {}
    for word, distribution in setting.distributions.items():
        random = random_numbers(ROWS, 10, seed=word + 50)
        released = release(np.full(ROWS, word), random, setting.search, setting.epsilon)
        p_values[str(word)] = chi_square_p(
            np.bincount(released, minlength=5), distribution @ mixture
        )
    judge(p_values)


def _around(center: Callable[[Ids, Ids], Ids], number: int = 9) -> Both:
    def release(ids: Ids, random: np.ndarray, search: NeighborSearch, epsilon: float) -> Ids:
        released = _release(ids, random, search, epsilon)
        own = random[:, number : number + 1]
        return RankResampling(0.5).resample(center(ids, released), own, epsilon, search)

    return release


def test_resampling_sees_the_output_alone() -> None:
    check_resampled_output(_around(lambda ids, released: released))
    with pytest.raises(AssertionError):  # the ranks of the original word, which would be unsound
        check_resampled_output(_around(lambda ids, released: np.maximum(ids, 0)))
    with pytest.raises(AssertionError):  # ranks drawn with the numbers of the noise
        check_resampled_output(_around(lambda ids, released: released, number=0))
