r"""Measures what settings leave of words against what attackers get of them: the frontier.

    dxbeam frontier --vocabulary demo --mechanisms all --rank_cs 0.04 --output frontier

writes report.html, a page with the picture and with the settings that leave most where at most a
given share of words is recovered, and frontier.parquet, a row per point with intervals, to
frontier/. Words of the public vocabulary are tried, each as likely as any other. Without --runner
it runs on this machine; --dry_run says how many points there are and roughly how long they take.

    --mechanisms all              every one that needs no consent; others can be named
    --input 'corpus/*.jsonl'      words as frequent as in these texts, instead
    --task label                  documents of --input, too: how well this field is learnt from
                                  released ones, and Word Mover's Distance to them
    --public_input 'news/*.jsonl' attackers know how frequent words are from these public texts
    --context_documents 30        and which words follow which, and read documents of --input
    --attackers learned           and train a network on public text that they release themselves
    --attacker_model DIR          and bring a language model, in a directory of transformers
    --language_model DIR          fluent and laplace:decode=context among --mechanisms read with it
    --importance stop_words       with santext and tem, under public weights of words
    --most_risk 0.2               the share of words that may be recovered
    --points 7                    this many values of epsilon for each mechanism
    --epsilons 5:20:1             another grid, the same for all

What is measured by --input is computed from raw text: keep it with the corpus. Who the attackers
are and what they know: docs/guides/attackers.md.
"""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import apache_beam as beam
from apache_beam import pvalue
from apache_beam.options.pipeline_options import PipelineOptions, TestOptions

from dxbeam import storage
from dxbeam.commands import launch
from dxbeam.commands.flags.evaluating import EvaluateOptions
from dxbeam.commands.flags.measuring import MeasureOptions
from dxbeam.commands.flags.output import OutputOptions
from dxbeam.commands.flags.registry import FRONTIER, AttackedOptions, SanitizeOptions
from dxbeam.commands.options import parse, require
from dxbeam.commands.request import check_corpus, check_measured, read_corpus
from dxbeam.errors import ConfigurationError
from dxbeam.mechanisms import MECHANISMS
from dxbeam.release import claim
from dxbeam.space.artifact import artifact
from dxbeam.space.artifact.artifact import VocabularyHandle
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.text.public.importance_file import read_importance
from dxbeam.transforms.reading.count_words import CountWords
from dxbeam.transforms.reading.labelled_documents import MOST_WORDS, KnownRuns, LabelledDocuments

try:
    from dxbeam.analysis.attackers.models.asked_for import AskedFor, attackers_of
    from dxbeam.analysis.attackers.models.with_model import PUBLIC_WORDS
    from dxbeam.analysis.frontier import compute as frontier
    from dxbeam.analysis.frontier.cost import expected_seconds, seconds_with_model
    from dxbeam.analysis.frontier.following import Context, LearnFollowing
    from dxbeam.analysis.frontier.page import LEFT_OUT_BECAUSE, PAGE, Asked, WriteFrontier
    from dxbeam.analysis.frontier.transform import (
        MeasureFrontier,
        PlanFrontier,
        followed,
        planned,
    )
    from dxbeam.analysis.measure import grids
    from dxbeam.analysis.measure import plan as measurement
    from dxbeam.analysis.measure.plan import NamedWeights, Question
    from dxbeam.analysis.measure.public_parameters import epsilons_of, named_model, reading_of
    from dxbeam.analysis.measure.sample_words import SampleWords
    from dxbeam.analysis.measure.transform import SharedSearch
    from dxbeam.analysis.measure.word_sample import uniform_sample
    from dxbeam.analysis.pages.page import heading
    from dxbeam.release.plan import duration
except ImportError:
    sys.exit(
        "dxbeam: the frontier needs scipy, matplotlib and jinja2; install them with: "
        "pip install 'dxbeam[report]'"
    )


class FrontierJob(NamedTuple):
    """A frontier, as the flags ask for it.

    Attributes:
      options: the flags.
      question: what is asked.
      vocabulary: the vocabulary's handle.
      asked: what the page says was asked.
      attackers: those with a model.
    """

    options: PipelineOptions
    question: Question
    vocabulary: VocabularyHandle
    asked: Asked
    attackers: AskedFor


