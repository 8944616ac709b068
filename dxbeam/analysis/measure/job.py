"""What ``dxbeam measure`` is asked for, and what it says it would do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from apache_beam.options.pipeline_options import PipelineOptions

from dxbeam.analysis.measure import grids
from dxbeam.analysis.measure.plan import Question, plan
from dxbeam.analysis.measure.public_parameters import (
    Known,
    check_readings,
    named_model,
    reads_together,
)
from dxbeam.analysis.measure.settings import (
    Named,
    NamedWeights,
    check_defined,
    decodable,
    decoding,
    named_mechanisms,
    rank_cs,
)
from dxbeam.analysis.measure.word_sample import uniform_sample
from dxbeam.analysis.pages.page import Heading, heading
from dxbeam.commands.flags.measuring import MeasureOptions
from dxbeam.commands.flags.registry import SanitizeOptions
from dxbeam.commands.request import measured_vocabulary, read_corpus
from dxbeam.mechanisms import MECHANISMS
from dxbeam.space.artifact import artifact
from dxbeam.space.artifact.artifact import VocabularyHandle
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.text.public.importance_file import read_importance
from dxbeam.transforms.reading.count_words import CountWords
from dxbeam.transforms.reading.draw_texts import DrawTexts


@dataclass(frozen=True)
class Job:
    """What the flags of every command that measures words ask for.

    Attributes:
      options: the flags.
      vocabulary: the vocabulary's handle.
      heading: what the report begins with.
    """

    options: PipelineOptions
    vocabulary: VocabularyHandle
    heading: Heading


@dataclass(frozen=True)
class MeasureJob(Job):
    """A measurement, as the flags ask for it."""

    question: Question


def epsilons_of_flag(measure: MeasureOptions) -> tuple[float, ...] | None:
    """Those of --epsilons; None where each mechanism has a separate grid."""
    return None if measure.epsilons == "auto" else tuple(grids.parse(measure.epsilons))


def question_of(
    options: PipelineOptions,
    vocabulary: VocabularyHandle,
    every: Sequence[str],
    model: Known | None,
    of_all: Mapping[str, str] | None = None,
) -> Question:
    """The mechanisms and their grid, as the flags name them; nothing is repeated.

    Args:
      options: the flags.
      vocabulary: the vocabulary's handle.
      every: the mechanisms that ``all`` stands for.
      model: the language model that is named, if one is.
      of_all: parameters of all mechanisms.

    Raises:
      DxbeamError: no such mechanism, or one that is undefined here.
    """
    measure, shared = options.view_as(MeasureOptions), options.view_as(SanitizeOptions)
    epsilons = epsilons_of_flag(measure)
    mechanisms = named_mechanisms(measure.mechanisms, every, model, of_all)
    importance = None
    if shared.importance:
        importance = NamedWeights(shared.importance, read_importance(shared.importance))
    check_defined(mechanisms, epsilons or (), vocabulary.dimensions, importance)
    return Question(mechanisms, epsilons, rank_cs(measure.rank_cs), 0, importance)


def read_options(options: PipelineOptions, argv: Sequence[str]) -> MeasureJob:
    """The measurement that the flags ask for.

    Of files it reads the vocabulary's manifest and the weights of words only.

    Raises:
      DxbeamError: a flag that is needed and missing, or flags that do not go together.
    """
    shared, vocabulary = options.view_as(SanitizeOptions), measured_vocabulary(options)
    model, decoder = named_model(shared.language_model), decoding(shared.decode, shared.decode_loss)
    every = decodable() if decoder else tuple(MECHANISMS)
    question = question_of(options, vocabulary, every, model, decoder)
    question = question._replace(repeats=options.view_as(MeasureOptions).repeats)
    texts = bool(shared.input)
    check_readings(question.mechanisms, model, texts=texts, where="name them with `input`")
    begun = heading(shared.vocabulary, vocabulary, shared.input, ["measure", *argv])
    return MeasureJob(options, vocabulary, begun, question)


def corpus_of(job: Job, mechanisms: Sequence[Named]) -> CountWords | DrawTexts | None:
    """Counts the words of the corpus, or draws texts where a mechanism reads words together."""
    measure, shared = job.options.view_as(MeasureOptions), job.options.view_as(SanitizeOptions)
    if not shared.input:
        return None
    if reads_together(mechanisms):
        return DrawTexts(read_corpus(shared), job.vocabulary, measure.words, measure.seed)
    return CountWords(read_corpus(shared), job.vocabulary)


def described(job: MeasureJob) -> str:
    """What would be measured."""
    measure, question = job.options.view_as(MeasureOptions), job.question
    if job.heading.corpus and question.epsilons is None:
        grid = ["a grid of epsilon that its words decide"] * len(question.mechanisms)
    else:
        search = NeighborSearch(artifact.open_vocabulary(job.vocabulary))
        sample = uniform_sample(measure.words, job.vocabulary.words, measure.seed)
        epsilons_of = [setting.epsilons for setting in plan(question, sample, search).settings]
        grid = [f"{len(e)} values of epsilon, {e[0]:g} to {e[-1]:g}" for e in epsilons_of]
    words = f"{measure.words:,} words of {job.heading.corpus or 'the vocabulary'}"
    lines = [
        f"Would measure {name} on {words} at {epsilons}"
        for (name, _), epsilons in zip(question.mechanisms, grid, strict=True)
    ]
    return "\n".join([*lines, "Nothing was written (--dry_run)."])
