"""Tests of a claimed delta, by its exact value: no samples, no false alarm.

Samples cannot refute a delta of 1e-6. Where the noise's distribution is one whose exact delta is
known, its largest value over differences of vectors is set against the claim.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dxbeam.audit import evidence
from dxbeam.audit.evidence import Floats
from dxbeam.audit.subject import Finding, Subject, words_at

_RANDOM = 200


def audit_delta(subject: Subject, n: int) -> Iterator[Finding]:
    """The exact delta at the claimed loss, over differences of all kinds."""
    vocabulary = words_at(np.concatenate([np.eye(1, n), np.zeros((1, n))]), np.zeros(n))
    reference = subject.reference(vocabulary)
    if reference.slack is None:
        return
    largest = float(reference.slack(differences(subject, n, reference.longest)).max())
    found = evidence.never(int(largest > reference.delta))
    yield Finding.of("delta: beyond the claim", f"n = {n}", found)._replace(
        statistic=largest,
        part_of_claim=subject.sound,
        says=f"largest exact delta {largest:.4g}, claimed {reference.delta:.4g}",
    )


def differences(subject: Subject, n: int, longest: float) -> Floats:
    """Axis, diagonal, one large coordinate among equal ones, random ones; float64 [k, n]."""
    kinds = [subject.normals(_RANDOM * n).reshape(_RANDOM, n)]
    if n > 1:
        one = np.linspace(0, 1, 400) ** 2
        mixed = np.repeat(np.sqrt(np.maximum(1 - one**2, 0) / (n - 1))[:, None], n, axis=1)
        mixed[:, 0] = one
        kinds.append(mixed)
    made = np.concatenate(kinds)
    made *= longest / np.linalg.norm(made, axis=1, keepdims=True)
    return np.concatenate([made, made / 2, made / 10])
