"""Tests of a claimed delta, by its exact value: no samples, no false alarm.

Samples cannot refute a delta of 1e-6. Where the noise's distribution is one whose exact delta is
known, its largest value over differences of vectors is set against the claim.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from dxbeam.audit import evidence
from dxbeam.audit.evidence import Floats
from dxbeam.audit.subject import Finding, Subject, words_at

_RANDOM = 200
_LENGTH = 20  # words of a bag


def audit_delta(subject: Subject, n: int) -> Iterator[Finding]:
    """The exact delta at the claimed loss, over differences of all kinds."""
    vocabulary = words_at(np.concatenate([np.eye(1, n), np.zeros((1, n))]), np.zeros(n))
    reference = subject.reference(vocabulary)
    if reference.slack is None:
        return
    largest = float(reference.slack(differences(subject, n, reference.longest)).max())
    yield from _of_bags(subject, n, largest)
    outcome = evidence.never(int(largest > reference.delta))
    yield Finding.of("delta: beyond the claim", f"n = {n}", outcome)._replace(
        statistic=largest,
        part_of_claim=subject.sound,
        says=f"largest exact delta {largest:.4g}, claimed {reference.delta:.4g}",
    )


def _of_bags(subject: Subject, n: int, slack: float) -> Iterator[Finding]:
    """The delta that is promised of a bag, where each of its words fails by itself.

    Words whose noise leaves the other's support do so independently, so some word of k does with a
    probability of 1 - (1 - delta)^k, and no bag's delta may be less.
    """
    for length in (1, _LENGTH):
        promise = subject.bag(length, frozenset()).guarantee(
            subject.configuration.mechanism.guarantee()
        )
        needed = -math.expm1(length * math.log1p(-min(slack, 1 - 1e-15)))
        less = promise.sound and promise.delta < needed * (1 - 1e-9)
        setting = f"bags of {length}, n = {n}"
        yield Finding.of("delta: of bags, less than of independent words", setting,
                         evidence.never(int(less)))._replace(
            statistic=needed, says=f"at least {needed:.4g}, promised {promise.delta:.4g}"
        )  # fmt: skip


def differences(subject: Subject, n: int, longest: float) -> Floats:
    """Axis, diagonal, one large coordinate among equal ones, random ones; float64 [k, n]."""
    kinds = [subject.normals(_RANDOM * n).reshape(_RANDOM, n)]
    if n > 1:
        one = np.linspace(0, 1, 400) ** 2
        mixed = np.repeat(np.sqrt(np.maximum(1 - one**2, 0) / (n - 1))[:, None], n, axis=1)
        mixed[:, 0] = one
        kinds.append(mixed)
    joined = np.concatenate(kinds)
    joined *= longest / np.linalg.norm(joined, axis=1, keepdims=True)
    return np.concatenate([joined, joined / 2, joined / 10])
