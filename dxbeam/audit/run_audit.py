"""An audit that can fail: statistical and exact tests of a mechanism against what it claims.

``audit`` runs a battery on a configuration as the release path runs it: through ``Sanitizer``, its
keys and its random numbers. Distributions that are declared in references/table.py are
tested exactly; the claimed privacy loss, independence of batches, of documents and texts,
repeatability and unknown words are tested for every mechanism. docs/reference/audit-parts.md says
what each test can find and what not.

The tests of one audit together raise a false alarm with probability ALPHA at most. Random numbers
come from the operating system, so each audit is a new one.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from dxbeam.audit.batteries.bag import audit_bags
from dxbeam.audit.batteries.decoded import audit_decoded
from dxbeam.audit.batteries.decoded_samples import audit_decoded_samples
from dxbeam.audit.batteries.default import (
    audit_clipping,
    audit_levels,
    audit_lists,
    audit_long_text,
    audit_usual_clusters,
)
from dxbeam.audit.batteries.delta import audit_delta
from dxbeam.audit.batteries.large_vocabulary import (
    audit_cluster,
    audit_long_vectors,
    audit_searches,
    audit_shared_vectors,
    audit_thousands,
)
from dxbeam.audit.batteries.noise import audit_noise
from dxbeam.audit.batteries.placeholders import audit_placeholders
from dxbeam.audit.batteries.promise import audit_promises
from dxbeam.audit.batteries.sequences import audit_sequences
from dxbeam.audit.batteries.text import audit_texts
from dxbeam.audit.batteries.word import audit_batches, audit_line, audit_plane, audit_twins
from dxbeam.audit.evidence import holm_shares
from dxbeam.audit.subject import Finding, Subject
from dxbeam.mechanisms import AddsNoise, ReadsReleased

ALPHA = 1e-6
"""Probability of a false alarm in one audit, at most, over all its tests."""

DIMENSIONS = (1, 2, 3, 50, 300)

_BATTERY: dict[str, tuple[Callable[[Subject, int], Iterator[Finding]], tuple[int, ...]]] = {
    "thousands": (audit_thousands, (1, 50)),
    "cluster": (audit_cluster, (3,)),
    "long_vectors": (audit_long_vectors, (2,)),
    "shared_vectors": (audit_shared_vectors, (1, 3)),
    "searches": (audit_searches, (50,)),
    "decoded_samples": (audit_decoded_samples, (1, 50)),
    "usual_clusters": (audit_usual_clusters, (3,)),
    "long_text": (audit_long_text, (1,)),
    "levels": (audit_levels, (1,)),
    "lists": (audit_lists, (1,)),
    "clipping": (audit_clipping, (3, 300)),
    "bags": (audit_bags, (1,)),
    "noise": (audit_noise, DIMENSIONS),
    "line": (audit_line, DIMENSIONS),
    "plane": (audit_plane, (2,)),
    "twins": (audit_twins, (3, 50)),
    "batches": (audit_batches, (3, 50)),
    "texts": (audit_texts, (1,)),
    "placeholders": (audit_placeholders, (1,)),
    "promises": (audit_promises, (1, 5)),
    "sequences": (audit_sequences, (1,)),
    "decoded": (audit_decoded, (1,)),
    "delta": (audit_delta, (1, 50, 300)),
}
"""The parts of an audit, and the dimensions in which each is run; what finds most comes last."""

_DECODED = {"decoded", "decoded_samples"}
"""The parts about documents that are decoded."""

_DETECTED = "placeholders"
"""The part about documents of which something is replaced."""


class Part(NamedTuple):
    """A part of an audit that can run by itself.

    Attributes:
      name: a key of the battery.
      n: dimensions.
    """

    name: str
    n: int


def parts(subject: Subject) -> list[Part]:
    """What an audit of this subject consists of, the longest parts first."""
    left_out = set()
    if not isinstance(subject.configuration.mechanism, AddsNoise):
        left_out |= {"noise"}
    if isinstance(subject.configuration.mechanism, ReadsReleased):
        left_out |= {"bags"}  # which have no order
    else:
        left_out |= {"sequences"}
    if subject.configuration.decoder is None:
        left_out |= _DECODED
    if subject.configuration.detector is None:
        left_out |= {_DETECTED}
    return [
        Part(name, n)
        for name, (_, dimensions) in _BATTERY.items()
        for n in sorted(dimensions, reverse=True)
        if name not in left_out
    ]


def run(subject: Subject, part: Part) -> list[Finding]:
    """Runs a part.

    What is drawn is tested by itself; decoded documents and those with placeholders have separate
    parts.
    """
    settings = subject.configuration
    if part.name not in _DECODED:
        settings = dataclasses.replace(settings, decoder=None)
    if part.name != _DETECTED:
        settings = dataclasses.replace(settings, detector=None)
    subject = dataclasses.replace(subject, configuration=settings)
    return list(_BATTERY[part.name][0](subject, part.n))


class Verdict(NamedTuple):
    """The outcome of an audit.

    Attributes:
      findings: all of them, the smallest p-value first.
      shares: for each the share of ALPHA that its p-value was compared with (Holm).
      failures: the findings that are not as they should be.
      epsilon_bound: largest lower bound on the loss per unit of Euclidean distance.
    """

    findings: list[Finding]
    shares: list[float]
    failures: list[Finding]
    epsilon_bound: float


def judge(findings: Iterable[Finding], alpha: float = ALPHA) -> Verdict:
    """Judges the findings of one audit together."""
    ordered = sorted(findings, key=lambda finding: (finding.p_value, finding.test, finding.setting))
    shares = holm_shares([finding.p_value for finding in ordered], alpha)
    failures = []
    for finding, share in zip(ordered, shares, strict=True):
        if finding.p_value >= share:
            break
        failures.append(finding)
    bounds = [f.epsilon_bound for f in ordered if not math.isnan(f.epsilon_bound)]
    return Verdict(
        ordered,
        shares,
        [finding for finding in failures if finding.part_of_claim],
        max(bounds, default=math.nan),
    )


def audit(subject: Subject, alpha: float = ALPHA) -> Verdict:
    """Runs the whole battery on a subject, in this process."""
    findings: list[Finding] = []
    for part in parts(subject):
        findings += run(subject, part)
    return judge(findings, alpha)
