"""Lower bounds on the loss between two documents: below sound promises, above broken ones.

Draws are seeded. Where a rate is stated, it is how often other seeds would fail if all is well.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from dxbeam.audit.empirical_epsilon import (
    empirical_epsilon,
    exact,
    exact_loss,
    largest_bound,
)
from dxbeam.mechanisms import Mechanism
from dxbeam.mechanisms.custext import CusText
from dxbeam.mechanisms.diffractor import Diffractor
from dxbeam.mechanisms.gaussian import Gaussian
from dxbeam.mechanisms.laplace import Laplace
from dxbeam.mechanisms.mahalanobis import Mahalanobis, shape_of
from dxbeam.mechanisms.sampling.cluster_choice import partition_of
from dxbeam.mechanisms.sampling.order_choice import orders_of
from dxbeam.mechanisms.santext import SanText
from dxbeam.mechanisms.tem import TEM
from dxbeam.mechanisms.vickrey import Vickrey
from dxbeam.space.search.neighbors import Ids, NeighborSearch
from tests.support import vocabularies

SEARCH = NeighborSearch(vocabularies.line_vocabulary())
"""Words at -3, -1, 0, 0.5 and 4."""

PLANE = NeighborSearch(vocabularies.random_vocabulary(8, 2, 0))

WORDS = (np.array([1]), np.array([3]))
"""Two words, 1.5 apart."""

DOCUMENTS = (np.array([1, 2, 0]), np.array([3, 3, 0]))
"""Two documents that differ in two words, by 1.5 and 0.5."""

RUNS, ERROR = 200, 1e-6
"""200 runs of a sound mechanism fail at a rate of 200 in a million at most."""


def _releases(
    mechanism: Mechanism,
    words: Ids,
    draws: int,
    seed: int,
    shared: bool = False,
    search: NeighborSearch = SEARCH,
) -> Ids:
    """M releases of a document; with ``shared``, the same noise for all words of a release."""
    random = np.random.default_rng(seed)
    needed = mechanism.draws(search.vocabulary.dimensions)
    shape = (draws, 1 if shared else len(words), needed)
    numbers = random.integers(0, 2**64, shape, np.uint64)
    numbers = np.broadcast_to(numbers, (draws, len(words), needed)).reshape(-1, needed)
    released = mechanism.release(np.tile(words, draws), np.ascontiguousarray(numbers), search)
    return released.reshape(draws, -1)


def _bound(mechanism: Mechanism, pair: tuple[Ids, Ids], draws: int, run: int = 0) -> float:
    first, second = (
        _releases(mechanism, words, draws, 2 * run + side) for side, words in enumerate(pair)
    )
    return empirical_epsilon(first, second, ERROR)


@pytest.mark.parametrize(
    ("mechanism", "pair", "distance"),
    [
        (Laplace, WORDS, 1.5),
        (Laplace, DOCUMENTS, 2.0),
        (SanText, WORDS, 1.5),
        (SanText, DOCUMENTS, 2.0),
        (TEM, WORDS, 1.5),
        (Vickrey, WORDS, 1.5),
    ],
)
def test_a_sound_mechanism_stays_below_its_promise(
    mechanism: Callable[[float], Mechanism], pair: tuple[Ids, Ids], distance: float
) -> None:
    bounds = [_bound(mechanism(1.0), pair, 900, run) for run in range(RUNS)]
    assert max(bounds) <= distance


def _steps() -> float:
    """How many steps the two words are apart in the public order."""
    places = orders_of(SEARCH, 1).places[0].astype(int)
    return float(abs(places[WORDS[0][0]] - places[WORDS[1][0]]))


def _of_a_cluster() -> tuple[Ids, Ids]:
    """Two words of one public cluster."""
    members = partition_of(SEARCH, 2).members
    return members[:1], members[1:2]


def _whitened() -> float:
    """How far the two words of the plane are apart by the mechanism's distance."""
    vectors = PLANE.vocabulary.vectors.astype(float)
    factor = np.linalg.cholesky(shape_of(PLANE.vocabulary, 0.8))
    return float(np.linalg.norm(np.linalg.solve(factor, vectors[1] - vectors[3])))


