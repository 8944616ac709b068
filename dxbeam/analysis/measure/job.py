"""What ``dxbeam measure`` is asked for, and what it says it would do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from apache_beam.options.pipeline_options import PipelineOptions

from dxbeam.analysis.measure import grids
from dxbeam.analysis.measure import plan as measurement
from dxbeam.analysis.measure.plan import NamedWeights, Question, plan
from dxbeam.analysis.measure.public_parameters import (
    check_readings,
    named_model,
)
from dxbeam.analysis.measure.word_sample import uniform_sample
from dxbeam.analysis.pages.page import Heading, heading
from dxbeam.commands.flags.measuring import MeasureOptions
from dxbeam.commands.flags.registry import SanitizeOptions
from dxbeam.commands.request import measured_vocabulary
from dxbeam.mechanisms import MECHANISMS
from dxbeam.space.artifact import artifact
from dxbeam.space.artifact.artifact import VocabularyHandle
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.text.public.importance_file import read_importance


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
    measure, shared = options.view_as(MeasureOptions), options.view_as(SanitizeOptions)
    vocabulary = measured_vocabulary(options)
    epsilons = None if measure.epsilons == "auto" else tuple(grids.parse(measure.epsilons))
    model = named_model(shared.language_model)
    decoder = measurement.decoding(shared.decode, shared.decode_loss)
    every = measurement.decodable() if decoder else tuple(MECHANISMS)
    mechanisms = measurement.named_mechanisms(measure.mechanisms, every, model, decoder)
    check_readings(mechanisms, model, texts=bool(shared.input), where="name them with `input`")
    importance = None
    if shared.importance:
        importance = NamedWeights(shared.importance, read_importance(shared.importance))
    measurement.check_defined(mechanisms, epsilons or (), vocabulary.dimensions, importance)
    question = Question(
        mechanisms, epsilons, measurement.rank_cs(measure.rank_cs), measure.repeats, importance
    )
    begun = heading(shared.vocabulary, vocabulary, shared.input, ["measure", *argv])
    return MeasureJob(options, question, vocabulary, begun)


def described(job: MeasureJob) -> str:
    """What would be measured."""
    measure, question, corpus = (
        job.options.view_as(MeasureOptions),
        job.question,
        job.heading.corpus,
    )
    if corpus and question.epsilons is None:
        grid = ["a grid of epsilon that its words decide"] * len(question.mechanisms)
    else:
        search = NeighborSearch(artifact.open_vocabulary(job.vocabulary))
        sample = uniform_sample(measure.words, job.vocabulary.words, measure.seed)
        epsilons_of = [setting.epsilons for setting in plan(question, sample, search).settings]
        grid = [f"{len(e)} values of epsilon, {e[0]:g} to {e[-1]:g}" for e in epsilons_of]
    words = f"{measure.words:,} words of {corpus or 'the vocabulary'}"
    return "\n".join(
        [
            *(
                f"Would measure {name} on {words} at {epsilons}"
                for (name, _), epsilons in zip(question.mechanisms, grid, strict=True)
            ),
            "Nothing was written (--dry_run).",
        ]
    )
