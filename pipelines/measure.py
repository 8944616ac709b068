r"""Measures what settings do to words: how many stay, come close or go far, for every epsilon.

    dxbeam measure --vocabulary demo --mechanisms laplace,santext \
        --rank_cs 0.02,0.04 --output measured

writes report.html, a page to read and to hand on, and the tables behind it to measured/:
proportions.parquet (a row per mechanism, epsilon and c, with intervals), ranks.parquet,
words.parquet (single words) and geometry.parquet. No text is read and none is released: words of
the public vocabulary are tried, each as likely as any other.

    --input 'corpus/*.jsonl'      words as frequent as in these texts, instead
    --epsilons 1:70               another grid; by default each mechanism gets a separate one
    --words 5000                  how many words are tried
    --mechanisms gaussian:delta=1e-6:distance=5    parameters of a mechanism
    --mechanisms santext,tem --importance stop_words    public weights of words
    --decode prior --language_model DIR                 words after decoding
    --decode context --language_model DIR --input …     the same, in the texts where they are
    --mechanisms laplace,laplace:decode=prior           with and without, next to each other

What is measured by --input is computed from raw text: keep it with the corpus. Runs locally by
default, in several processes with --local_processes, and on any Beam runner with --runner.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import apache_beam as beam

from dxbeam import storage
from dxbeam.commands import launch
from dxbeam.commands.console import counted
from dxbeam.commands.flags.measuring import MeasureOptions
from dxbeam.commands.flags.output import OutputOptions
from dxbeam.commands.flags.registry import MEASURE
from dxbeam.commands.options import parse
from dxbeam.commands.request import check_measured

with launch.needing("measuring needs scipy, matplotlib and jinja2; install them", "report"):
    from dxbeam.analysis.measure.job import MeasureJob, corpus_of, described, read_options
    from dxbeam.analysis.measure.page import WriteReport
    from dxbeam.analysis.measure.plan import Plan, check_words
    from dxbeam.analysis.measure.sample_words import SampleWords
    from dxbeam.analysis.measure.transform import (
        MeasureShares,
        PlanMeasurement,
        RepeatWords,
        SharedSearch,
        Task,
        tasks,
        tasks_of,
    )
    from dxbeam.analysis.measure.word_sample import WordSample
    from dxbeam.analysis.pages.page import REPORT


def build(job: MeasureJob) -> beam.Pipeline:
    """Assembles the job; nothing runs yet."""
    measure = job.options.view_as(MeasureOptions)
    pipeline, corpus = launch.new_pipeline(job.options), corpus_of(job, job.question.mechanisms)
    sample, left_out = pipeline | "SampleWords" >> SampleWords(
        measure.words, job.vocabulary.words, measure.seed, corpus
    )
    search = SharedSearch(job.vocabulary, launch.backend(job.options))
    planned = sample | "PlanMeasurement" >> beam.ParDo(PlanMeasurement(job.question, search))
    noise = search, measure.seed, launch.search_threads(job.options)
    sums = planned | "Batches" >> beam.FlatMap(_once) | "MeasureShares" >> MeasureShares(*noise)
    repeated = planned | "Repeats" >> beam.FlatMap(_again) | "RepeatWords" >> RepeatWords(*noise)
    output = job.options.view_as(OutputOptions).output
    _ = planned | "WriteReport" >> WriteReport(output, job.heading, sums, repeated, left_out)
    return pipeline


def _once(planned: Plan) -> Iterator[Task]:
    for part, setting in enumerate(planned.settings):
        yield from tasks_of(part, setting, WordSample(*planned.sample))


def _again(planned: Plan) -> Iterator[Task]:
    for part, setting in enumerate(planned.settings):
        yield from tasks(part, setting, planned.repeated, planned.repeats)


@launch.naming_flags
def measure_settings(argv: Sequence[str]) -> None:
    """Checks the flags, measures, and says where the report is."""
    options = parse(argv, MEASURE, __doc__ or "")
    job = read_options(options, argv)
    check_measured(options)
    check_words(job.question, job.vocabulary)
    seconds = launch.run_unless_dry(build(job), options, lambda: described(job))
    if seconds is not None:
        print(
            f"Measured {counted(len(job.question.mechanisms), 'mechanism')} in {seconds:.0f} "
            f"seconds. Report: {storage.join(options.view_as(OutputOptions).output, REPORT)}"
        )


if __name__ == "__main__":
    launch.main(measure_settings)
