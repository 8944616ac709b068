"""What every mechanism of the registry must do, whatever it is."""

from __future__ import annotations

import dataclasses
import json
import math
import pickle
from typing import Any

import numpy as np
import pytest

from dxbeam.documents import Document
from dxbeam.errors import ConfigurationError
from dxbeam.mechanisms import MECHANISMS, AddsNoise, Mechanism, make_mechanism
from dxbeam.mechanisms.constants.exact_constant import ExactConstant
from dxbeam.mechanisms.parameters import is_added_later, recorded_settings
from dxbeam.mechanisms.public.base_measure import FrequencyBase
from dxbeam.mechanisms.public.importance import FrequencyWeights
from dxbeam.mechanisms.public.public_model import PublicModel
from dxbeam.mechanisms.sampling.noisy_vector import NoisyVector
from dxbeam.mechanisms.sampling.resampling import RankResampling
from dxbeam.mechanisms.santext import SanText
from dxbeam.mechanisms.tem import TEM
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.space.vocabulary.words import UNKNOWN, Vocabulary
from dxbeam.text.configuration import Configuration
from dxbeam.text.sanitizer import Sanitizer
from tests.support.distributions import random_numbers
from tests.support.vocabularies import with_neighbors

PARAMETERS = {"trlaplace_published": {"epsilon": 0.3, "delta": 0.4, "clip": 1.0}}
"""Where an epsilon of 2 and the defaults will not do, as in few dimensions."""

LATER: dict[str | tuple[str, str], dict[str, Any]] = {
    "importance": {"importance": FrequencyWeights(2.0)},
    "base": {"base": FrequencyBase(0.5)},
    **{
        (name, "constant"): {
            "constant": ExactConstant("0", ((2.0, 3.0),), recorded_settings(plain))
        }
        for name, plain in (("santext", SanText(2.0)), ("tem", TEM(2.0)))
    },
    ("fluent", "model"): {"model": PublicModel(2, "0" * 64)},
    ("vickrey", "noise_of"): {"noise_of": "mahalanobis"},
    ("vickrey", "covariance_weight"): {"noise_of": "mahalanobis", "covariance_weight": 0.5},
    ("vickrey", "delta"): {"noise_of": "gaussian", "delta": 0.01},
    ("vickrey", "distance"): {"noise_of": "gaussian", "distance": 5.0},
    ("vickrey", "clip"): {"noise_of": "coordinate_laplace", "clip": 2.0},
}
"""Values of parameters that were added later, where 2 by itself will not do."""


def made(name: str) -> Mechanism:
    return make_mechanism(name, **PARAMETERS.get(name, {"epsilon": 2.0}))


@pytest.fixture(params=sorted(MECHANISMS))
def mechanism(request: pytest.FixtureRequest) -> Mechanism:
    return made(request.param)


@pytest.mark.parametrize("n", [1, 2, 7])
def test_a_word_depends_on_its_own_random_numbers_alone(mechanism: Mechanism, n: int) -> None:
    """Whatever batch it is in, wherever it stands there, with or without a neighbour table."""
    words = with_neighbors(n=n)
    search = NeighborSearch(words)
    ids = np.random.default_rng(0).integers(UNKNOWN, 300, 700)
    random = random_numbers(len(ids), mechanism.draws(n), seed=n)
    whole = mechanism.release(ids, random, search)
    assert whole.dtype == np.int64
    assert whole.shape == ids.shape
    assert whole.min() >= 0
    assert whole.max() < 300
    assert len(np.unique(whole)) > 10
    for size, rows in ((1, 100), (3, 210), (64, 700), (257, 700)):
        parts = [
            mechanism.release(ids[i : i + size], random[i : i + size], search)
            for i in range(0, rows, size)
        ]
        assert np.array_equal(np.concatenate(parts), whole[:rows])
    order = np.random.default_rng(1).permutation(len(ids))
    assert np.array_equal(mechanism.release(ids[order], random[order], search), whole[order])
    bare = NeighborSearch(dataclasses.replace(words, neighbor_ids=None, close_radius=None))
    assert np.array_equal(mechanism.release(ids, random, bare), whole)
    empty = mechanism.release(ids[:0], random[:0], search)
    assert empty.dtype == np.int64
    assert len(empty) == 0