def read_options(options: PipelineOptions, argv: Sequence[str]) -> FrontierJob:
    """The frontier that the flags ask for.

    Of files it reads the vocabulary's manifest and the weights of words only.

    Raises:
      DxbeamError: a flag that is needed and missing, or flags that do not go together.
    """
    own, shared = options.view_as(AttackedOptions), options.view_as(SanitizeOptions)
    asked_for, task = options.view_as(MeasureOptions), options.view_as(EvaluateOptions).task
    require(shared, "vocabulary")
    require(options.view_as(OutputOptions), "output")
    launch.refuse_quoting(options)
    frontier.best_within([], own.most_risk)
    if task and not shared.input:
        raise ConfigurationError(f"`task` {task} is a field of documents; name them with `input`")
    if task and task in (shared.text_field, shared.id_field):
        raise ConfigurationError(f"`task` {task}: this is the text or the id; name another")
    if own.context_documents and not (shared.input and own.public_input):
        raise ConfigurationError(
            "`context_documents` are of `input`, and what follows what is learnt from "
            "`public_input`; name both"
        )
    attackers = attackers_of(own)
    vocabulary = artifact.handle(shared.vocabulary)
    epsilons = None if asked_for.epsilons == "auto" else tuple(grids.parse(asked_for.epsilons))
    promising = measurement.without_consent()
    model = named_model(shared.language_model)
    mechanisms = measurement.named_mechanisms(asked_for.mechanisms, promising, model)
    reading = [name for name, parameters in mechanisms if reading_of(parameters)]
    if model and not reading:
        raise ConfigurationError(
            "`language_model` is read by fluent and by decode=prior or decode=context in "
            "`mechanisms`; name one of them, or leave `language_model` out"
        )
    if reading and not own.context_documents:
        raise ConfigurationError(
            f"`mechanisms` {reading[0]} reads texts with `language_model`, so it is measured on "
            "texts; say on how many, with `context_documents`"
        )
    importance = None
    if shared.importance:
        importance = NamedWeights(shared.importance, read_importance(shared.importance))
    measurement.check_defined(mechanisms, epsilons or (), vocabulary.dimensions, importance)
    question = Question(mechanisms, epsilons, measurement.rank_cs(asked_for.rank_cs), 0, importance)
    left_out = set(MECHANISMS) - set(promising) if asked_for.mechanisms == "all" else set()
    begun = heading(shared.vocabulary, vocabulary, shared.input, ["frontier", *argv])
    asked = Asked(
        begun,
        own.public_input or "",
        own.most_risk,
        question.rank_cs,
        tuple(sorted(left_out)),
        importance.weights.sentence if importance else "",
    )
    return FrontierJob(options, question, vocabulary, asked, attackers)


def _classifiers() -> Any:
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


def build(job: FrontierJob) -> beam.Pipeline:
    """Assembles the job; nothing runs yet."""
    own, shared = job.options.view_as(AttackedOptions), job.options.view_as(SanitizeOptions)
    task = job.options.view_as(EvaluateOptions).task
    seed = job.options.view_as(MeasureOptions).seed
    pipeline = launch.new_pipeline(job.options)
    measure_documents: Any = _classifiers() if task else None

    def counted(pattern: str) -> CountWords:
        return CountWords(read_corpus(shared, pattern), job.vocabulary)

    search = SharedSearch(job.vocabulary, launch.backend(job.options))
    counting = counted(shared.input) if shared.input else None
    sample, _ = pipeline | "SampleWords" >> SampleWords(
        own.attacked_words, job.vocabulary.words, seed, counting
    )
    public = None
    if own.public_input:
        public = (pipeline | "CountPublicWords" >> counted(own.public_input)).counts
    documents = baseline = utility = None
    if task:
        documents = pipeline | "LabelledDocuments" >> _documents(job, own.task_documents, task)
        learning = measure_documents.MeasureBaseline(task, job.vocabulary.words)
        baseline = documents | "MeasureBaseline" >> learning
        # A task that cannot be learnt is refused before anything is measured.
        sample = sample | "TaskFirst" >> beam.Map(lambda it, _: it, pvalue.AsSingleton(baseline))
    tasks = sample | "PlanFrontier" >> PlanFrontier(job.question, own.points, search)
    points = tasks | "MeasureFrontier" >> MeasureFrontier(
        public, search, seed, own.pairs, _context(job, pipeline)
    )
    if task:
        utility = tasks | "MeasureDocuments" >> measure_documents.MeasureDocuments(
            documents, search, seed
        )
    output = job.options.view_as(OutputOptions).output
    _ = points | "WriteFrontier" >> WriteFrontier(output, job.asked, utility, baseline)
    return pipeline


