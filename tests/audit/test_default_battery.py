"""What users get by default: correct mechanisms pass, mistakes that only show there are found.

False alarms as in tests/audit/test_run_audit.py: 1e-6 an audit.
"""

from __future__ import annotations

import pytest

from dxbeam.audit.batteries import default as default_battery
from dxbeam.audit.references.table import REFERENCES
from dxbeam.audit.run_audit import parts, run
from dxbeam.audit.subject import SMALL, Subject
from dxbeam.mechanisms import MECHANISMS, make_mechanism
from dxbeam.mechanisms.laplace import Laplace
from dxbeam.mechanisms.santext import SanText
from dxbeam.text.configuration import Configuration
from tests.support import broken_defaults as broken
from tests.support.audits import MIDDLE, failures, finds

PARTS = {"usual_clusters", "long_text", "levels", "lists", "clipping", "delta"}


@pytest.mark.parametrize("name", sorted(MECHANISMS))
def test_correct_mechanisms_pass(name: str) -> None:
    mechanism = make_mechanism(name, **REFERENCES[name].parameters)
    assert failures(Subject(Configuration(mechanism, allow_unsound=True), SMALL), PARTS) == []


def test_what_each_part_looks_at() -> None:
    """A part says nothing of mechanisms that have no such thing, and something of the others."""
    found = {
        name: {
            part.name
            for part in parts(subject)
            if part.name in PARTS and run(subject, part)
        }
        for name in ("laplace", "santext", "cluster_response", "trlaplace")
        for subject in [Subject(Configuration(make_mechanism(name, **REFERENCES[name].parameters)),
                                SMALL)]
    }  # fmt: skip
    every = {"long_text", "levels"}
    assert found == {
        "laplace": every,
        "santext": every | {"lists"},
        "cluster_response": every | {"usual_clusters"},
        "trlaplace": every | {"clipping", "delta"},
    }


@pytest.mark.parametrize("name", sorted(broken.SANITIZERS))
def test_mistakes_of_sanitizers_are_found(name: str) -> None:
    make, part = broken.SANITIZERS[name]
    assert finds(Subject(Configuration(Laplace(10.0)), MIDDLE, make=make), {part})


@pytest.mark.parametrize("name", sorted(broken.MECHANISMS))
def test_mistakes_of_mechanisms_are_found(name: str) -> None:
    mechanism, part = broken.MECHANISMS[name]
    assert finds(Subject(Configuration(mechanism), MIDDLE), {part})


def test_lists_that_are_not_named_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(default_battery, "WordWeights", broken.UnnamedWeights)
    assert finds(Subject(Configuration(SanText(10.0)), MIDDLE), {"lists"})


@pytest.mark.parametrize("delta", [1e-6, 0.01])
def test_a_bag_with_the_delta_of_a_word_is_found(delta: float) -> None:
    mechanism = make_mechanism("trlaplace", epsilon=10.0, delta=delta)
    assert failures(Subject(Configuration(mechanism), SMALL), {"delta"}) == []
    subject = Subject(Configuration(mechanism), SMALL, bag=broken.DeltaOfOneWord)
    [found] = {finding.test for finding in failures(subject, {"delta"})}
    assert found == "delta: of bags, less than of independent words"