def test_it_is_a_value_that_pickles_and_holds_no_state(mechanism: Mechanism) -> None:
    search = NeighborSearch(with_neighbors())
    random = random_numbers(50, mechanism.draws(7), seed=5)
    before = pickle.dumps(mechanism)
    first = mechanism.release(np.arange(50), random, search)
    assert pickle.dumps(mechanism) == before
    assert len(before) < 500, "nothing of a vocabulary"
    copy = pickle.loads(before)
    assert copy == mechanism
    assert hash(copy) == hash(mechanism)
    assert np.array_equal(copy.release(np.arange(50), random, search), first)
    field = next(iter(dataclasses.fields(mechanism))).name  # type: ignore[arg-type]
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(mechanism, field, 3.0)


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf, 1e9, "a"])
def test_an_epsilon_without_a_promise_is_refused(mechanism: Mechanism, epsilon: float) -> None:
    with pytest.raises(ConfigurationError, match="epsilon"):
        make_mechanism(mechanism.name, epsilon=epsilon)


def test_the_guarantee_is_stated(mechanism: Mechanism) -> None:
    promise = mechanism.guarantee()
    stated = promise.as_dict()
    assert json.loads(json.dumps(stated, allow_nan=False)) == stated
    assert promise.evidence in ("proved", "measured", "published")
    for name in ("notion", "metric", "unit", "composition", "citation", "sentence"):
        assert stated[name], name
    if promise.sound:
        assert promise.epsilon == mechanism.epsilon
        assert 0 <= promise.delta < 1
        if promise.euclidean_epsilon is None:  # then there is no epsilon in context
            assert promise.metric.name.removesuffix(", limited") in ("cluster", "rank")
        assert "exp(" in promise.sentence
        assert "exact arithmetic" in promise.arithmetic, "the proof is not of what is computed"
        whole = Configuration(mechanism, allow_unsound=True).guarantee()
        assert promise.arithmetic in whole.caveats
    else:
        assert promise.delta == 1
        assert promise.sentence == "Nothing is guaranteed for a word."


def test_unknown_words_are_covered(mechanism: Mechanism) -> None:
    """Two of them are treated alike, and never let through."""
    settings = Configuration(mechanism, RankResampling(0.05), allow_unsound=True)
    sanitizer = Sanitizer(with_neighbors(), settings, bytes(range(32)))
    texts = [" ".join([word] * 400) for word in ("Zanzibar", "xyzzy")]
    released = []
    for text in texts:
        [result] = sanitizer.sanitize([Document("a", text)])
        assert result.document
        assert result.tally.unknown == 400
        assert not {"Zanzibar", "xyzzy"} & set(result.document.text.split())
        released.append(result.document.text.split())
        assert len(set(released[-1])) > 5
    assert released[0] != released[1], "two texts never share noise"


def test_parameters_are_all_in_the_manifest(mechanism: Mechanism) -> None:
    configuration = Configuration(mechanism, allow_unsound=True)
    stated = configuration.as_dict()["mechanism"]
    every = dataclasses.asdict(mechanism)  # type: ignore[call-overload]
    later = {
        field.name
        for field in dataclasses.fields(mechanism)  # type: ignore[arg-type]
        if is_added_later(field)
    }
    not_given = {name for name in later if every[name] is None}
    assert stated == {
        "name": mechanism.name,
        **{name: value for name, value in every.items() if name not in not_given},
    }
    for name in not_given:
        parameters = LATER.get((mechanism.name, name), LATER.get(name, {name: 2.0}))
        given = dataclasses.replace(mechanism, **parameters)  # type: ignore[type-var]
        recorded = Configuration(given, allow_unsound=True).as_dict()["mechanism"]
        value = parameters[name]
        assert recorded[name] == (value.as_dict() if hasattr(value, "as_dict") else value)
    assert set(mechanism.guarantee().unprotected) <= set(configuration.unprotected)