def _context(job: FrontierJob, pipeline: beam.Pipeline) -> Context | None:
    """Documents that are read with context, and what follows what in public text."""
    own, shared = job.options.view_as(AttackedOptions), job.options.view_as(SanitizeOptions)
    if not own.context_documents:
        return None
    texts = pipeline | "PublicTexts" >> KnownRuns(
        read_corpus(shared, own.public_input), job.vocabulary
    )
    following = texts | "LearnFollowing" >> LearnFollowing(job.vocabulary.words)
    documents = pipeline | "ContextDocuments" >> _documents(job, own.context_documents)
    attackers = job.attackers.divided(_most_points(job))
    return Context(documents, following, texts if attackers.any else None, attackers)


def _documents(job: FrontierJob, count: int, field: str = "") -> LabelledDocuments:
    """Documents of the corpus, with a field as their label."""
    shared, seed = job.options.view_as(SanitizeOptions), job.options.view_as(MeasureOptions).seed
    read = read_corpus(shared, shared.input, (field,) if field else ())
    return LabelledDocuments(read, job.vocabulary, field, count, seed)


@launch.naming_flags
def measure_frontier(argv: Sequence[str]) -> None:
    """Checks the flags, measures, and says where the page is."""
    options = parse(argv, FRONTIER, __doc__ or "")
    own, shared = options.view_as(AttackedOptions), options.view_as(SanitizeOptions)
    output = options.view_as(OutputOptions).output
    job = read_options(options, argv)
    claim.check_empty(output)
    if shared.input:
        check_measured(shared, output, shared.input)
    if own.public_input:
        check_corpus(shared, own.public_input)
    measurement.check_words(job.question, job.vocabulary)
    pipeline = build(job)
    if job.asked.left_out:
        print(f"Left out: {', '.join(job.asked.left_out)}. {LEFT_OUT_BECAUSE}")
    if options.view_as(TestOptions).dry_run:
        print(_described(job))
        return
    started = time.monotonic()
    for sentence in _cost(job):
        print(sentence)
    launch.run(pipeline)
    print(
        f"Attacked {len(job.question.mechanisms)} mechanisms in "
        f"{duration(time.monotonic() - started)}. Report: {storage.join(output, PAGE)}"
    )


def _described(job: FrontierJob) -> str:
    """What would be measured, and roughly how long that takes."""
    own, question, corpus = job.options.view_as(AttackedOptions), job.question, job.asked.heading
    search = NeighborSearch(artifact.open_vocabulary(job.vocabulary))
    seed = job.options.view_as(MeasureOptions).seed
    ids = uniform_sample(own.attacked_words, job.vocabulary.words, seed).ids
    settings = planned(question, own.points, ids, search)
    points = sum(
        1 + sum(followed(c, setting.epsilons[0], job.vocabulary.words) for c in setting.rank_cs)
        for setting in settings
    )
    lines = [
        f"Would attack {own.attacked_words:,} words under {len(question.mechanisms)} mechanisms, "
        f"at {points} points:"
    ]
    for name, parameters in question.mechanisms:
        of = [s.epsilons[0] for s in settings if (s.mechanism, s.parameters) == (name, parameters)]
        lines.append(f"  {name}: {len(of)} values of epsilon, {of[0]:g} to {of[-1]:g}")
    if corpus.corpus and question.epsilons is None:
        lines.append("These values are for the vocabulary; words of the corpus will move them.")
    workers = launch.local_workers(job.options) or 0
    seconds = expected_seconds(settings, ids, own.pairs, search) / (workers or 1)
    task = job.options.view_as(EvaluateOptions).task
    where = f"{workers} worker processes" if workers > 1 else "one worker process"
    lines.append(
        f"Roughly {duration(seconds)} on {where}"
        + (f", and the {own.task_documents:,} documents of --task on top." if task else ".")
    )
    if own.attacker_model:
        words = points * (own.context_documents * MOST_WORDS + PUBLIC_WORDS)
        seconds = seconds_with_model(own.attacker_model, words, search)
        lines.append(f"The model of --attacker_model adds up to {duration(seconds)} on one core.")
    return "\n".join([*lines, *_cost(job), "Nothing was written (--dry_run)."])


def _cost(job: FrontierJob) -> list[str]:
    """What attackers with a model cost, in sentences."""
    documents = job.options.view_as(AttackedOptions).context_documents or 0
    return job.attackers.cost(documents, MOST_WORDS, _most_points(job))


def _most_points(job: FrontierJob) -> int:
    """How many points there are, at most."""
    points = job.options.view_as(AttackedOptions).points
    return sum(
        len(epsilons_of(parameters, job.question.epsilons) or range(points))
        * (1 if reading_of(parameters) else 1 + len(job.question.rank_cs))
        for _, parameters in job.question.mechanisms
    )


if __name__ == "__main__":
    launch.main(measure_frontier)
