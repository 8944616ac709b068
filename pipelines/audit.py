r"""Tests mechanisms against what they claim, and says what was found.

    python -m pipelines.audit --mechanism laplace --epsilon 10
    python -m pipelines.audit --mechanism tem --epsilon 5 --parameters beta=0.01 --rank_c 0.05
    python -m pipelines.audit --mechanism all --runs 200 --samples small --report audit.json

Each run is a whole audit with new random numbers from the operating system: laws of noise and of
released words, the claimed loss, independence, repeatability, unknown words, delta (docs/audit.md).
A run raises a false alarm with probability 1e-6 at most. The exit code is 1 where something that
claims a guarantee failed. No corpus and no vocabulary of yours is read.

    --mechanism released_vectors  the reachability attack on pipelines.release_vectors
    --direct_running_mode=multi_processing --direct_num_workers=0    all cores

Any Beam runner takes the job with --runner.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import apache_beam as beam
from apache_beam import pvalue
from apache_beam.options.pipeline_options import PipelineOptions, TestOptions

from dxbeam import storage
from dxbeam.commands import launch
from dxbeam.commands.options import AuditOptions, SanitizeOptions, parse
from dxbeam.errors import ConfigurationError, OutputError
from dxbeam.mechanisms import parse_parameters
from dxbeam.mechanisms.resampling import RankResampling

try:
    from dxbeam.audit import report as audit_report
    from dxbeam.audit.report import Run, Target, Task
    from dxbeam.audit.subject import SMALL, STANDARD, Finding
except ImportError:
    sys.exit("dxbeam: the audit needs scipy; install it with: pip install 'dxbeam[analysis]'")

_LOG = logging.getLogger(__name__)
_SECONDS_A_REPORT = 10.0


def audited(options: PipelineOptions) -> list[Target]:
    """What the flags name."""
    own, shared = options.view_as(AuditOptions), options.view_as(SanitizeOptions)
    parameters = parse_parameters(shared.parameters)
    if shared.mechanism == "all" and (parameters or shared.epsilon is not None):
        raise ConfigurationError(
            "--mechanism all audits each with parameters of its own; leave --epsilon and "
            "--parameters out, or name one mechanism"
        )
    sizes = {"standard": STANDARD, "small": SMALL}
    if own.samples not in sizes:
        raise ConfigurationError(f"--samples is standard or small, not {own.samples}")
    return audit_report.targets(
        shared.mechanism,
        sizes[own.samples],
        {"epsilon": shared.epsilon, **parameters},
        RankResampling(shared.rank_c) if shared.rank_c is not None else None,
    )


def build(options: PipelineOptions, targets: list[Target], report: str) -> beam.Pipeline:
    """Assembles the job; nothing runs yet."""
    pipeline = beam.Pipeline(options=options)
    runs = (
        pipeline
        | "Tasks" >> beam.Create(audit_report.tasks(targets, options.view_as(AuditOptions).runs))
        | "Spread" >> beam.Reshuffle()
        | "Test" >> beam.ParDo(_Test(), targets)
        | "EachAudit" >> beam.GroupByKey()
        | "Judge" >> beam.Map(audit_report.outcome)
    )
    _ = (
        pipeline
        | "Once" >> beam.Create([report])
        | "WriteReport" >> beam.Map(_write, targets, pvalue.AsIter(runs))
    )
    return pipeline


class _Test(beam.DoFn):
    """Does a task; logs now and then how many this worker has done."""

    def setup(self) -> None:
        self._done, self._said = 0, time.monotonic()

    def process(self, task: Task, targets: list[Target]) -> Iterator[tuple[Any, list[Finding]]]:
        yield audit_report.findings(task, targets)
        self._done += 1
        if time.monotonic() - self._said >= _SECONDS_A_REPORT:
            self._said = time.monotonic()
            _LOG.info(
                "this worker: %d parts of audits; now %s, run %d",
                self._done,
                targets[task.target].name,
                task.run + 1,
            )


def _write(path: str, targets: list[Target], runs: Iterable[Run]) -> str:
    content = json.dumps(audit_report.report(targets, runs), indent=1, ensure_ascii=False)
    storage.create_once(path, (content + "\n").encode())
    return path


def audit(argv: Sequence[str]) -> None:
    """Checks the flags, runs, prints the table; exits with 1 where a claim failed."""
    options = parse(argv, AuditOptions, __doc__ or "")
    targets, report = audited(options), options.view_as(AuditOptions).report
    if (reason := storage.why_no_file(report)) is not None:
        raise OutputError(f"--report {report} cannot be written: {reason}")
    if storage.exists(report):
        raise OutputError(f"--report {report} is there already; choose another, or delete it")
    if options.view_as(TestOptions).dry_run:
        print("Would test " + ", ".join(target.name for target in targets) + " (--dry_run).")
        return
    launch.run(build(options, targets, report))
    made = json.loads(storage.read(report))
    print(audit_report.table(made))
    print(
        f"\nEach run may raise a false alarm with probability {made['alpha']:g}. Report: {report}"
    )
    if failed := audit_report.broken(made):
        print(f"dxbeam: not as claimed: {', '.join(failed)}", file=sys.stderr)
        sys.exit(launch.FAILURE)


if __name__ == "__main__":
    launch.main(audit)