def test_a_vocabulary_of_one_or_two_words_will_do(mechanism: Mechanism) -> None:
    for words in (1, 2):
        search = NeighborSearch(with_neighbors(words, 2, words - 1))
        ids = np.array([0, UNKNOWN, words - 1] * 20)
        released = mechanism.release(ids, random_numbers(60, mechanism.draws(2), seed=3), search)
        assert set(np.unique(released)) <= set(range(words))


def test_noise_is_what_release_adds(mechanism: Mechanism) -> None:
    if not isinstance(mechanism, AddsNoise):
        pytest.skip("this mechanism adds no noise to vectors")
    search = NeighborSearch(with_neighbors())
    random = random_numbers(300, mechanism.draws(7), seed=8)
    noise = mechanism.noise(random, search)
    assert noise.shape == (300, 7)
    assert noise.dtype == np.float64
    alone = np.concatenate([mechanism.noise(random[i : i + 1], search) for i in range(300)])
    assert np.array_equal(alone, noise)


def test_the_nearest_word_is_released_by_one_proved_function(mechanism: Mechanism) -> None:
    """vickrey, which may release the second nearest, has a separate proof."""
    if isinstance(mechanism, AddsNoise) and mechanism.name != "vickrey":
        assert type(mechanism).release is NoisyVector.release


def test_what_is_kept_of_one_epsilon_is_not_taken_for_another(mechanism: Mechanism) -> None:
    """Levels share a search, and with it what a mechanism keeps there: the lower first and last."""
    words, random = with_neighbors(), random_numbers(300, mechanism.draws(7), seed=9)
    lower: Mechanism = dataclasses.replace(mechanism, epsilon=0.6 * mechanism.epsilon)  # type: ignore[type-var]
    search, ids = NeighborSearch(words), np.arange(300)
    alone = {each: each.release(ids, random, NeighborSearch(words)) for each in (lower, mechanism)}
    assert not np.array_equal(alone[lower], alone[mechanism])
    for each in (lower, mechanism, lower):
        assert np.array_equal(each.release(ids, random, search), alone[each])


CLIPPED: list[tuple[str, dict[str, Any]]] = [
    ("trlaplace", {"clip": 1.0}),
    ("trlaplace_published", {"epsilon": 0.3, "delta": 0.4, "clip": 1.0}),
    ("coordinate_laplace", {"clip": 1.0}),
    ("gaussian", {"clip": 1.0}),
    ("vickrey", {"noise_of": "coordinate_laplace", "clip": 1.0}),
]


@pytest.mark.parametrize("n", [2, 100, 300])
@pytest.mark.parametrize(("name", "parameters"), CLIPPED)
def test_vectors_are_clipped_in_any_dimension(
    name: str, parameters: dict[str, Any], n: int
) -> None:
    """Words along one ray beyond the ball start from one place, so they become the same words."""
    mechanism = make_mechanism(name, **{"epsilon": 10.0, **parameters})
    vectors = np.random.default_rng(n).normal(0, 1 / math.sqrt(n), (40, n))
    vectors[:2] = vectors[0] / np.linalg.norm(vectors[0])
    vectors[0] *= 2.0
    vectors[1] *= 50.0
    names = [f"w{i}" for i in range(40)]
    search = NeighborSearch(Vocabulary(names, vectors.astype(np.float32)))
    random = random_numbers(400, mechanism.draws(n), seed=n)
    near, far, other = (mechanism.release(np.full(400, i), random, search) for i in range(3))
    assert (near == far).mean() > 0.99, "rounding may move a word over a border"
    assert (near == other).mean() < 0.99
