r"""Compares a release with its originals: what its text is still good for, and what it still tells.

    dxbeam evaluate --original 'corpus/*.jsonl' --released release \
        --vocabulary vocabularies/glove --output evaluated

writes report.html and scores.parquet (a row per metric, with interval and number of documents) to
evaluated/: words unchanged, BLEU, chrF, ROUGE, similarity of word vectors, Word Mover's Distance.

    --task label          how well classifiers learn this field from the released text
    --attack author       how well they tell this field from it, as an attacker would
    --group_by label      all scores for each value of this field, too

Everything is computed from raw text, and no guarantee covers it: keep it with the corpus, not with
the release. Documents are found by their ids, and ids, labels and groups are the corpus's. Runs
locally by default, and on any Beam runner with --runner; classifiers on one of its workers, for up
to some hundred thousand documents.
"""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Sequence
from typing import NamedTuple

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions, TestOptions

from dxbeam import storage
from dxbeam.commands import launch
from dxbeam.commands.options import (
    CommonOptions,
    EvaluateOptions,
    SanitizeOptions,
    parse,
    require,
)
from dxbeam.commands.request import corpus_format
from dxbeam.corpus import reading
from dxbeam.corpus.files import matching_files
from dxbeam.corpus.formats import CorpusFormat
from dxbeam.errors import ConfigurationError, CorpusError
from dxbeam.release import claim, places
from dxbeam.space import artifact
from dxbeam.space.artifact import VocabularyHandle
from dxbeam.text.bag_of_words import ENGLISH
from dxbeam.transforms.paired_release import GivenRelease, PairWithRelease, open_release

try:
    from dxbeam.analysis import classification
    from dxbeam.analysis.classification import Question
    from dxbeam.analysis.evaluate import Classify, ScoreDocuments
    from dxbeam.analysis.evaluation_page import FROM_RAW_TEXT, Heading, WriteEvaluation
    from dxbeam.analysis.pages import REPORT
    from dxbeam.analysis.text_features import MEAN_VECTOR, STYLE, WORDS
except ImportError:
    sys.exit(
        "dxbeam: evaluating needs sacrebleu, rouge-score, scikit-learn and what measuring needs; "
        "install them with: pip install 'dxbeam[evaluate]'"
    )


class EvaluateJob(NamedTuple):
    """An evaluation, as the flags ask for it.

    Attributes:
      options: the flags.
      read_as: how the originals are read.
      release: the release, which is whole.
      vocabulary: the vocabulary's handle, or None.
      questions: what is classified.
      heading: what the report begins with.
    """

    options: PipelineOptions
    read_as: CorpusFormat
    release: GivenRelease
    vocabulary: VocabularyHandle | None
    questions: list[Question]
    heading: Heading


def read_options(options: PipelineOptions, argv: Sequence[str]) -> EvaluateJob:
    """The evaluation that the flags ask for; reads the release, to see that it is whole.

    Raises:
      DxbeamError: a flag that is needed and missing, flags that do not go together, or no release.
    """
    own, shared = options.view_as(EvaluateOptions), options.view_as(SanitizeOptions)
    require(own, "original", "released")
    require(options.view_as(CommonOptions), "output")
    launch.refuse_quoting(options)
    _check_places(own.released, options.view_as(CommonOptions).output)
    fields = tuple(dict.fromkeys(filter(None, (own.task, own.attack))))
    for flag, field in (("task", own.task), ("attack", own.attack)):
        if field in (shared.text_field, shared.id_field):
            raise ConfigurationError(f"`{flag}` {field}: this is the text or the id; name another")
    read_as = corpus_format(shared, fields, shared.group_by)
    vocabulary = artifact.handle(shared.vocabulary) if shared.vocabulary else None
    release = open_release(own.released)
    questions = []
    if own.task:
        kinds = (WORDS, MEAN_VECTOR) if vocabulary else (WORDS,)
        questions.append(classification.task(own.task, kinds))
    if own.attack:
        questions.append(classification.attack(own.attack, (STYLE, WORDS)))
    made_with = release.manifest.get("vocabulary") or {}
    heading = Heading(
        corpus=own.original,
        release=own.released,
        promise=release.manifest["guarantee"]["sentence"],
        vocabulary=shared.vocabulary or "",
        own_vocabulary=vocabulary is not None and made_with.get("digest") == vocabulary.digest,
        group_by=shared.group_by or "",
        command=shlex.join(["dxbeam", "evaluate", *argv]),
    )
    return EvaluateJob(options, read_as, release, vocabulary, questions, heading)


def _check_places(released: str, output: str) -> None:
    """Refuses to write figures that no guarantee covers into the release."""
    if places.is_within(output, released):
        raise ConfigurationError(
            f"`output` {output} lies in the release, and what is computed from raw text does not "
            "belong there; choose another directory"
        )


def build(job: EvaluateJob) -> beam.Pipeline:
    """Assembles the job; nothing runs yet."""
    shared = job.options.view_as(SanitizeOptions)
    pipeline = beam.Pipeline(options=job.options)
    pairs = pipeline | "Pair" >> PairWithRelease(
        job.heading.corpus, job.read_as, shared.allow_unreadable_files, job.release
    )
    documents = pairs.documents
    sums = documents | "ScoreDocuments" >> ScoreDocuments(job.vocabulary, bool(shared.group_by))
    classified = [
        documents
        | f"Classify {question.flag}" >> Classify(question, job.vocabulary, sorted(ENGLISH))
        for question in job.questions
    ]
    every = (
        classified | "AllClassified" >> beam.Flatten()
        if classified
        else pipeline | "NoneClassified" >> beam.Create([])
    )
    output = job.options.view_as(CommonOptions).output
    _ = pairs.unpaired | "WriteEvaluation" >> WriteEvaluation(output, job.heading, sums, every)
    return pipeline


@launch.naming_flags
def evaluate_release(argv: Sequence[str]) -> None:
    """Checks the flags, compares, and says where the report lies."""
    options = parse(argv, EvaluateOptions, __doc__ or "")
    shared, output = options.view_as(SanitizeOptions), options.view_as(CommonOptions).output
    job = read_options(options, argv)
    claim.check_empty(output)
    try:
        files = matching_files(job.heading.corpus)
    except CorpusError as error:
        raise CorpusError(str(error).replace("`input`", "`original`")) from None
    reading.check_readable(files, job.read_as, shared.allow_unreadable_files)
    pipeline = build(job)
    if options.view_as(TestOptions).dry_run:
        print(_described(job))
        return
    started = time.monotonic()
    launch.run(pipeline)
    print(
        f"Compared {job.heading.release} with its originals in {time.monotonic() - started:.0f} "
        f"seconds. Report: {storage.join(output, REPORT)}\n{FROM_RAW_TEXT}"
    )


def _described(job: EvaluateJob) -> str:
    """What would be compared."""
    released = job.release.manifest["documents_out"]
    return "\n".join(
        [
            f"Would compare {released:,} released documents with their originals.",
            *(f"Would classify by {question.field}." for question in job.questions),
            "Nothing was written (--dry_run).",
        ]
    )


if __name__ == "__main__":
    launch.main(evaluate_release)
