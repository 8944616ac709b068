"""Documents with placeholders: a correct release passes, and each mistake is found.

False alarms as in tests/audit/test_run_audit.py: 1e-6 an audit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from dxbeam.audit.references.table import REFERENCES
from dxbeam.audit.run_audit import Part, judge, parts, run
from dxbeam.audit.subject import SMALL, Finding, Subject
from dxbeam.mechanisms import make_mechanism
from dxbeam.text.configuration import Configuration
from dxbeam.text.detection import detector
from dxbeam.text.detection.detector import Detector
from dxbeam.text.sanitizer import Sanitizer
from pipelines.audit import audit
from tests.support import broken_detection, fake_recognizers

PLACEHOLDERS = Part("placeholders", 1)


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[Detector]:
    yield fake_recognizers.install(monkeypatch)
    detector._open.cache_clear()


def _failures(
    detector: Detector, name: str = "laplace", make: Callable[..., Sanitizer] = Sanitizer
) -> list[Finding]:
    mechanism = make_mechanism(name, **REFERENCES[name].parameters)
    settings = Configuration(mechanism, detector=detector, allow_unsound=True)
    subject = Subject(settings, SMALL, make=make)
    assert PLACEHOLDERS in parts(subject)
    findings = run(subject, PLACEHOLDERS)
    assert findings
    return judge(findings).failures


@pytest.mark.parametrize("name", ["laplace", "santext", "fluent"])
def test_correct_releases_pass(fake: Detector, name: str) -> None:
    assert _failures(fake, name) == []


@pytest.mark.exhaustive
def test_correct_releases_pass_with_presidio() -> None:
    pytest.importorskip("presidio_analyzer")
    found = detector.detector_of("presidio")
    assert found is not None
    assert _failures(found) == []


@pytest.mark.parametrize("name", broken_detection.SANITIZERS)
def test_mistakes_are_found(fake: Detector, name: str) -> None:
    assert _failures(fake, make=broken_detection.SANITIZERS[name])


def test_a_claim_must_say_where_it_ends(fake: Detector, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Detector, "caveats", ())
    [failure] = _failures(fake)
    assert failure.test == "placeholders: a claim that leaves their places out"


def test_a_detector_that_recognises_nothing_is_found(
    fake: Detector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fake_recognizers, "PATTERNS", {})
    [failure] = _failures(fake)
    assert failure.test == "placeholders: nothing is recognised"


def test_other_parts_are_about_words() -> None:
    """Without a detector there is no such part, and the others are run without one."""
    mechanism: Any = make_mechanism("laplace", epsilon=5.0)
    assert PLACEHOLDERS not in parts(Subject(Configuration(mechanism), SMALL))


def test_the_command_takes_it(fake: Detector, capsys: pytest.CaptureFixture[str]) -> None:
    audit(["--mechanism=laplace", "--detect=presidio", "--dry_run"])
    assert "Would test laplace" in capsys.readouterr().out
