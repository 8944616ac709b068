r"""Measures what settings leave of words against what attackers get of them: the frontier.

    dxbeam frontier --vocabulary demo --mechanisms laplace,santext \
        --rank_cs 0.04 --output frontier

writes report.html, a page with the picture and with the settings that leave most where at most a
given share of words is recovered, and frontier.parquet, a row per point with intervals, to
frontier/. Words of the public vocabulary are tried, each as likely as any other.

    --input 'corpus/*.jsonl'      words as frequent as in these texts, instead
    --public_input 'news/*.jsonl' attackers know how frequent words are from these public texts
    --most_risk 0.2               the share of words that may be recovered
    --epsilons 5:20:1             a grid of your own; by default each mechanism gets its own

What is measured by --input is computed from raw text: keep it with the corpus. Who the attackers
are and what they know: docs/attackers.md. Runs locally by default, and on any Beam runner with
--runner.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions, TestOptions

from dxbeam import storage
from dxbeam.commands import launch
from dxbeam.commands.options import (
    CommonOptions,
    FrontierOptions,
    MeasureOptions,
    SanitizeOptions,
    parse,
    require,
)
from dxbeam.commands.request import corpus_format
from dxbeam.corpus import reading
from dxbeam.corpus.files import matching_files
from dxbeam.release import claim
from dxbeam.space import artifact
from dxbeam.space.artifact import VocabularyHandle
from dxbeam.transforms.count_words import CountWords

try:
    from dxbeam.analysis import frontier, grids, measurement
    from dxbeam.analysis.frontier_report import PAGE, Asked, WriteFrontier
    from dxbeam.analysis.measure import SharedSearch
    from dxbeam.analysis.measure_frontier import MeasureFrontier, PlanFrontier
    from dxbeam.analysis.measurement import Question
    from dxbeam.analysis.pages import heading
    from dxbeam.analysis.sample_words import SampleWords
except ImportError:
    sys.exit(
        "dxbeam: the frontier needs scipy, matplotlib and jinja2; install them with: "
        "pip install 'dxbeam[report]'"
    )


def build(
    options: PipelineOptions, question: Question, vocabulary: VocabularyHandle, asked: Asked
) -> beam.Pipeline:
    """Assembles the job; nothing runs yet."""
    own, shared = options.view_as(FrontierOptions), options.view_as(SanitizeOptions)
    seed = options.view_as(MeasureOptions).seed
    pipeline = beam.Pipeline(options=options)

    def counted(pattern: str) -> CountWords:
        return CountWords(pattern, corpus_format(shared), shared.allow_unreadable_files, vocabulary)

    search = SharedSearch(vocabulary)
    counting = counted(shared.input) if shared.input else None
    sample, _ = pipeline | "SampleWords" >> SampleWords(
        own.attacked_words, vocabulary.words, seed, counting
    )
    public = None
    if own.public_input:
        public = (pipeline | "CountPublicWords" >> counted(own.public_input)).counts
    _ = (
        sample
        | "PlanFrontier" >> PlanFrontier(question, search)
        | "MeasureFrontier" >> MeasureFrontier(public, search, seed, own.pairs)
        | "WriteFrontier" >> WriteFrontier(options.view_as(CommonOptions).output, asked)
    )
    return pipeline


@launch.naming_flags
def measure_frontier(argv: Sequence[str]) -> None:
    """Checks the flags, measures, and says where the page lies."""
    options = parse(argv, FrontierOptions, __doc__ or "")
    own, shared = options.view_as(FrontierOptions), options.view_as(SanitizeOptions)
    asked_for = options.view_as(MeasureOptions)
    output = options.view_as(CommonOptions).output
    require(shared, "vocabulary")
    require(options.view_as(CommonOptions), "output")
    launch.refuse_quoting(options)
    frontier.best_within([], own.most_risk)
    vocabulary = artifact.handle(shared.vocabulary)
    epsilons = None if asked_for.epsilons == "auto" else tuple(grids.parse(asked_for.epsilons))
    mechanisms = measurement.named_mechanisms(asked_for.mechanisms)
    measurement.check_defined(mechanisms, epsilons or (), vocabulary.dimensions)
    question = Question(mechanisms, epsilons, measurement.rank_cs(asked_for.rank_cs), 0)
    claim.check_empty(output)
    for pattern in filter(None, (shared.input, own.public_input)):
        reading.check_readable(
            matching_files(pattern), corpus_format(shared), shared.allow_unreadable_files
        )
    begun = heading(shared.vocabulary, vocabulary, shared.input, ["frontier", *argv])
    pipeline = build(
        options, question, vocabulary, Asked(begun, own.public_input or "", own.most_risk)
    )
    if options.view_as(TestOptions).dry_run:
        print(f"Would attack {own.attacked_words:,} words under {len(mechanisms)} mechanisms.")
        print("Nothing was written (--dry_run).")
        return
    started = time.monotonic()
    launch.run(pipeline)
    print(
        f"Attacked {len(mechanisms)} mechanisms in {time.monotonic() - started:.0f} seconds. "
        f"Report: {storage.join(output, PAGE)}"
    )


if __name__ == "__main__":
    launch.main(measure_frontier)
