"""What an evaluation computes besides scores of documents, as the flags ask for it."""

from __future__ import annotations

from collections.abc import Iterator

import apache_beam as beam
from apache_beam import pvalue

from dxbeam.analysis.corpora.described import Describe
from dxbeam.analysis.corpora.encoded import ATTACKS, CompareEncoded
from dxbeam.analysis.corpora.perplexity import JudgeTexts
from dxbeam.analysis.corpora.transform import CompareCorpora
from dxbeam.analysis.evaluate.job import EvaluateJob
from dxbeam.analysis.evaluate.page import Measured
from dxbeam.analysis.evaluate.transform import Classify
from dxbeam.analysis.exposure.attack_texts import AttackTexts
from dxbeam.analysis.exposure.known import learn_known
from dxbeam.analysis.exposure.plant_canaries import PlantCanaries
from dxbeam.analysis.exposure.transform import CountSurvivors, FindAgain
from dxbeam.commands.flags.attackers import AttackerOptions
from dxbeam.commands.flags.evaluating import EvaluateOptions
from dxbeam.commands.flags.registry import SanitizeOptions
from dxbeam.commands.request import read_corpus
from dxbeam.text.public.function_words import ENGLISH


def measured_in(
    job: EvaluateJob, pipeline: beam.Pipeline, documents: pvalue.PCollection
) -> Measured:
    """Assembles what the flags ask for.

    Args:
      job: the evaluation.
      pipeline: that it runs in.
      documents: PCollection[DocumentVersions].
    """
    flags = job.options.view_as(EvaluateOptions)
    scores, attacks = [], [*_attacks_on(job, pipeline, documents)]
    if flags.word_statistics:
        scores.append(documents | "CompareCorpora" >> CompareCorpora(job.vocabulary))
    none = pipeline | "None" >> beam.Create([])
    classified = none
    if job.questions or flags.encoder:
        describe = Describe(job.questions, job.vocabulary, sorted(ENGLISH), flags.encoder or "")
        described = documents | "Describe" >> beam.ParDo(describe)
    if job.questions:
        curve_of = "task" if flags.learning_curve else ""
        classified = described | "Classify" >> Classify(job.questions, curve_of)
    if flags.encoder:
        compared = described | "CompareEncoded" >> CompareEncoded(job.reidentify)
        scores.append(compared.scores)
        attacks.append(compared[ATTACKS])
    if flags.perplexity_model:
        scores.append(documents | "JudgeTexts" >> JudgeTexts(flags.perplexity_model))
    return Measured(
        classified,
        [none, *scores] | "OfCorpora" >> beam.Flatten(),
        attacks | "Attacks" >> beam.Flatten(),
    )


def _attacks_on(
    job: EvaluateJob, pipeline: beam.Pipeline, documents: pvalue.PCollection
) -> Iterator[pvalue.PCollection]:
    survivors = CountSurvivors(job.vocabulary, job.language_model, job.entities)
    yield documents | "CountSurvivors" >> survivors
    if job.reidentify:
        yield documents | "FindAgain" >> FindAgain(job.reidentify, job.vocabulary)
    if job.attackers.any:
        yield documents | "AttackTexts" >> _attack_texts(job, pipeline)
    if job.canaries and job.vocabulary is not None:
        planted = PlantCanaries(job.settings_of_words, job.canaries, job.vocabulary)
        yield pipeline | "PlantCanaries" >> planted


def _attack_texts(job: EvaluateJob, pipeline: beam.Pipeline) -> AttackTexts:
    """The attackers with a model."""
    shared, flags = job.options.view_as(SanitizeOptions), job.options.view_as(AttackerOptions)
    assert job.vocabulary is not None
    known = learn_known(pipeline, lambda: read_corpus(shared, flags.public_input), job.vocabulary)
    return AttackTexts(
        job.settings,
        known,
        job.vocabulary,
        job.language_model,
        job.attackers,
        flags.context_documents,
        job.options.view_as(EvaluateOptions).attack or "",
        job.entities,
        job.reidentify,
    )
