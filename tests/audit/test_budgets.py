"""The audit of budgets of words: weights in the metric pass, budgets under a plain claim do not.

False-alarm rate 1e-6 an audit, as in test_run_audit.py.
"""

from __future__ import annotations

import pytest

from dxbeam.audit.run_audit import audit
from dxbeam.audit.subject import SMALL, Subject
from dxbeam.mechanisms import Mechanism
from dxbeam.mechanisms.public.importance import FrequencyWeights
from dxbeam.mechanisms.santext import SanText
from dxbeam.mechanisms.tem import TEM
from dxbeam.text.configuration import Configuration
from tests.support import broken_budgets
from tests.support.audits import failures


@pytest.mark.slow
@pytest.mark.parametrize(
    "made",
    [
        SanText(10.0, importance=FrequencyWeights(4.0)),
        TEM(10.0, 0.2, importance=FrequencyWeights(4.0)),
    ],
)
def test_weights_in_the_metric_pass(made: Mechanism) -> None:
    verdict = audit(Subject(Configuration(made), SMALL))
    assert verdict.failures == []
    assert len(verdict.findings) >= 60


@pytest.mark.parametrize("largest", [10.0, 100.0])
def test_weights_that_tell_words_at_one_place_apart_raise_no_alarm(largest: float) -> None:
    """A known word and the unknown one at its place, which is released without a weight."""
    made = SanText(10.0, importance=FrequencyWeights(largest))
    assert not failures(Subject(Configuration(made), SMALL), {"twins", "texts"})


@pytest.mark.parametrize("name", sorted(broken_budgets.MECHANISMS))
def test_other_budgets_under_the_same_claim_are_found(name: str) -> None:
    assert failures(Subject(Configuration(broken_budgets.MECHANISMS[name]), SMALL), {"line"})


@pytest.mark.parametrize("name", sorted(broken_budgets.PROMISES))
def test_promises_without_the_price_are_found(name: str) -> None:
    assert failures(Subject(Configuration(broken_budgets.PROMISES[name]), SMALL), {"promises"})
