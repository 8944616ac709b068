"""Guaranteed and nominal epsilon: solved, kept, refused where no scan was made."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dxbeam.errors import ConfigurationError
from dxbeam.mechanisms.constants.exact_constant import ExactConstant, constant_of
from dxbeam.mechanisms.constants.record import record_of
from dxbeam.mechanisms.constants.solve import exponents_of, solve
from dxbeam.mechanisms.laplace import Laplace
from dxbeam.mechanisms.public.base_measure import FrequencyBase
from dxbeam.mechanisms.public.importance import FrequencyWeights
from dxbeam.mechanisms.sampling.resampling import RankResampling
from dxbeam.mechanisms.santext import SanText
from dxbeam.mechanisms.santext_plus import SanTextPlus
from dxbeam.mechanisms.tem import TEM
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.space.vocabulary.words import Vocabulary
from dxbeam.text.configuration import Configuration
from dxbeam.text.epsilon_by_field import EpsilonByField
from dxbeam.text.plain_settings import mechanism_of
from dxbeam.text.public.constant_file import read_constant
from dxbeam.text.recorded_configuration import rebuilt
from tests.support import vocabularies
from tests.support.exact_losses import true_losses

MECHANISMS = [
    SanText(1.5),
    SanText(1.5, base=FrequencyBase()),
    SanText(1.5, importance=FrequencyWeights(3.0)),
    TEM(1.5, 0.2),
    TEM(1.5, 0.2, base=FrequencyBase(0.5), importance=FrequencyWeights(3.0)),
]


def solved(plain: Any, vocabulary: Vocabulary) -> Any:
    """The same with the exact constant, through the record as it is kept."""
    record = record_of(plain, vocabulary, [solve(plain, vocabulary)])
    return dataclasses.replace(plain, constant=constant_of(json.loads(json.dumps(record))))


@pytest.mark.parametrize("plain", MECHANISMS, ids=lambda each: each.name)
def test_the_guaranteed_epsilon_is_kept_and_used_up(plain: Any) -> None:
    vocabulary = vocabularies.random_vocabulary(40, 4)
    made = solved(plain, vocabulary)
    assert 1.05 * plain.epsilon < made.constant.nominal(1.5) <= 2 * plain.epsilon
    nominal, _ = true_losses(exponents_of(made, vocabulary))
    _, half = true_losses(exponents_of(plain, vocabulary))  # h of what is guaranteed
    promised = 2 * half
    assert (nominal <= promised * (1 + 1e-12)).all()
    apart = promised > 0
    assert (nominal[apart] / promised[apart]).max() > 1 - 2e-4
    # gamma is that of the guaranteed epsilon, and rank resampling and the ledger see this one.
    assert made.distribution(vocabulary).cap == plain.distribution(vocabulary).cap
    assert made.epsilon == made.guarantee().epsilon == 1.5
    assert made.guarantee().sentence == plain.guarantee().sentence
    nominal_epsilon = f"nominal epsilon {made.constant.nominal(1.5):.12g}"
    assert any(nominal_epsilon in caveat for caveat in made.guarantee().caveats)


def test_where_the_worst_case_is_reached_nothing_is_gained() -> None:
    """Half the words far away on either side: Z changes as much as it can."""
    places = np.concatenate([np.zeros(1), np.full(200, 50.0)])
    vocabulary = vocabularies.of(np.column_stack([places, np.arange(201) * 1e-4]))
    level = solve(SanText(0.2), vocabulary)
    assert 0.2 <= level.nominal < 0.2 * 1.2


def test_every_level_is_solved(tmp_path: Path) -> None:
    vocabulary = vocabularies.random_vocabulary(30, 3)
    levels = [solve(SanText(epsilon), vocabulary) for epsilon in (1.0, 2.0)]
    path = tmp_path / "scan.json"
    path.write_text(json.dumps(record_of(SanText(1.0), vocabulary, levels)))
    constant = read_constant(str(path))
    by = EpsilonByField("consent", {"low": 1.0, "high": 2.0})  # type: ignore[arg-type]
    made = Configuration(SanText(2.0, constant=constant), RankResampling(0.1), epsilon_by=by)
    assert [each.mechanism.epsilon for each in made.every_level] == [1.0, 2.0]
    again = rebuilt(json.loads(json.dumps(made.as_dict())))
    assert again is not None
    assert again.as_dict() == made.as_dict()
    assert again.guarantee() == dataclasses.replace(made, allow_unsound=True).guarantee()
    other = EpsilonByField("consent", {"low": 1.5, "high": 2.0})  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match=r"solved for epsilon = 1, 2, and not for 1\.5"):
        Configuration(SanText(2.0, constant=constant), epsilon_by=other)


def test_a_scan_is_true_of_what_was_scanned_alone(tmp_path: Path) -> None:
    vocabulary = vocabularies.random_vocabulary(20, 3)
    made = solved(SanText(1.5), vocabulary)
    other = NeighborSearch(vocabularies.random_vocabulary(20, 3, seed=1))
    with pytest.raises(ConfigurationError, match="was of another vocabulary"):
        made.release(np.zeros(1, np.int64), np.zeros((1, made.draws(3)), np.uint64), other)
    for changed in ({"base": FrequencyBase()}, {"importance": FrequencyWeights(1.0)}):
        with pytest.raises(ConfigurationError, match="of another mechanism, or of other param"):
            dataclasses.replace(made, **changed)
    with pytest.raises(ConfigurationError, match="of another mechanism, or of other param"):
        TEM(1.5, constant=made.constant)
    with pytest.raises(ConfigurationError, match="has no constant to scan for"):
        exponents_of(Laplace(5.0), vocabulary)
    with pytest.raises(ConfigurationError, match="has no constant to scan for"):
        exponents_of(SanTextPlus(5.0), vocabulary)  # common words are released as they are
    (tmp_path / "scan.json").write_text("{}")
    with pytest.raises(ConfigurationError, match="not a record of dxbeam scan-constant"):
        read_constant(str(tmp_path / "scan.json"))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"constant": "exact"}, "needs `constant_scan`"),
        ({"constant_scan": "scan.json"}, "only of use with `constant` exact"),
        ({"constant": "best"}, "one of worst_case, exact"),
        ({"base_exponent": 0.5}, "only of use with `base`"),
        ({"constant": "exact", "constant_scan": "/none.json"}, "cannot be read"),
    ],
)
def test_without_a_scan_nothing_changes_silently(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        mechanism_of("santext", 1.5, **settings)
    assert mechanism_of("santext", 1.5) == SanText(1.5)


@pytest.mark.parametrize(
    ("mechanism", "why"),
    [("fluent", "depends on the words released before"), ("laplace", "by its probability, not")],
)
def test_a_mechanism_without_an_exact_constant_says_why(mechanism: str, why: str) -> None:
    with pytest.raises(ConfigurationError, match=why):
        mechanism_of(mechanism, 1.5, constant="exact")


def test_a_record_whose_numbers_do_not_fit_is_refused() -> None:
    vocabulary = vocabularies.random_vocabulary(20, 3)
    record = record_of(SanText(1.5), vocabulary, [solve(SanText(1.5), vocabulary)])
    record["levels"][0]["nominal_epsilon"] *= 1.01
    with pytest.raises(ConfigurationError, match="do not fit together"):
        constant_of(record)
    assert math.isfinite(record["levels"][0]["constant"])


def test_a_constant_that_no_scan_gives_is_refused() -> None:
    """Whatever a file says: c is at least 1/2, so no nominal epsilon is above twice epsilon."""
    vocabulary = vocabularies.random_vocabulary(20, 3)
    record = record_of(SanText(1.5), vocabulary, [solve(SanText(1.5), vocabulary)])
    record["levels"][0] |= {"nominal_epsilon": 150.0, "constant": 0.01}
    for nominal in (150.0, -150.0, math.nan):
        record["levels"][0]["nominal_epsilon"] = nominal
        with pytest.raises(ConfigurationError):
            constant_of(record)
        with pytest.raises(ConfigurationError, match="no scan gives"):
            ExactConstant("0", ((1.5, nominal),), {})
