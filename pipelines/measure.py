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

import sys
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions, TestOptions

from dxbeam import storage
from dxbeam.commands import launch
from dxbeam.commands.flags.measuring import MeasureOptions
from dxbeam.commands.flags.output import OutputOptions
from dxbeam.commands.flags.registry import MEASURE, SanitizeOptions
from dxbeam.commands.options import parse, require
from dxbeam.commands.request import check_measured, read_corpus
from dxbeam.mechanisms import MECHANISMS
from dxbeam.release import claim
from dxbeam.space.artifact import artifact
from dxbeam.space.artifact.artifact import VocabularyHandle
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.text.public.importance_file import read_importance
from dxbeam.transforms.reading.count_words import CountWords
from dxbeam.transforms.reading.draw_texts import DrawTexts

try:
    from dxbeam.analysis.measure import grids
    from dxbeam.analysis.measure import plan as measurement
    from dxbeam.analysis.measure.page import WriteReport
    from dxbeam.analysis.measure.plan import NamedWeights, Plan, Question, plan
    from dxbeam.analysis.measure.public_parameters import (
        check_readings,
        named_model,
        reads_together,
    )
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
    from dxbeam.analysis.measure.word_sample import WordSample, uniform_sample
    from dxbeam.analysis.pages.page import REPORT, Heading, heading
except ImportError:
    sys.exit(
        "dxbeam: measuring needs scipy, matplotlib and jinja2; install them with: "
        "pip install 'dxbeam[report]'"
    )


class MeasureJob(NamedTuple):
    """A measurement, as the flags ask for it.

    Attributes:
      options: the flags.
      question: what is asked.
      vocabulary: the vocabulary's handle.
      heading: what the report begins with.
    """

    options: PipelineOptions
    question: Question
    vocabulary: VocabularyHandle
    heading: Heading


def read_options(options: PipelineOptions, argv: Sequence[str]) -> MeasureJob:
    """The measurement that the flags ask for.

    Of files it reads the vocabulary's manifest and the weights of words only.

    Raises:
      DxbeamError: a flag that is needed and missing, or flags that do not go together.
    """
    own, shared = options.view_as(MeasureOptions), options.view_as(SanitizeOptions)
    require(shared, "vocabulary")
    require(options.view_as(OutputOptions), "output")
    launch.refuse_quoting(options)
    vocabulary = artifact.handle(shared.vocabulary)
    epsilons = None if own.epsilons == "auto" else tuple(grids.parse(own.epsilons))
    model = named_model(shared.language_model)
    decoder = measurement.decoding(shared.decode, shared.decode_loss)
    every = measurement.decodable() if decoder else tuple(MECHANISMS)
    mechanisms = measurement.named_mechanisms(own.mechanisms, every, model, decoder)
    check_readings(mechanisms, model, bool(shared.input), "name them with `input`")
    importance = None
    if shared.importance:
        importance = NamedWeights(shared.importance, read_importance(shared.importance))
    measurement.check_defined(mechanisms, epsilons or (), vocabulary.dimensions, importance)
    question = Question(
        mechanisms, epsilons, measurement.rank_cs(own.rank_cs), own.repeats, importance
    )
    begun = heading(shared.vocabulary, vocabulary, shared.input, ["measure", *argv])
    return MeasureJob(options, question, vocabulary, begun)


def build(job: MeasureJob) -> beam.Pipeline:
    """Assembles the job; nothing runs yet."""
    own, shared = job.options.view_as(MeasureOptions), job.options.view_as(SanitizeOptions)
    pipeline = launch.new_pipeline(job.options)
    counting = drawing = None
    if shared.input:
        if reads_together(job.question.mechanisms):
            drawing = DrawTexts(read_corpus(shared), job.vocabulary, own.words, own.seed)
        else:
            counting = CountWords(read_corpus(shared), job.vocabulary)
    sample, left_out = pipeline | "SampleWords" >> SampleWords(
        own.words, job.vocabulary.words, own.seed, counting, drawing
    )
    search = SharedSearch(job.vocabulary, launch.backend(job.options))
    planned = sample | "PlanMeasurement" >> PlanMeasurement(job.question, search)
    noise = search, own.seed, launch.search_threads(job.options)
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
    shared, output = options.view_as(SanitizeOptions), options.view_as(OutputOptions).output
    job = read_options(options, argv)
    claim.check_empty(output)
    if shared.input:
        check_measured(shared, output, shared.input)
    measurement.check_words(job.question, job.vocabulary)
    pipeline = build(job)
    if options.view_as(TestOptions).dry_run:
        print(_described(job))
        return
    started = time.monotonic()
    launch.run(pipeline)
    print(
        f"Measured {len(job.question.mechanisms)} mechanisms in "
        f"{time.monotonic() - started:.0f} seconds. Report: {storage.join(output, REPORT)}"
    )


def _described(job: MeasureJob) -> str:
    """What would be measured."""
    own, question, corpus = job.options.view_as(MeasureOptions), job.question, job.heading.corpus
    if corpus and question.epsilons is None:
        grid = ["a grid of epsilon that its words decide"] * len(question.mechanisms)
    else:
        search = NeighborSearch(artifact.open_vocabulary(job.vocabulary))
        sample = uniform_sample(own.words, job.vocabulary.words, own.seed)
        found = [setting.epsilons for setting in plan(question, sample, search).settings]
        grid = [f"{len(e)} values of epsilon, {e[0]:g} to {e[-1]:g}" for e in found]
    words = f"{own.words:,} words of {corpus or 'the vocabulary'}"
    return "\n".join(
        [
            *(
                f"Would measure {name} on {words} at {epsilons}"
                for (name, _), epsilons in zip(question.mechanisms, grid, strict=True)
            ),
            "Nothing was written (--dry_run).",
        ]
    )


if __name__ == "__main__":
    launch.main(measure_settings)
