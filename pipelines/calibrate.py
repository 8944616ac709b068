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

from collections.abc import Sequence

import apache_beam as beam

from dxbeam import storage
from dxbeam.commands import launch
from dxbeam.commands.flags.measuring import MeasureOptions
from dxbeam.commands.flags.output import OutputOptions
from dxbeam.commands.flags.registry import CALIBRATE
from dxbeam.commands.options import parse
from dxbeam.commands.request import check_measured
from dxbeam.errors import RunError
from dxbeam.transforms.reading.count_words import CountWords

with launch.needing("calibrating needs scipy, matplotlib and jinja2; install them", "report"):
    from dxbeam.analysis.calibrate.job import CalibrateJob, calibrated, described, read_options
    from dxbeam.analysis.calibrate.page import in_short, page
    from dxbeam.analysis.calibrate.transform import MeasureCurve
    from dxbeam.analysis.measure.job import corpus_of
    from dxbeam.analysis.measure.plan import Question, check_words
    from dxbeam.analysis.measure.sample_words import SampleWords
    from dxbeam.analysis.measure.word_sample import uniform_sample
    from dxbeam.analysis.pages.page import REPORT


def build(job: CalibrateJob) -> beam.Pipeline:
    """Assembles the job; nothing runs yet."""
    measure = job.options.view_as(MeasureOptions)
    pipeline, corpus = launch.new_pipeline(job.options), corpus_of(job, [job.grid.mechanism])
    sample, left_out = pipeline | "SampleWords" >> SampleWords(
        measure.words, job.vocabulary.words, measure.seed, corpus
    )
    others = []
    if isinstance(corpus, CountWords):  # words that are read in texts are compared with no others
        others = [uniform_sample(measure.words, job.vocabulary.words, measure.seed)]
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
    """Checks the flags, measures, says which setting meets the target and how to release so."""
    options = parse(argv, CALIBRATE, __doc__ or "")
    job = read_options(options, argv)
    check_measured(options)
    check_words(Question((job.grid.mechanism,), None, (), 0), job.vocabulary)
    if launch.run_unless_dry(build(job), options, lambda: described(job)) is None:
        return
    result = calibrated(job)
    report = storage.join(options.view_as(OutputOptions).output, REPORT)
    storage.create_once(report, page(result).encode())
    print(f"Report: {report}\n{in_short(result)}")
    if not result.release:
        raise RunError(result.failure)


if __name__ == "__main__":
    launch.main(calibrate)
