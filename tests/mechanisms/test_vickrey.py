"""Vickrey over the noise of any mechanism: the same noise, and the same promise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dxbeam.mechanisms import make_mechanism
from dxbeam.mechanisms.vickrey import NOISES, Vickrey
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.text.configuration import Configuration
from tests.support import vocabularies
from tests.support.distributions import random_numbers

PARAMETERS: dict[str, dict[str, Any]] = {
    "laplace": {},
    "mahalanobis": {"covariance_weight": 0.5},
    "gaussian": {"delta": 0.01, "clip": 2.0},
    "coordinate_laplace": {"clip": 2.0},
}


@pytest.mark.parametrize("name", NOISES)
def test_without_a_second_word_it_is_the_mechanism_of_its_noise(name: str) -> None:
    search = NeighborSearch(vocabularies.random_vocabulary(100, 5))
    source = make_mechanism(name, epsilon=2.0, **PARAMETERS[name])
    mechanism = Vickrey(2.0, 0.0, name, **PARAMETERS[name])
    assert mechanism.source == source
    ids, random = np.arange(100), random_numbers(100, mechanism.draws(5), seed=1)
    assert np.array_equal(
        mechanism.release(ids, random, search), source.release(ids, random, search)
    )
    second = Vickrey(2.0, 1.0, name, **PARAMETERS[name]).release(ids, random, search)
    assert not (second == source.release(ids, random, search)).any()
    for field in ("sentence", "epsilon", "delta", "euclidean_epsilon", "cap", "metric"):
        assert getattr(mechanism.guarantee(), field) == getattr(source.guarantee(), field)


def test_laplace_noise_is_one_configuration_given_or_not() -> None:
    digests = {Configuration(Vickrey(2.0, noise_of=name)).digest("") for name in (None, "laplace")}
    assert len(digests) == 1
    recorded = Configuration(Vickrey(2.0)).as_dict()["mechanism"]
    assert recorded == {"name": "vickrey", "epsilon": 2.0, "t": 0.5}
