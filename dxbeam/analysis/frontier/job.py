"""What ``dxbeam frontier`` is asked for, and what it says it would do."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from apache_beam.options.pipeline_options import PipelineOptions

from dxbeam.analysis.attackers.models.asked_for import AskedFor, attackers_of
from dxbeam.analysis.frontier import compute as frontier
from dxbeam.analysis.frontier.cost import expected_seconds, seconds_with_model
from dxbeam.analysis.frontier.page import Asked
from dxbeam.analysis.frontier.plan import followed, planned
from dxbeam.analysis.measure.job import Job, question_of
from dxbeam.analysis.measure.plan import Question, check_words
from dxbeam.analysis.measure.public_parameters import epsilons_of, named_model, reading_of
from dxbeam.analysis.measure.settings import without_consent
from dxbeam.analysis.measure.word_sample import uniform_sample
from dxbeam.analysis.pages.page import heading
from dxbeam.commands import launch
from dxbeam.commands.flags.evaluating import EvaluateOptions
from dxbeam.commands.flags.measuring import MeasureOptions
from dxbeam.commands.flags.registry import AttackedOptions, SanitizeOptions
from dxbeam.commands.request import check_corpus, check_measured, measured_vocabulary, read_corpus
from dxbeam.errors import ConfigurationError
from dxbeam.mechanisms import MECHANISMS
from dxbeam.release.plan import duration
from dxbeam.space.artifact import artifact
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.transforms.reading.count_words import CountWords
from dxbeam.transforms.reading.labelled_documents import MOST_WORDS, LabelledDocuments


@dataclass(frozen=True)
class FrontierJob(Job):
    """A frontier, as the flags ask for it.

    Attributes:
      question: which mechanisms, and where.
      asked: what the page says was asked.
      attackers: those with a model, with the requests of all points.
    """

    question: Question
    asked: Asked
    attackers: AskedFor


def read_options(options: PipelineOptions, argv: Sequence[str]) -> FrontierJob:
    """The frontier that the flags ask for.

    Of files it reads the vocabulary's manifest and the weights of words only.

    Raises:
      DxbeamError: a flag that is needed and missing, or flags that do not go together.
    """
    attacked, shared = options.view_as(AttackedOptions), options.view_as(SanitizeOptions)
    vocabulary = measured_vocabulary(options)
    _refuse_contradictions(attacked, shared, options.view_as(EvaluateOptions).task)
    attackers = attackers_of(attacked)
    promising, model = without_consent(), named_model(shared.language_model)
    question = question_of(options, vocabulary, promising, model)
    reading = [name for name, parameters in question.mechanisms if reading_of(parameters)]
    if model and not reading:
        raise ConfigurationError(
            "`language_model` is read by fluent and by decode=prior or decode=context in "
            "`mechanisms`; name one of them, or leave `language_model` out"
        )
    if reading and not attacked.context_documents:
        raise ConfigurationError(
            f"`mechanisms` {reading[0]} reads texts with `language_model`, so it is measured on "
            "texts; say on how many, with `context_documents`"
        )
    every = options.view_as(MeasureOptions).mechanisms == "all"
    begun = heading(shared.vocabulary, vocabulary, shared.input, ["frontier", *argv])
    asked = Asked(
        begun,
        attacked.public_input or "",
        attacked.most_risk,
        question.rank_cs,
        tuple(sorted(set(MECHANISMS) - set(promising))) if every else (),
        question.importance.weights.sentence if question.importance else "",
    )
    return FrontierJob(options, vocabulary, begun, question, asked, attackers)


def _refuse_contradictions(
    attacked: AttackedOptions, shared: SanitizeOptions, task: str | None
) -> None:
    frontier.best_within([], attacked.most_risk)
    if task and not shared.input:
        raise ConfigurationError(f"`task` {task} is a field of documents; name them with `input`")
    if task and task in (shared.text_field, shared.id_field):
        raise ConfigurationError(f"`task` {task}: this is the text or the id; name another")
    if attacked.context_documents and not (shared.input and attacked.public_input):
        raise ConfigurationError(
            "`context_documents` are of `input`, and what follows what is learnt from "
            "`public_input`; name both"
        )


def check(job: FrontierJob) -> None:
    """Refuses what can be known to be wrong before a run.

    Raises:
      DxbeamError: the output is in use, a corpus cannot be read, or a word is missing.
    """
    attacked, shared = job.options.view_as(AttackedOptions), job.options.view_as(SanitizeOptions)
    check_measured(job.options)
    if attacked.public_input:
        check_corpus(shared, attacked.public_input)
    check_words(job.question, job.vocabulary)


def words_of(job: FrontierJob, pattern: str) -> CountWords:
    """Counts the words of texts."""
    return CountWords(read_corpus(job.options.view_as(SanitizeOptions), pattern), job.vocabulary)


def documents_of(job: FrontierJob, count: int, field: str = "") -> LabelledDocuments:
    """Documents of the corpus, with a field as their label."""
    shared, seed = job.options.view_as(SanitizeOptions), job.options.view_as(MeasureOptions).seed
    read = read_corpus(shared, shared.input, (field,) if field else ())
    return LabelledDocuments(read, job.vocabulary, field, count, seed)


def classifiers() -> Any:
    """The module that learns a task, which needs more than the frontier without one.

    Raises:
      ConfigurationError: what it needs is not installed.
    """
    try:
        return importlib.import_module("dxbeam.analysis.frontier.transform_documents")
    except ImportError:
        raise ConfigurationError(
            "`task` needs scikit-learn; install it with: pip install 'dxbeam[evaluate]'"
        ) from None


def described(job: FrontierJob) -> str:
    """What would be measured, and roughly how long that takes."""
    attacked, question, corpus = job.options.view_as(AttackedOptions), job.question, job.heading
    search = NeighborSearch(artifact.open_vocabulary(job.vocabulary))
    seed = job.options.view_as(MeasureOptions).seed
    ids = uniform_sample(attacked.attacked_words, job.vocabulary.words, seed).ids
    settings = planned(question, attacked.points, ids, search)
    points = sum(
        1 + sum(followed(c, setting.epsilons[0], job.vocabulary.words) for c in setting.rank_cs)
        for setting in settings
    )
    lines = [
        f"Would attack {attacked.attacked_words:,} words under {len(question.mechanisms)} "
        f"mechanisms, at {points} points:"
    ]
    for name, parameters in question.mechanisms:
        of = [s.epsilons[0] for s in settings if (s.mechanism, s.parameters) == (name, parameters)]
        lines.append(f"  {name}: {len(of)} values of epsilon, {of[0]:g} to {of[-1]:g}")
    if corpus.corpus and question.epsilons is None:
        lines.append("These values are for the vocabulary; words of the corpus will move them.")
    workers = launch.local_workers(job.options) or 0
    seconds = expected_seconds(settings, ids, attacked.pairs, search) / (workers or 1)
    task = job.options.view_as(EvaluateOptions).task
    where = f"{workers} worker processes" if workers > 1 else "one worker process"
    lines.append(
        f"Roughly {duration(seconds)} on {where}"
        + (f", and the {attacked.task_documents:,} documents of --task on top." if task else ".")
    )
    if attacked.attacker_model:
        words = job.attackers.words_read(attacked.context_documents, MOST_WORDS, points)
        seconds = seconds_with_model(attacked.attacker_model, words, search)
        lines.append(f"The model of --attacker_model adds up to {duration(seconds)} on one core.")
    return "\n".join([*lines, *cost_of_attackers(job), "Nothing was written (--dry_run)."])


def cost_of_attackers(job: FrontierJob) -> list[str]:
    """What attackers with a model cost, in sentences."""
    documents = job.options.view_as(AttackedOptions).context_documents or 0
    return job.attackers.cost(documents, MOST_WORDS, most_points(job))


def most_points(job: FrontierJob) -> int:
    """How many points there are, at most."""
    points = job.options.view_as(AttackedOptions).points
    return sum(
        len(epsilons_of(parameters, job.question.epsilons) or range(points))
        * (1 if reading_of(parameters) else 1 + len(job.question.rank_cs))
        for _, parameters in job.question.mechanisms
    )
