"""The audit of decoded documents: decoders pass, and those that peek do not."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import pytest

from dxbeam.audit.batteries.decoded import audit_decoded
from dxbeam.audit.batteries.decoded_samples import audit_decoded_samples
from dxbeam.audit.references.table import REFERENCES
from dxbeam.audit.run_audit import judge
from dxbeam.audit.subject import SMALL, Size, Subject
from dxbeam.mechanisms import make_mechanism
from dxbeam.mechanisms.sampling.resampling import RankResampling
from dxbeam.text.configuration import Configuration
from dxbeam.text.decoding.decoder import Decoder
from dxbeam.text.decoding.reader import why_not_decoded
from tests.support import broken_decoders

CHOICES = ("santext", "tem", "custext", "cluster_response", "diffractor", "diffractor_tem")
NOISES = ("laplace", "mahalanobis", "gaussian", "coordinate_laplace", "trlaplace")
DECODERS = (("prior", "word"), ("prior", "distance"), ("context", "word"), ("context", "distance"))
SIZE = Size(outputs=6_000)

PARAMETERS: dict[str, dict[str, Any]] = {"santext": {"epsilon": 3.0}, "laplace": {"epsilon": 2.0}}


def _subject(name: str, kind: str = "context", loss: str = "word", **further: Any) -> Subject:
    mechanism = make_mechanism(name, **PARAMETERS.get(name, REFERENCES[name].parameters))
    if reason := why_not_decoded(mechanism):
        pytest.skip(reason)
    return Subject(Configuration(mechanism, decoder=Decoder(kind, loss)), SIZE, **further)


@pytest.mark.parametrize(
    ("name", "decoder"),
    [
        *(("santext", DECODERS[i]) for i in (0, 3)),  # each kind with each loss, and each
        *(("laplace", DECODERS[i]) for i in (1, 2)),  # mechanism with each kind and each loss
        *itertools.product((*CHOICES[1:], *NOISES[1:]), DECODERS[2:3]),
    ],
)
def test_the_whole_output_keeps_the_claim(name: str, decoder: tuple[str, str]) -> None:
    found = list(audit_decoded(_subject(name, *decoder), 1))
    assert len(found) >= 6, "every corpus gets its output"
    assert any("corpora of 4 words" in each.setting for each in found)
    assert judge(found).failures == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["santext", "laplace"])
def test_with_rank_resampling_too(name: str) -> None:
    mechanism = make_mechanism(name, epsilon=2.0)
    settings = Configuration(mechanism, RankResampling(0.2), decoder=Decoder())
    assert judge(audit_decoded(Subject(settings, SIZE), 1)).failures == []
    assert judge(audit_decoded_samples(Subject(settings, SIZE), 3)).failures == []


@pytest.mark.parametrize("mistake", sorted(broken_decoders.SANITIZERS))
@pytest.mark.parametrize("name", ["santext", "laplace"])
def test_decoders_that_peek_are_found_by_enumeration(name: str, mistake: str) -> None:
    subject = _subject(name, make=broken_decoders.SANITIZERS[mistake])
    assert any(judge([found]).failures for found in audit_decoded(subject, 1))


@pytest.mark.slow
@pytest.mark.parametrize("mistake", sorted(broken_decoders.SANITIZERS))
def test_decoders_that_peek_are_found_by_samples(mistake: str) -> None:
    subject = _subject("laplace", make=broken_decoders.SANITIZERS[mistake])
    few = dataclasses.replace(subject, size=SMALL)
    assert any(judge(audit_decoded_samples(each, 3)).failures for each in (few, subject))


@pytest.mark.parametrize(("name", "n"), [("santext", 50), ("laplace", 1), ("laplace", 50)])
@pytest.mark.slow
def test_samples_of_decoders_pass(name: str, n: int) -> None:
    assert judge(audit_decoded_samples(_subject(name), n)).failures == []