@pytest.mark.parametrize(
    ("mechanism", "search", "pair", "promised", "delta"),
    [
        (Gaussian(1.0, delta=0.01, distance=2.0), SEARCH, WORDS, 1.5, 0.01),
        (Mahalanobis(1.0, covariance_weight=0.8), PLANE, WORDS, _whitened(), 0.0),
        (CusText(1.5, cluster_size=2), SEARCH, _of_a_cluster(), 1.5, 0.0),
        (Diffractor(0.5), SEARCH, WORDS, 0.5 * _steps(), 0.0),
    ],
    ids=["gaussian", "mahalanobis", "custext", "diffractor"],
)
def test_a_sound_mechanism_with_another_promise_stays_below_it(
    mechanism: Mechanism, search: NeighborSearch, pair: tuple[Ids, Ids], promised: float,
    delta: float,
) -> None:  # fmt: skip
    """By another distance, within a cluster, along an order, or with a slack."""
    bounds = []
    for run in range(RUNS):
        sides = [
            _releases(mechanism, words, 900, 2 * run + side, search=search)
            for side, words in enumerate(pair)
        ]
        bounds.append(empirical_epsilon(*sides, ERROR, delta=delta))
    assert max(bounds) <= promised
    assert max(bounds) > 0


@pytest.mark.parametrize(("pair", "distance"), [(WORDS, 1.5), (DOCUMENTS, 2.0)])
def test_half_the_noise_is_above_the_promise(pair: tuple[Ids, Ids], distance: float) -> None:
    sound = _bound(Laplace(1.0), pair, 60_000)
    broken = _bound(Laplace(2.0), pair, 60_000)
    assert 0.5 * distance < sound <= distance < broken


def test_noise_that_words_share_is_above_the_promise() -> None:
    """Two equal words under the same noise are never released as two words."""
    first, second = np.array([2, 2]), np.array([2, 3])
    promised = 0.5
    sound, broken = (
        empirical_epsilon(
            *(_releases(Laplace(1.0), words, 12_000, side, shared) for side, words in
              enumerate((first, second))),
            ERROR,
        )
        for shared in (False, True)
    )  # fmt: skip
    assert sound <= promised < broken


def test_a_perfect_mechanism_shows_nothing() -> None:
    """200 bounds at an error of one in a million each: one is above 0 at that rate at most."""
    random = np.random.default_rng(0)
    for _ in range(RUNS):
        first, second = random.integers(0, 30, (2, 900, 2))
        assert empirical_epsilon(first, second, ERROR) <= 0


def test_samples_do_not_show_large_losses() -> None:
    assert 10 < largest_bound(10**6, 0.05) < 14
    first, second = np.zeros((3_000, 1), np.int64), np.ones((3_000, 1), np.int64)
    assert empirical_epsilon(first, second, 0.05) == pytest.approx(largest_bound(3_000, 0.05))
    assert largest_bound(3_000, 0.05) < 6


def test_exact_ratios_need_no_samples() -> None:
    mechanism = SanText(2.0)
    channel = mechanism.channel(SEARCH)
    for pair, distance in ((WORDS, 1.5), (DOCUMENTS, 2.0)):
        loss = exact_loss(channel, *pair, len(SEARCH.vocabulary))
        sides = [_releases(mechanism, words, 30_000, side) for side, words in enumerate(pair)]
        bound = empirical_epsilon(*sides, ERROR, exact(channel, *pair))
        assert 0.4 * loss < bound <= loss <= 2.0 * distance


def test_an_exact_loss_is_the_largest_ratio_of_enumerated_releases() -> None:
    mechanism = SanText(1.3)
    channel = mechanism.channel(SEARCH)
    positions = SEARCH.vocabulary.vectors_of(np.arange(5))[:, 0].astype(np.float64)
    falls = np.exp(-1.3 * np.abs(positions[:, None] - positions) / 2)
    law = falls / falls.sum(axis=1, keepdims=True)
    ratios = [np.log(law[a] / law[b]) for a, b in zip(*DOCUMENTS, strict=True)]
    whole = ratios[0][:, None, None] + ratios[1][:, None] + ratios[2]
    assert exact_loss(channel, *DOCUMENTS, 5) == pytest.approx(np.abs(whole).max(), abs=1e-6)
