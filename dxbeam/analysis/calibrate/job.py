"""What ``dxbeam calibrate`` is asked for, what its curve says, and what it says it would do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from apache_beam.options.pipeline_options import PipelineOptions

from dxbeam.analysis.calibrate import compute as calibration
from dxbeam.analysis.calibrate.compute import RANK_CS, Answer, Target
from dxbeam.analysis.calibrate.page import Calibrated, Release
from dxbeam.analysis.calibrate.transform import Grid, read_curve
from dxbeam.analysis.measure.job import Job, epsilons_of_flag
from dxbeam.analysis.measure.public_parameters import (
    Known,
    check_readings,
    named_model,
    with_reading,
)
from dxbeam.analysis.measure.settings import Named, Setting, check_defined, decoding, rank_cs
from dxbeam.analysis.measure.word_sample import UNIFORM, uniform_sample
from dxbeam.analysis.pages.page import flags, heading
from dxbeam.commands.flags.measuring import CalibrateOptions, MeasureOptions
from dxbeam.commands.flags.output import OutputOptions
from dxbeam.commands.flags.registry import SanitizeOptions
from dxbeam.commands.request import measured_vocabulary
from dxbeam.errors import ConfigurationError
from dxbeam.mechanisms import parse_parameters
from dxbeam.release.context import in_context
from dxbeam.space.artifact import artifact
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.text.plain_settings import configuration_of


@dataclass(frozen=True)
class CalibrateJob(Job):
    """A calibration: what the answer must meet, and among which settings."""

    targets: tuple[Target, ...]
    grid: Grid


def read_options(options: PipelineOptions, argv: Sequence[str]) -> CalibrateJob:
    """The calibration that the flags ask for; of files it reads the vocabulary's manifest only.

    Raises:
      DxbeamError: a flag that is needed and missing, or flags that do not go together.
    """
    flags_of_target, measure = options.view_as(CalibrateOptions), options.view_as(MeasureOptions)
    shared = options.view_as(SanitizeOptions)
    vocabulary = measured_vocabulary(options)
    targets = calibration.parse_targets(flags_of_target.at_most, flags_of_target.at_least)
    model = named_model(shared.language_model)
    mechanism = _named(shared, model)
    check_readings([mechanism], model, texts=bool(shared.input), where="name them with `input`")
    epsilons = epsilons_of_flag(measure)
    cs = rank_cs(measure.rank_cs) if measure.rank_cs else RANK_CS
    if min(measure.words, vocabulary.words) < 2:
        raise ConfigurationError("`words`: one half chooses and one verifies, so 2 are needed")
    check_defined([mechanism], epsilons or (), vocabulary.dimensions)
    begun = heading(shared.vocabulary, vocabulary, shared.input, ["calibrate", *argv])
    return CalibrateJob(options, vocabulary, begun, targets, Grid(mechanism, epsilons, cs))


def _named(shared: SanitizeOptions, model: Known | None) -> Named:
    """The mechanism; refuses one that dxbeam sanitize would refuse."""
    parameters = parse_parameters(shared.parameters)
    if "epsilon" in parameters:
        raise ConfigurationError("`parameters`: epsilon is what is looked for; leave it out")
    configuration_of(
        shared.mechanism,
        0.1,
        shared.parameters,
        decode=shared.decode,
        decode_loss=shared.decode_loss,
        language_model=shared.language_model,
        allow_unsound=shared.allow_unsound,
    )
    decoder = decoding(shared.decode, shared.decode_loss)
    known = with_reading(shared.mechanism, {**parameters, **decoder}, model)
    return shared.mechanism, tuple(sorted(known.items()))


def calibrated(job: CalibrateJob) -> Calibrated:
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
    setting = Setting(*job.grid.mechanism, (answer.verified["epsilon"],), job.grid.rank_cs)
    guarantee = setting.configuration().guarantee()
    search = NeighborSearch(artifact.open_vocabulary(job.vocabulary))
    chosen = flags(answer.verified, shared.vocabulary)
    consent = " --allow_unsound" if shared.allow_unsound else ""
    return Release(
        guarantee.sentence,
        guarantee.unprotected,
        [pair.sentence for pair in in_context(guarantee, search)],
        f"dxbeam sanitize {chosen}{consent} --input … --output …",
    )


def described(job: CalibrateJob) -> str:
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
