r"""Tests mechanisms against what they claim, and says what was found.

    dxbeam audit --mechanism laplace --epsilon 10
    dxbeam audit --mechanism tem --epsilon 5 --parameters beta=0.01 --rank_c 0.05
    dxbeam audit --mechanism all --runs 200 --samples small --report audit.json

Each run is a whole audit with new random numbers from the operating system. It tests the
distributions of noise and of released words, the claimed privacy loss, independence, repeatability,
unknown words and delta (docs/reference/audit.md). A run raises a false alarm with probability 1e-6
at most.
The exit code is 1 where a mechanism that claims a guarantee failed. Neither a corpus nor a
vocabulary of yours is read.

    --mechanism released_vectors  the reachability attack on dxbeam release-vectors
    --importance frequency        with santext or tem, under public weights of words
    --base frequency              with santext or tem, under a public base measure; with optimal,
                                  the one that loses least in each vocabulary; or a file's numbers
    --language_model demo         with fluent, a model cut to the words that the audit makes up
    --constant exact              with santext or tem, each vocabulary scanned for its own constant
    --decode context              documents decoded with a language model that the audit makes up
    --detect presidio             documents with e-mail addresses and the like in them
    --local_processes 4           four processes on this machine

Any Beam runner takes the job with --runner.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import apache_beam as beam
from apache_beam import pvalue
from apache_beam.options.pipeline_options import PipelineOptions, TestOptions

from dxbeam import storage
from dxbeam.commands import launch
from dxbeam.commands.flags.evaluating import AuditOptions
from dxbeam.commands.flags.registry import AUDIT, SanitizeOptions
from dxbeam.commands.jobs.audit import report_place, write_report
from dxbeam.commands.options import parse
from dxbeam.errors import ConfigurationError
from dxbeam.language.artifact import language_model_handle
from dxbeam.mechanisms import parse_parameters
from dxbeam.mechanisms.sampling.resampling import RankResampling
from dxbeam.text.decoding.decoder import decoder_of
from dxbeam.transforms.expected import Expected
from dxbeam.transforms.progress import Progress

with launch.needing("the audit needs scipy; install it", "analysis"):
    from dxbeam.audit import report as audit_report
    from dxbeam.audit.public_settings import audited_public, sizes_of
    from dxbeam.audit.report import AuditRun, Public, Target, Task
    from dxbeam.audit.subject import Finding

PARTS = "parts"
"""What progress is counted in."""


def chosen_targets(options: PipelineOptions) -> list[Target]:
    """The mechanisms, with their parameters, that the flags ask to audit."""
    shared = options.view_as(SanitizeOptions)
    parameters = parse_parameters(shared.parameters)
    decoder = decoder_of(shared.decode, shared.decode_loss)  # the audit makes up its models
    model = shared.language_model
    public = audited_public(
        shared.importance,
        shared.base,
        shared.base_exponent,
        shared.constant,
        language_model_handle(model) if model else None,
        shared.detect,
    )
    any_setting = parameters or shared.epsilon is not None or decoder or public != Public()
    if shared.mechanism == "all" and any_setting:
        raise ConfigurationError(
            "--mechanism all audits each mechanism with separate parameters; leave --epsilon, "
            "--parameters, --importance, --base, --language_model, --constant, --decode and "
            "--detect out, or name one mechanism"
        )
    if "importance" in parameters:
        raise ConfigurationError("--parameters: importance has a separate flag, --importance")
    return audit_report.targets(
        shared.mechanism,
        sizes_of(options.view_as(AuditOptions).samples),
        {"epsilon": shared.epsilon, **parameters},
        RankResampling(shared.rank_c) if shared.rank_c is not None else None,
        public,
        decoder,
    )


def build(options: PipelineOptions, targets: list[Target], report: str) -> beam.Pipeline:
    """Assembles the job; nothing runs yet."""
    pipeline = launch.new_pipeline(options)
    runs = (
        pipeline
        | "Tasks" >> beam.Create(audit_report.tasks(targets, options.view_as(AuditOptions).runs))
        | "Expected" >> Expected(PARTS)
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
    """Does one part of an audit."""

    def setup(self) -> None:
        self._progress = Progress()

    def process(self, task: Task, targets: list[Target]) -> Iterator[tuple[Any, list[Finding]]]:
        with self._progress.counted(PARTS):
            yield audit_report.findings(task, targets)


def _write(path: str, targets: list[Target], runs: Iterable[AuditRun]) -> str:
    return write_report(path, audit_report.report(targets, runs))


def audit(argv: Sequence[str]) -> None:
    """Checks the flags, runs, prints the verdicts; exits with 1 where a claim failed."""
    options = parse(argv, AUDIT, __doc__ or "")
    targets = chosen_targets(options)
    report = report_place(options.view_as(AuditOptions).report)
    if options.view_as(TestOptions).dry_run:
        names = ", ".join(target.name for target in targets)
        print(f"Would test {names}, and write {report} (--dry_run).")
        return
    launch.run(build(options, targets, report))
    content = json.loads(storage.read(report))
    print(audit_report.table(content))
    alpha = f"{content['alpha']:g}"
    print(f"\nEach run may raise a false alarm with probability {alpha}. Report: {report}")
    if failed := audit_report.broken(content):
        print(f"dxbeam: not as claimed: {', '.join(failed)}", file=sys.stderr)
        sys.exit(launch.FAILURE)


if __name__ == "__main__":
    launch.main(audit)
