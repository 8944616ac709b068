r"""Measures what settings leave of words against what attackers get of them: the frontier.

    dxbeam frontier --vocabulary demo --mechanisms all --rank_cs 0.04 --output frontier

writes report.html, a page with the picture and with the settings that leave most where at most a
given share of words is recovered, and frontier.parquet, a row per point with intervals, to
frontier/. Words of the public vocabulary are tried, each as likely as any other. Without --runner
it runs on this machine; --dry_run says how many points there are and roughly how long they take.

    --mechanisms all              every one that needs no consent; others can be named
    --input 'corpus/*.jsonl'      words as frequent as in these texts, instead
    --task label                  documents of --input, too: how well this field is learnt from
                                  released ones, and Word Mover's Distance to them
    --public_input 'news/*.jsonl' attackers know how frequent words are from these public texts
    --context_documents 30        and which words follow which, and read documents of --input
    --attackers learned           and train a network on public text that they release themselves
    --attacker_model DIR          and bring a language model, in a directory of transformers
    --attacker_endpoint URL       and ask a language model there, which is sent released text
    --language_model DIR          fluent and laplace:decode=context among --mechanisms read with it
    --importance stop_words       with santext and tem, under public weights of words
    --most_risk 0.2               the share of words that may be recovered
    --points 7                    this many values of epsilon for each mechanism
    --epsilons 5:20:1             another grid, the same for all

What is measured by --input is computed from raw text: keep it with the corpus. Who the attackers
are and what they know: docs/guides/attackers.md.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import apache_beam as beam
from apache_beam import pvalue

from dxbeam import storage
from dxbeam.commands import launch
from dxbeam.commands.console import counted
from dxbeam.commands.flags.evaluating import EvaluateOptions
from dxbeam.commands.flags.measuring import MeasureOptions
from dxbeam.commands.flags.output import OutputOptions
from dxbeam.commands.flags.registry import FRONTIER, AttackedOptions, SanitizeOptions
from dxbeam.commands.options import parse
from dxbeam.commands.request import read_corpus
from dxbeam.transforms.reading.labelled_documents import KnownRuns

try:
    from dxbeam.analysis.frontier.following import Context, LearnFollowing
    from dxbeam.analysis.frontier.job import (
        FrontierJob,
        check,
        classifiers,
        cost_of_attackers,
        described,
        documents_of,
        most_points,
        read_options,
        words_of,
    )
    from dxbeam.analysis.frontier.page import LEFT_OUT_BECAUSE, PAGE, WriteFrontier
    from dxbeam.analysis.frontier.plan import PlanFrontier
    from dxbeam.analysis.frontier.transform import MeasureFrontier
    from dxbeam.analysis.measure.sample_words import SampleWords
    from dxbeam.analysis.measure.transform import SharedSearch
    from dxbeam.release.plan import duration
except ImportError:
    sys.exit(
        "dxbeam: the frontier needs scipy, matplotlib and jinja2; install them with: "
        "pip install 'dxbeam[report]'"
    )


def build(job: FrontierJob) -> beam.Pipeline:
    """Assembles the job; nothing runs yet."""
    attacked, shared = job.options.view_as(AttackedOptions), job.options.view_as(SanitizeOptions)
    task = job.options.view_as(EvaluateOptions).task
    seed = job.options.view_as(MeasureOptions).seed
    pipeline = launch.new_pipeline(job.options)
    measure_documents: Any = classifiers() if task else None
    search = SharedSearch(job.vocabulary, launch.backend(job.options))
    counting = words_of(job, shared.input) if shared.input else None
    sample, left_out = pipeline | "SampleWords" >> SampleWords(
        attacked.attacked_words, job.vocabulary.words, seed, counting
    )
    public = None
    if attacked.public_input:
        public = (pipeline | "CountPublicWords" >> words_of(job, attacked.public_input)).counts
    documents = baseline = utility = None
    if task:
        documents = pipeline | "LabelledDocuments" >> documents_of(
            job, attacked.task_documents, task
        )
        baseline = documents | "MeasureBaseline" >> beam.Map(
            measure_documents.task_baseline, task, job.vocabulary.words
        )
        # A task that cannot be learnt is refused before anything is measured.
        sample = sample | "TaskFirst" >> beam.Map(lambda it, _: it, pvalue.AsSingleton(baseline))
    tasks = sample | "PlanFrontier" >> beam.ParDo(
        PlanFrontier(job.question, attacked.points, search)
    )
    points = tasks | "MeasureFrontier" >> MeasureFrontier(
        public, search, seed, attacked.pairs, _context(job, pipeline)
    )
    if task:
        utility = tasks | "MeasureDocuments" >> measure_documents.MeasureDocuments(
            documents, search, seed
        )
    output = job.options.view_as(OutputOptions).output
    _ = points | "WriteFrontier" >> WriteFrontier(output, job.asked, left_out, utility, baseline)
    return pipeline


def _context(job: FrontierJob, pipeline: beam.Pipeline) -> Context | None:
    """Documents that are read with context, and what follows what in public text."""
    attacked, shared = job.options.view_as(AttackedOptions), job.options.view_as(SanitizeOptions)
    if not attacked.context_documents:
        return None
    texts = pipeline | "PublicTexts" >> KnownRuns(
        read_corpus(shared, attacked.public_input), job.vocabulary
    )
    following = texts | "LearnFollowing" >> LearnFollowing(job.vocabulary.words)
    documents = pipeline | "ContextDocuments" >> documents_of(job, attacked.context_documents)
    attackers = job.attackers.divided(most_points(job))
    return Context(documents, following, texts if attackers.any else None, attackers)


@launch.naming_flags
def measure_frontier(argv: Sequence[str]) -> None:
    """Checks the flags, measures, and says where the page is."""
    options = parse(argv, FRONTIER, __doc__ or "")
    job, output = read_options(options, argv), options.view_as(OutputOptions).output
    check(job)
    pipeline = build(job)
    if job.asked.left_out:
        print(f"Left out: {', '.join(job.asked.left_out)}. {LEFT_OUT_BECAUSE}")
    cost = cost_of_attackers(job)
    seconds = launch.run_unless_dry(pipeline, options, lambda: described(job), cost)
    if seconds is not None:
        print(
            f"Attacked {counted(len(job.question.mechanisms), 'mechanism')} in "
            f"{duration(seconds)}. Report: {storage.join(output, PAGE)}"
        )


if __name__ == "__main__":
    launch.main(measure_frontier)
