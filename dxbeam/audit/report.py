"""What an audit says: a value for JSON, and a table for a person."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from dxbeam.audit.batteries.vector import NAME as VECTORS
from dxbeam.audit.batteries.vector import audit_projections, audit_vectors
from dxbeam.audit.fitted import Fitted
from dxbeam.audit.references.table import REFERENCES, UNLISTED
from dxbeam.audit.run_audit import ALPHA, DIMENSIONS, Part, judge, parts, run
from dxbeam.audit.subject import Finding, Size, Subject
from dxbeam.errors import ConfigurationError
from dxbeam.mechanisms import MECHANISMS, ReadsReleased, check_public, make_mechanism
from dxbeam.mechanisms.laplace import Laplace
from dxbeam.mechanisms.public.base_measure import FrequencyBase
from dxbeam.mechanisms.public.importance import FrequencyWeights
from dxbeam.mechanisms.public.weighed_choice import WeighedChoice
from dxbeam.mechanisms.sampling.resampling import RankResampling
from dxbeam.release.manifest import versions
from dxbeam.text.configuration import Configuration
from dxbeam.text.decoding.decoder import Decoder
from dxbeam.text.detection.detector import Detector

FORMAT, VERSION = "dxbeam-audit", 1

_VECTOR_DIMENSIONS = 300
_FLOATS_TELL_AT = 20.0  # epsilon at which a released float64 vector leaves one word


class Target(NamedTuple):
    """What is audited: a name, and for a mechanism its settings.

    Attributes:
      name: of a mechanism, or ``released_vectors``.
      subject: the configuration, sizes and random numbers.
    """

    name: str
    subject: Subject


class Task(NamedTuple):
    """A part of an audit of a target, in a run; ``part`` is None for released vectors."""

    target: int
    run: int
    part: Part | None


class Public(NamedTuple):
    """What a mechanism gets to know of words that the audit makes up, and what replaces others.

    Attributes:
      importance: public weights; lists of words are of no use.
      base: a public base measure that every vocabulary has.
      fitted: what is made anew for each vocabulary.
      detector: what puts placeholders in the places of what it recognises, or None.
    """

    importance: FrequencyWeights | None = None
    base: FrequencyBase | None = None
    fitted: Fitted = Fitted()
    detector: Detector | None = None


def targets(
    name: str,
    size: Size,
    parameters: Mapping[str, float | str | None],
    resampling: RankResampling | None = None,
    public: Public | None = None,
    decoder: Decoder | None = None,
) -> list[Target]:
    """What ``--mechanism`` names: one mechanism, released_vectors, or all of these.

    Args:
      name: as above.
      size: of the samples.
      parameters: the mechanism's; where there are none, those of its entry in REFERENCES.
      resampling: rank resampling of what it releases.
      public: what one mechanism that takes it gets to know of words.
      decoder: reads what is drawn for documents; its model is of no use, as the audit makes up one.

    Raises:
      ConfigurationError: no such mechanism, parameters out of range, weights, a base measure, a
        language model or an exact constant for a mechanism that takes none, or a decoder for what
        cannot be decoded, or for what has an exact constant.
    """
    public = public or Public()
    if name == "all":
        each = [*MECHANISMS, VECTORS]
        return [target for one in each for target in targets(one, size, {}, resampling)]
    chosen = {key: value for key, value in parameters.items() if value is not None}
    if name == VECTORS:
        of_words = {
            "importance": public.importance,
            "base": public.base or public.fitted.base,
            "language_model": public.fitted.model,
            "constant": public.fitted.exact,
            "decode": decoder,
            "detect": public.detector,
        }
        for flag in (flag for flag, value in of_words.items() if value):
            raise ConfigurationError(
                f"`{flag}` is for mechanisms that replace words, and {VECTORS} replaces none; "
                "leave it out"
            )
        epsilon = float(chosen.get("epsilon") or _FLOATS_TELL_AT)
        return [Target(name, Subject(Configuration(Laplace(epsilon)), size))]
    entry = REFERENCES.get(name, UNLISTED)
    mechanism = make_mechanism(
        name, importance=public.importance, base=public.base, **(chosen or entry.parameters)
    )
    _check_fitted(mechanism, public.fitted, decoder)
    for n in DIMENSIONS:
        mechanism.draws(n)  # refuses what is undefined in this many
    settings = Configuration(
        mechanism, resampling, decoder=decoder, detector=public.detector, allow_unsound=True
    )
    return [Target(name, Subject(settings, size, fitted=public.fitted))]


def _check_fitted(mechanism: Any, fitted: Fitted, decoder: Decoder | None) -> None:
    """Refuses what is made for each vocabulary where the mechanism does not take it."""
    if fitted.base is not None:
        check_public(mechanism.name, "base")
    if fitted.model is not None and not isinstance(mechanism, ReadsReleased):
        raise ConfigurationError(
            f"`language_model` is audited with `mechanism` fluent, not with {mechanism.name}; "
            "leave it out"
        )
    if not fitted.exact:
        return
    if decoder:
        raise ConfigurationError(
            "`constant` exact is audited without `decode`, which changes nothing that is drawn; "
            "leave one of them out"
        )
    if not isinstance(mechanism, WeighedChoice):
        raise ConfigurationError(
            f"`constant` exact goes with `mechanism` santext or tem, not with {mechanism.name}; "
            "leave it out"
        )


def tasks(audited: Sequence[Target], runs: int) -> list[Task]:
    """All there is to do."""
    return [
        Task(i, number, part)
        for number in range(runs)
        for i, target in enumerate(audited)
        for part in ([None] if target.name == VECTORS else parts(target.subject))
    ]


def findings(task: Task, audited: Sequence[Target]) -> tuple[tuple[int, int], list[Finding]]:
    """Does a task: -> (target, run), what was found."""
    subject = audited[task.target].subject
    if task.part is None:
        epsilon = subject.configuration.mechanism.epsilon
        results = [*audit_vectors(subject, _VECTOR_DIMENSIONS, epsilon)]
        return task[:2], [*results, *audit_projections(subject, epsilon)]
    return task[:2], run(subject, task.part)


class AuditRun(NamedTuple):
    """The outcome of one audit.

    Attributes:
      target: index of what was audited.
      run: number of the run.
      tests: how many.
      smallest: the finding with the smallest p-value.
      epsilon_bound: lower bound on the loss per unit of Euclidean distance, NaN without one.
      failures: what is not as it should be.
      findings: all of them, for the first run; later ones would fill the report.
    """

    target: int
    run: int
    tests: int
    smallest: Finding
    epsilon_bound: float
    failures: list[Finding]
    findings: list[Finding]


def outcome(numbered: tuple[tuple[int, int], Iterable[list[Finding]]]) -> AuditRun:
    """Judges all findings of one audit."""
    (target, number), lists = numbered
    verdict = judge([finding for some in lists for finding in some])
    return AuditRun(
        target,
        number,
        len(verdict.findings),
        verdict.findings[0],
        verdict.epsilon_bound,
        verdict.failures,
        [] if number else verdict.findings,
    )


def report(audited: Sequence[Target], runs: Iterable[AuditRun]) -> dict[str, Any]:
    """The report, ready for JSON."""
    ordered = sorted(runs)
    return {
        "format": FORMAT,
        "version": VERSION,
        "alpha": ALPHA,
        "meaning": (
            "Each run raises a false alarm with probability alpha at most. epsilon_bound is a "
            "lower bound on the privacy loss per unit of Euclidean distance, the largest of the "
            "runs; where euclidean_epsilon is null, per unit of the guarantee's own distance."
        ),
        "audits": [
            _entry(target, [run for run in ordered if run.target == i])
            for i, target in enumerate(audited)
        ],
        "versions": versions(),
    }


def _entry(target: Target, runs: list[AuditRun]) -> dict[str, Any]:
    settings = target.subject.configuration
    promise = settings.mechanism.guarantee()
    bounds = [run.epsilon_bound for run in runs if math.isfinite(run.epsilon_bound)]
    smallest = min((run.smallest for run in runs), key=lambda finding: finding.p_value)
    return {
        "name": target.name,
        "configuration": {"epsilon": settings.mechanism.epsilon}
        if target.name == VECTORS
        else {
            **settings.as_dict(),
            **target.subject.fitted.as_dict(),
            "guarantee": promise.sentence,
        },
        "claims": target.name == VECTORS or promise.sound,
        "euclidean_epsilon": promise.euclidean_epsilon,
        "epsilon": promise.epsilon if promise.sound else None,
        "samples": target.subject.size._asdict(),
        "runs": len(runs),
        "passed": sum(not run.failures for run in runs),
        "tests": runs[0].tests,
        "smallest_p": smallest.p_value,
        "smallest_p_of": f"{smallest.test} ({smallest.setting})",
        "epsilon_bound": max(bounds, default=None),
        "failures": [_finding(f, run.run) for run in runs for f in run.failures],
        "findings": [_finding(f, 0) for f in runs[0].findings],
    }


def _finding(finding: Finding, number: int) -> dict[str, Any]:
    values = {
        name: value if not isinstance(value, float) or math.isfinite(value) else None
        for name, value in finding._asdict().items()
    }
    return {"run": number, **values}


def broken(report: Mapping[str, Any]) -> list[str]:
    """The names of those that claim something and failed."""
    return [a["name"] for a in report["audits"] if a["claims"] and a["passed"] < a["runs"]]


def table(report: Mapping[str, Any]) -> str:
    """The report as a person reads it, in Markdown."""
    lines = [
        "| audited | claim: ε per unit of distance | tests | runs passed | smallest p of all runs "
        "| lower bound on ε found |",
        "|---|---|---|---|---|---|",
    ]
    for entry in report["audits"]:
        epsilon, bound = entry["euclidean_epsilon"] or entry["epsilon"], entry["epsilon_bound"]
        cells = [
            entry["name"],
            f"{epsilon:.4g}" if entry["claims"] else "none",
            f"{entry['tests']}",
            f"{entry['passed']} of {entry['runs']}",
            f"{entry['smallest_p']:.2g}",
            "" if bound is None else f"{bound:.2f}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
        lines += [
            f"\n  {entry['name']}, run {failed['run']}: {failed['test']} ({failed['setting']}): "
            f"p = {failed['p_value']:.2g} {failed['says']}"
            for failed in entry["failures"][:5]
        ]
    return "\n".join(lines)
