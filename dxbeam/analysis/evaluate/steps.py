"""What an evaluation computes besides scores of documents, as the flags ask for it."""

from __future__ import annotations

import apache_beam as beam
from apache_beam import pvalue

from dxbeam.analysis.corpora.transform import CompareCorpora
from dxbeam.analysis.evaluate.job import EvaluateJob
from dxbeam.analysis.evaluate.transform import Classify
from dxbeam.analysis.exposure.attack_texts import AttackTexts, learn_known
from dxbeam.analysis.exposure.plant_canaries import PlantCanaries
from dxbeam.analysis.exposure.transform import CountSurvivors, FindAgain
from dxbeam.commands.flags.attackers import AttackerOptions
from dxbeam.commands.flags.evaluating import EvaluateOptions
from dxbeam.commands.flags.registry import SanitizeOptions
from dxbeam.commands.request import read_corpus
from dxbeam.text.public.function_words import ENGLISH


def classified_in(
    job: EvaluateJob, pipeline: beam.Pipeline, documents: pvalue.PCollection
) -> pvalue.PCollection:
    """What classifiers learn: PCollection[tuple[int | None, Classified]]; arguments as below."""
    if not job.questions:
        return pipeline | "NoneClassified" >> beam.Create([])
    curve_of = "task" if job.options.view_as(EvaluateOptions).learning_curve else ""
    return documents | "Classify" >> Classify(
        job.questions, job.vocabulary, sorted(ENGLISH), curve_of
    )


def of_corpora(
    job: EvaluateJob, pipeline: beam.Pipeline, documents: pvalue.PCollection
) -> pvalue.PCollection:
    """Scores of whole releases: PCollection[tuple[int, Score]]; arguments as below."""
    if not job.options.view_as(EvaluateOptions).word_statistics:
        return pipeline | "NoneCompared" >> beam.Create([])
    return documents | "CompareCorpora" >> CompareCorpora(job.vocabulary)


def attacks_on(
    job: EvaluateJob, pipeline: beam.Pipeline, documents: pvalue.PCollection
) -> pvalue.PCollection:
    """What attackers get: PCollection[tuple[int, Attack]], with the number of the release.

    Args:
      job: the evaluation.
      pipeline: that it runs in.
      documents: PCollection[DocumentVersions].
    """
    attacks = [
        documents
        | "CountSurvivors"
        >> CountSurvivors(job.vocabulary, job.language_model, sorted(ENGLISH), job.entities)
    ]
    if job.reidentify:
        attacks.append(documents | "FindAgain" >> FindAgain(job.reidentify, job.vocabulary))
    if job.attackers.any:
        attacks.append(documents | "AttackTexts" >> _attack_texts(job, pipeline))
    if job.canaries and job.vocabulary is not None:
        planted = PlantCanaries(job.settings_of_words, job.canaries, job.vocabulary)
        attacks.append(pipeline | "PlantCanaries" >> planted)
    return attacks | "Attacks" >> beam.Flatten()


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
    )
