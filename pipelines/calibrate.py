r"""Finds the smallest epsilon, and a c for it, that keep enough words close, or few enough distant.

    dxbeam calibrate --vocabulary demo --at_most distant=0.2 --at_least close=0.3 \
        --output calibrated

prints the answer, how sure it is, what it costs, and the flags for dxbeam sanitize, and writes
report.html, a page to read, and calibration.parquet, the curve behind the answer, to calibrated/.
The answer is chosen on one half of the words and verified on the other. Where no setting meets the
target it says which comes closest and what it misses, and exits with 1.

    --input 'corpus/*.jsonl'      words as frequent as in these texts, instead
    --mechanism gaussian --parameters delta=1e-6,distance=5
    --epsilons 10:20              another range; by default where the mechanism does anything
    --epsilons 12                 only c is asked for
    --rank_cs none                only epsilon is asked for
    --words 20000                 narrower intervals
    --decode prior --language_model DIR    shares of words after decoding; context with --input

What is found by --input is computed from raw text: keep it with the corpus. Runs locally by
default, in several processes with --local_processes, and on any Beam runner with --runner.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NamedTuple

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions, TestOptions

from dxbeam import storage
from dxbeam.commands import launch
from dxbeam.commands.flags.measuring import CalibrateOptions, MeasureOptions
from dxbeam.commands.flags.output import OutputOptions
from dxbeam.commands.flags.registry import CALIBRATE, SanitizeOptions
from dxbeam.commands.options import parse, require
from dxbeam.commands.request import check_measured, read_corpus
from dxbeam.errors import ConfigurationError, RunError
from dxbeam.mechanisms import parse_parameters
from dxbeam.release import claim
from dxbeam.release.context import in_context
from dxbeam.space.artifact import artifact
from dxbeam.space.artifact.artifact import VocabularyHandle
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.text.plain_settings import configuration_of
from dxbeam.transforms.reading.count_words import CountWords
from dxbeam.transforms.reading.draw_texts import DrawTexts

try:
    from dxbeam.analysis.calibrate import compute as calibration
    from dxbeam.analysis.calibrate.compute import RANK_CS, Answer, Target
    from dxbeam.analysis.calibrate.page import Calibrated, Release, in_short, page
    from dxbeam.analysis.calibrate.transform import Grid, MeasureCurve, read_curve
    from dxbeam.analysis.measure import grids
    from dxbeam.analysis.measure import plan as measurement
    from dxbeam.analysis.measure.plan import Named, Setting
    from dxbeam.analysis.measure.public_parameters import (
        Known,
        check_readings,
        named_model,
        reads_together,
        with_reading,
    )
    from dxbeam.analysis.measure.sample_words import SampleWords
    from dxbeam.analysis.measure.word_sample import UNIFORM, uniform_sample
    from dxbeam.analysis.pages.page import REPORT, Heading, flags, heading
except ImportError:
    sys.exit(
        "dxbeam: calibrating needs scipy, matplotlib and jinja2; install them with: "
        "pip install 'dxbeam[report]'"
    )


class CalibrateJob(NamedTuple):
    """A calibration, as the flags ask for it.

    Attributes:
      options: the flags.
      targets: what the answer must meet.
      grid: among which settings.
      vocabulary: the vocabulary's handle.
      heading: what the report begins with.
    """

    options: PipelineOptions
    targets: tuple[Target, ...]
    grid: Grid
    vocabulary: VocabularyHandle
    heading: Heading


def read_options(options: PipelineOptions, argv: Sequence[str]) -> CalibrateJob:
    """The calibration that the flags ask for; of files it reads the vocabulary's manifest only.

    Raises:
      DxbeamError: a flag that is needed and missing, or flags that do not go together.
    """
    own, measure = options.view_as(CalibrateOptions), options.view_as(MeasureOptions)
    shared = options.view_as(SanitizeOptions)
    require(shared, "vocabulary")
    require(options.view_as(OutputOptions), "output")
    launch.refuse_quoting(options)
    targets = calibration.parse_targets(own.at_most, own.at_least)
    model = named_model(shared.language_model)
    mechanism = _named(shared, model)
    check_readings([mechanism], model, bool(shared.input), "name them with `input`")
    epsilons = None if measure.epsilons == "auto" else tuple(grids.parse(measure.epsilons))
    rank_cs = measurement.rank_cs(measure.rank_cs) if measure.rank_cs else RANK_CS
    vocabulary = artifact.handle(shared.vocabulary)
    if min(measure.words, vocabulary.words) < 2:
        raise ConfigurationError("`words`: one half chooses and one verifies, so 2 are needed")
    measurement.check_defined([mechanism], epsilons or (), vocabulary.dimensions)
    begun = heading(shared.vocabulary, vocabulary, shared.input, ["calibrate", *argv])
    grid = Grid(mechanism, epsilons, rank_cs)
    return CalibrateJob(options, targets, grid, vocabulary, begun)


def _named(shared: SanitizeOptions, model: Known | None) -> Named:
    """The mechanism; refuses one that dxbeam sanitize would refuse."""
    parameters = parse_parameters(shared.parameters)
    if "epsilon" in parameters:
        raise ConfigurationError("`parameters`: epsilon is what is looked for; leave it out")
    decode = {"decode": shared.decode, "decode_loss": shared.decode_loss}
    configuration_of(
        shared.mechanism,
        0.1,
        shared.parameters,
        language_model=shared.language_model,
        allow_unsound=shared.allow_unsound,
        **decode,
    )
    known = with_reading(shared.mechanism, {**parameters, **measurement.decoding(**decode)}, model)
    return shared.mechanism, tuple(sorted(known.items()))


def build(job: CalibrateJob) -> beam.Pipeline:
    """Assembles the job; nothing runs yet."""
    measure, shared = job.options.view_as(MeasureOptions), job.options.view_as(SanitizeOptions)
    pipeline = launch.new_pipeline(job.options)
    counting = drawing = None
    others = []
    if shared.input:
        if reads_together([job.grid.mechanism]):  # words of the vocabulary are in no text
            drawing = DrawTexts(read_corpus(shared), job.vocabulary, measure.words, measure.seed)
        else:
            counting = CountWords(read_corpus(shared), job.vocabulary)
            others = [uniform_sample(measure.words, job.vocabulary.words, measure.seed)]
    sample, left_out = pipeline | "SampleWords" >> SampleWords(
        measure.words, job.vocabulary.words, measure.seed, counting, drawing
    )
    # The uniform sample comes first, and so gets the noise that it gets without a corpus.
    samples = sample | "BesideUniform" >> beam.Map(lambda drawn, uniform: [*uniform, drawn], others)
    _ = samples | "MeasureCurve" >> MeasureCurve(
        job.options.view_as(OutputOptions).output,
        job.grid,
        job.vocabulary,
        measure.seed,
        launch.search_threads(job.options),
        left_out,
        launch.backend(job.options),
    )
    return pipeline


@launch.naming_flags
def calibrate(argv: Sequence[str]) -> None:
    """Checks the flags, measures, says which setting meets the target, and how to release with it.

    Raises:
      RunError: no setting does.
    """
    options = parse(argv, CALIBRATE, __doc__ or "")
    shared, output = options.view_as(SanitizeOptions), options.view_as(OutputOptions).output
    job = read_options(options, argv)
    claim.check_empty(output)
    if shared.input:
        check_measured(shared, output, shared.input)
    measurement.check_words(
        measurement.Question((job.grid.mechanism,), None, (), 0), job.vocabulary
    )
    pipeline = build(job)
    if options.view_as(TestOptions).dry_run:
        print(_described(job))
        return
    launch.run(pipeline)
    found = _found(job)
    report = storage.join(output, REPORT)
    storage.create_once(report, page(found).encode())
    print(f"Report: {report}\n{in_short(found)}")
    if not found.release:
        raise RunError(found.failure)


def _found(job: CalibrateJob) -> Calibrated:
    """What the curve says."""
    rows, sampled = read_curve(job.options.view_as(OutputOptions).output)
    *uniform, answer = calibration.answers(rows, job.targets)
    return Calibrated(
        job.heading,
        sampled,
        rows,
        answer,
        uniform[0] if uniform else None,
        _release(job, answer) if answer.confirmed else None,
    )


def _release(job: CalibrateJob, answer: Answer) -> Release:
    """What releasing with the answer promises and costs, and how it is done."""
    shared = job.options.view_as(SanitizeOptions)
    epsilon, rank_c = answer.verified["epsilon"], answer.verified["rank_c"]
    setting = Setting(*job.grid.mechanism, (epsilon,), job.grid.rank_cs)
    guarantee = setting.configuration().guarantee()
    search = NeighborSearch(artifact.open_vocabulary(job.vocabulary))
    chosen = flags(setting.mechanism, setting.parameters_text, shared.vocabulary, epsilon, rank_c)
    consent = " --allow_unsound" if shared.allow_unsound else ""
    return Release(
        guarantee.sentence,
        guarantee.unprotected,
        [pair.sentence for pair in in_context(guarantee, search)],
        f"dxbeam sanitize {chosen}{consent} --input … --output …",
    )


def _described(job: CalibrateJob) -> str:
    """What would be tried."""
    measure, grid, corpus = job.options.view_as(MeasureOptions), job.grid, job.heading.corpus
    if corpus and grid.epsilons is None:
        tried = "a grid of epsilon that its words decide"
    else:
        search = NeighborSearch(artifact.open_vocabulary(job.vocabulary))
        sample = uniform_sample(measure.words, job.vocabulary.words, measure.seed)
        epsilons = grid.setting([sample], search).epsilons
        tried = calibration.grid_in_words(epsilons, grid.rank_cs)
    words = f"by frequency in {corpus}" if corpus else UNIFORM
    return (
        f"Would try {grid.mechanism[0]} at {tried}, on {measure.words:,} words {words}, and look "
        f"for {', '.join(target.sentence for target in job.targets)}\n"
        "Nothing was written (--dry_run)."
    )


if __name__ == "__main__":
    launch.main(calibrate)
