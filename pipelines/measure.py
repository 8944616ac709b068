r"""Measures what settings do to words: how many stay, come close or go far, for every epsilon.

    dxbeam measure --vocabulary demo --mechanisms laplace,santext \
        --rank_cs 0.02,0.04 --output measured

writes report.html, a page to read and to hand on, and the figures behind it: proportions.parquet
(a row per mechanism, epsilon and c, with intervals) and geometry.parquet, to measured/. No text is
read and none is released: words of the public vocabulary are tried.

    --epsilons 1:70               a grid of your own; by default each mechanism gets its own
    --words 5000                  how many words are tried
    --mechanisms gaussian:delta=1e-6:distance=5    parameters of a mechanism

Runs locally by default, on all cores with --direct_running_mode=multi_processing
--direct_num_workers=0, and on any Beam runner with --runner.
"""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Sequence
from typing import Any

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions, TestOptions

from dxbeam import storage
from dxbeam.commands import launch
from dxbeam.commands.options import CommonOptions, MeasureOptions, SanitizeOptions, parse, require
from dxbeam.errors import ConfigurationError
from dxbeam.mechanisms import MECHANISMS, make_mechanism
from dxbeam.release import claim
from dxbeam.space import artifact
from dxbeam.space.neighbors import NeighborSearch

try:
    from dxbeam.analysis import geometry, grids, measure
    from dxbeam.analysis.measure import MeasureShares, Setting
    from dxbeam.analysis.report import REPORT, Measurement, WriteReport
except ImportError:
    sys.exit(
        "dxbeam: measuring needs scipy, matplotlib and jinja2; install them with: "
        "pip install 'dxbeam[report]'"
    )


def named_mechanisms(text: str) -> list[tuple[str, dict[str, str]]]:
    """``"laplace,gaussian:delta=1e-6"`` as names and parameters; ``all`` for every mechanism."""
    listed = []
    for entry in (",".join(MECHANISMS) if text == "all" else text).split(","):
        name, *given = entry.strip().split(":")
        parameters = dict(pair.partition("=")[::2] for pair in given)
        if "epsilon" in parameters:
            raise ConfigurationError("`mechanisms`: epsilon is what is measured; leave it out")
        if (name, parameters) in listed:
            raise ConfigurationError(f"`mechanisms` {text} names {name} twice")
        listed.append((name, parameters))
    return listed


def rank_cs(text: str) -> tuple[float, ...]:
    """``"0.02,0.04"`` as increasing numbers above 0."""
    try:
        found = sorted({float(part) for part in text.split(",") if part.strip()} - {0.0})
    except ValueError:
        found = [-1.0]
    if not all(0 < c < float("inf") for c in found):
        raise ConfigurationError(f"`rank_cs` {text}: write numbers above 0, as 0.02,0.04")
    return tuple(found)


def settings(options: MeasureOptions, search: NeighborSearch) -> list[Setting]:
    """What the flags ask for, with each mechanism's own grid where none is given."""
    made = []
    for name, parameters in named_mechanisms(options.mechanisms):
        mechanism = make_mechanism(name, epsilon=0.1, **parameters)
        epsilons = (
            grids.automatic(mechanism, search)
            if options.epsilons == "auto"
            else grids.parse(options.epsilons)
        )
        for epsilon in epsilons:
            make_mechanism(name, epsilon=epsilon, **parameters).draws(search.vocabulary.dimensions)
        given = tuple(sorted(parameters.items()))
        made.append(Setting(name, given, tuple(epsilons), rank_cs(options.rank_cs)))
    return made


def build(
    options: PipelineOptions, measured: Measurement, ids: Any, vocabulary: Any
) -> beam.Pipeline:
    """Assembles the job; nothing runs yet."""
    own, output = options.view_as(MeasureOptions), options.view_as(CommonOptions).output
    pipeline = beam.Pipeline(options=options)
    sums = pipeline | "MeasureShares" >> MeasureShares(
        measured.settings, ids, vocabulary, own.seed, launch.search_threads(options)
    )
    _ = sums | "WriteReport" >> WriteReport(output, measured)
    return pipeline


@launch.naming_flags
def measure_settings(argv: Sequence[str]) -> None:
    """Checks the flags, measures, and says where the report lies."""
    options = parse(argv, MeasureOptions, __doc__ or "")
    own, shared = options.view_as(MeasureOptions), options.view_as(SanitizeOptions)
    output = options.view_as(CommonOptions).output
    require(shared, "vocabulary")
    require(options.view_as(CommonOptions), "output")
    claim.check_empty(output)
    handle = artifact.handle(shared.vocabulary)
    search = NeighborSearch(artifact.open_vocabulary(handle))
    started = time.monotonic()
    ids = measure.sample(own.words, len(search.vocabulary), own.seed)
    chosen = settings(own, search)
    if options.view_as(TestOptions).dry_run:
        for setting in chosen:
            first, *_, last = (*setting.epsilons, setting.epsilons[-1])
            print(
                f"Would measure {setting.mechanism} on {len(ids):,} words at "
                f"{len(setting.epsilons)} values of epsilon, {first:g} to {last:g}"
            )
        print("Nothing was written (--dry_run).")
        return
    thresholds = geometry.thresholds(ids, search)
    laplace = next((s for s in chosen if s.mechanism == "laplace"), None)
    measured = Measurement(
        chosen,
        thresholds,
        geometry.nearer(thresholds, handle.dimensions, laplace.epsilons) if laplace else [],
        {"name": shared.vocabulary, "words": handle.words, "dimensions": handle.dimensions},
        shlex.join(["dxbeam", "measure", *argv]),
    )
    launch.run(build(options, measured, ids, handle))
    answers = len(ids) * sum(len(s.epsilons) * (1 + len(s.rank_cs)) for s in chosen)
    print(
        f"Measured {len(chosen)} mechanisms on {len(ids):,} words, {answers:,} answers, in "
        f"{time.monotonic() - started:.0f} seconds. Report: {storage.join(output, REPORT)}"
    )


if __name__ == "__main__":
    launch.main(measure_settings)
