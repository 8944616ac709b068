"""The audit of a promise with an exact constant, and of constants that are 1 % too small."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from dxbeam.audit.batteries.bag import bag_vocabulary
from dxbeam.audit.batteries.default import audit_levels
from dxbeam.audit.batteries.promise import audit_promises
from dxbeam.audit.fitted import Fitted
from dxbeam.audit.subject import Size, Subject
from dxbeam.mechanisms.constants.exact_constant import ExactConstant, constant_of
from dxbeam.mechanisms.constants.record import record_of
from dxbeam.mechanisms.constants.solve import solve
from dxbeam.mechanisms.parameters import recorded_settings
from dxbeam.mechanisms.public.base_measure import FrequencyBase
from dxbeam.mechanisms.public.importance import FrequencyWeights
from dxbeam.mechanisms.santext import SanText
from dxbeam.mechanisms.tem import TEM
from dxbeam.text.configuration import Configuration


def _failed(made: Any, n: int = 2) -> list[str]:
    found = audit_promises(Subject(Configuration(made)), n)
    return [finding.setting for finding in found if finding.p_value < 1e-6]


@pytest.mark.parametrize(
    "plain",
    [
        SanText(2.0),
        SanText(2.0, base=FrequencyBase()),
        SanText(2.0, importance=FrequencyWeights(2.0)),
        TEM(2.0, 0.1),
    ],
    ids=["santext", "base", "importance", "tem"],
)
def test_the_audit_finds_a_constant_that_is_one_percent_too_small(plain: Any) -> None:
    vocabulary = bag_vocabulary(Subject(Configuration(plain)), 2)
    level = solve(plain, vocabulary)
    right = constant_of(record_of(plain, vocabulary, [level]))
    assert right.nominal(2.0) > 2.02
    assert not _failed(dataclasses.replace(plain, constant=right))
    wrong = ExactConstant(
        right.vocabulary, ((2.0, 1.01 * level.nominal),), recorded_settings(plain), right.scan
    )
    failed = _failed(dataclasses.replace(plain, constant=wrong))
    assert any("ordered text" in setting for setting in failed)


def test_a_base_measure_passes() -> None:
    assert not _failed(SanText(2.0, base=FrequencyBase(0.5)))


@pytest.mark.parametrize("made", [SanText(2.0, base=FrequencyBase()), TEM(2.0, 0.1)])
def test_a_subject_solves_the_constant_of_each_vocabulary(made: Any) -> None:
    """What is drawn is what is expected of it, at both of two levels."""
    subject = Subject(Configuration(made), Size(outputs=500), fitted=Fitted(exact=True))
    vocabulary = bag_vocabulary(subject, 2)
    drawn = subject.over(vocabulary).mechanism
    assert drawn.constant.nominal(2.0) > 2.02  # type: ignore[attr-defined]
    assert subject.sanitizer(vocabulary).configuration.mechanism == drawn
    found = [*audit_promises(subject, 2), *audit_levels(subject, 1)]
    assert len(found) > 20
    assert min(finding.p_value for finding in found) > 1e-6
