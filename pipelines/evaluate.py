r"""Compares releases with their originals: what text is still good for, and what it still tells.

    dxbeam evaluate --original 'corpus/*.jsonl' --released release \
        --vocabulary vocabularies/glove --output evaluated

writes report.html and scores.parquet (a row per metric, with interval and number of documents) to
evaluated/: words unchanged, BLEU, chrF, ROUGE, similarity of word vectors, Word Mover's Distance;
and attackers.parquet: which names and numbers stayed.

    --task label          how well classifiers learn this field from the released text
    --attack author       how well they tell this field from it, as an attacker would
    --reidentify 2000     how well this many documents are found again by their releases
    --entities spans      which spans of text, named by this field, stayed as they were
    --context_documents N attackers with a model read this many documents and know --public_input:
                          --attackers learned, --attacker_model DIR, --attacker_endpoint URL
    --group_by label      all scores for each value of this field, too
    --language_model DIR  rare words apart, and perplexity under this public model
    --key_uri file:///k   with the kept key of the release: refuse any other corpus
    --released 'eps-*'    several releases of the corpus side by side, and against epsilon

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
from dxbeam.commands.flags.attackers import AttackerOptions
from dxbeam.commands.flags.evaluating import EvaluateOptions
from dxbeam.commands.flags.output import OutputOptions
from dxbeam.commands.flags.registry import EVALUATE, SanitizeOptions
from dxbeam.commands.options import parse, require
from dxbeam.commands.request import check_corpus, corpus_format, read_corpus
from dxbeam.corpus import reading
from dxbeam.corpus.files import matching_files, text_bytes
from dxbeam.corpus.formats import CorpusFormat
from dxbeam.errors import ConfigurationError, CorpusError
from dxbeam.keys import fingerprint, read_key
from dxbeam.language.artifact import check_vocabulary, language_model_handle
from dxbeam.language.handle import LanguageModelHandle
from dxbeam.release import claim, places
from dxbeam.release.text_release import TextRelease, named_releases, open_text_release
from dxbeam.space.artifact import artifact
from dxbeam.space.artifact.artifact import VocabularyHandle
from dxbeam.text.configuration import Configuration
from dxbeam.text.public.function_words import ENGLISH
from dxbeam.transforms.reading.corpus_digest import CompareCorpus
from dxbeam.transforms.reading.count_words import CountWords
from dxbeam.transforms.reading.labelled_documents import KnownRuns
from dxbeam.transforms.reading.paired_release import PairWithReleases
from dxbeam.transforms.reading.sources import ReadDocuments

try:
    from dxbeam.analysis.attackers.models.asked_for import AskedFor, attackers_of
    from dxbeam.analysis.evaluate import classification
    from dxbeam.analysis.evaluate.classification import Classification
    from dxbeam.analysis.evaluate.headings import (
        Heading,
        in_order_of_settings,
        release_heading,
        told_apart,
    )
    from dxbeam.analysis.evaluate.page import (
        FROM_RAW_TEXT,
        PROBLEM,
        WriteEvaluation,
    )
    from dxbeam.analysis.evaluate.text_features import MEAN_VECTOR, STYLE, WORDS
    from dxbeam.analysis.evaluate.transform import Classify, ScoreDocuments
    from dxbeam.analysis.exposure.attack_texts import MOST_WORDS, AttackTexts, Known
    from dxbeam.analysis.exposure.own_releases import settings_of
    from dxbeam.analysis.exposure.transform import CountSurvivors, FindAgain
    from dxbeam.analysis.frontier.following import LearnFollowing
    from dxbeam.analysis.pages.page import REPORT
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
      releases: the releases, which are whole.
      vocabulary: the vocabulary's handle, or None.
      language_model: the handle of the model by which texts are judged, or None.
      questions: what is classified.
      reidentify: how many documents are to be found again; 0 for none.
      entities: the field that holds spans; "" for none.
      attackers: those with a model.
      settings: of each release, as attackers release by them; none where there are no attackers.
      heading: what the report begins with.
    """

    options: PipelineOptions
    read_as: CorpusFormat
    releases: list[TextRelease]
    vocabulary: VocabularyHandle | None
    language_model: LanguageModelHandle | None
    questions: list[Classification]
    reidentify: int
    entities: str
    attackers: AskedFor
    settings: list[Configuration]
    heading: Heading


def read_options(options: PipelineOptions, argv: Sequence[str]) -> EvaluateJob:
    """The evaluation that the flags ask for; reads the releases, to see that they are whole.

    Raises:
      DxbeamError: a flag that is needed and missing, flags that do not go together, or no release.
    """
    flags, shared = options.view_as(EvaluateOptions), options.view_as(SanitizeOptions)
    require(flags, "original", "released")
    require(options.view_as(OutputOptions), "output")
    launch.refuse_quoting(options)
    prefixes = named_releases(flags.released)
    _check_places(prefixes, options.view_as(OutputOptions).output)
    releases = sorted(map(open_text_release, prefixes), key=in_order_of_settings)
    fields = dict.fromkeys(filter(None, (flags.task, flags.attack, flags.entities)))
    if shared.key_uri:  # then the corpus is read as it was for the releases
        _check_key(shared.key_uri, releases)
        fields |= dict.fromkeys(name for each in releases for name in each.manifest["kept_fields"])
    for flag in ("task", "attack", "entities"):
        field = getattr(flags, flag)
        if field in (shared.text_field, shared.id_field):
            raise ConfigurationError(f"`{flag}` {field}: this is the text or the id; name another")
    read_as = corpus_format(shared, tuple(fields), shared.group_by)
    vocabulary = artifact.handle(shared.vocabulary) if shared.vocabulary else None
    language_model = _language_model(shared.language_model, vocabulary)
    questions = []
    if flags.task:
        kinds = (WORDS, MEAN_VECTOR) if vocabulary else (WORDS,)
        questions.append(classification.task(flags.task, kinds))
    if flags.attack:
        questions.append(classification.attack(flags.attack, (STYLE, WORDS)))
    heading = Heading(
        corpus=flags.original,
        releases=told_apart([release_heading(release, vocabulary) for release in releases]),
        vocabulary=shared.vocabulary or "",
        group_by=shared.group_by or "",
        command=shlex.join(["dxbeam", "evaluate", *argv]),
    )
    found_again, entities = flags.reidentify or 0, flags.entities or ""
    attackers = _attackers(options, len(releases), vocabulary)
    settings = [settings_of(each, language_model) for each in releases if attackers.any]
    return EvaluateJob(
        options, read_as, releases, vocabulary, language_model, questions, found_again, entities,
        attackers, settings, heading,
    )  # fmt: skip


def _attackers(
    options: PipelineOptions, releases: int, vocabulary: VocabularyHandle | None
) -> AskedFor:
    """The attackers with a model, with the requests of one question about one release."""
    flags = options.view_as(AttackerOptions)
    attackers = attackers_of(flags)
    if attackers.any and (vocabulary is None or not flags.public_input):
        raise ConfigurationError(
            "`context_documents`: attackers with a model know words by `vocabulary`, and learn "
            "from `public_input`; name both"
        )
    return attackers.divided(releases * _questions(options))


def _questions(options: PipelineOptions) -> int:
    """How many questions an endpoint is asked about a document: its words, and who wrote it."""
    return 2 if options.view_as(EvaluateOptions).attack else 1


def _language_model(
    place: str | None, vocabulary: VocabularyHandle | None
) -> LanguageModelHandle | None:
    """The handle of the model by which texts are judged, made for this vocabulary."""
    if place is None:
        return None
    if vocabulary is None:
        raise ConfigurationError(
            "`language_model` holds probabilities of the words of a vocabulary; name that, too, "
            "with `vocabulary`"
        )
    handle = language_model_handle(place)
    check_vocabulary(handle, artifact.open_vocabulary(vocabulary).content_digest)
    return handle


def _check_key(key_uri: str, releases: Sequence[TextRelease]) -> None:
    """Refuses a key that the releases were not made with."""
    key = fingerprint(read_key(key_uri))
    for release in releases:
        if release.manifest["key"]["fingerprint"] != key:
            raise ConfigurationError(
                f"`key_uri` {key_uri}: the release {release.prefix} was made with another key; "
                "name its key, or leave it out"
            )


def _check_places(releases: Sequence[str], output: str) -> None:
    """Refuses to write figures that no guarantee covers into a release."""
    for released in releases:
        if places.is_within(output, released):
            raise ConfigurationError(
                f"`output` {output} is within the release {released}, and what is computed from "
                "raw text does not belong there; choose another directory"
            )


def build(job: EvaluateJob) -> beam.Pipeline:
    """Assembles the job; nothing runs yet."""
    shared = job.options.view_as(SanitizeOptions)
    pipeline = launch.new_pipeline(job.options)
    pairs = pipeline | "Pair" >> PairWithReleases(
        ReadDocuments(
            job.heading.corpus, job.read_as, allow_unreadable=shared.allow_unreadable_files
        ),
        job.releases,
    )
    documents = pairs.documents
    sums = documents | "ScoreDocuments" >> ScoreDocuments(
        job.vocabulary,
        bool(shared.group_by),
        max(release.manifest["documents_out"] for release in job.releases),
        job.language_model,
    )
    classified = (
        documents | "Classify" >> Classify(job.questions, job.vocabulary, sorted(ENGLISH))
        if job.questions
        else pipeline | "NoneClassified" >> beam.Create([])
    )
    survivors = documents | "CountSurvivors" >> CountSurvivors(
        job.vocabulary, job.language_model, sorted(ENGLISH), job.entities
    )
    linked = (
        documents | "FindAgain" >> FindAgain(job.reidentify, job.vocabulary)
        if job.reidentify
        else pipeline | "NoneLinked" >> beam.Create([])
    )
    attacked = (
        documents | "AttackTexts" >> _attack_texts(job, pipeline)
        if job.attackers.any
        else pipeline | "NoneAttacked" >> beam.Create([])
    )
    attacks = (survivors, linked, attacked) | "Attacks" >> beam.Flatten()
    # With an epsilon for each document, its digest depends on the field that decides.
    recorded = {
        number: (release.manifest["corpus_digest"], release.manifest["configuration_digest"])
        for number, release in enumerate(job.releases)
        if "epsilon_by" not in release.manifest["configuration"]
    }
    same_corpus = (
        pairs.originals | "CompareCorpus" >> CompareCorpus(shared.key_uri, recorded)
        if shared.key_uri and recorded
        else pipeline | "NoCorpusCompared" >> beam.Create([])
    )
    output = job.options.view_as(OutputOptions).output
    _ = pairs.unpaired | "WriteEvaluation" >> WriteEvaluation(
        output, job.heading, sums, classified, same_corpus, attacks
    )
    return pipeline


def _attack_texts(job: EvaluateJob, pipeline: beam.Pipeline) -> AttackTexts:
    """Attackers with a model, and what they know of public text."""
    shared, flags = job.options.view_as(SanitizeOptions), job.options.view_as(AttackerOptions)
    assert job.vocabulary is not None
    vocabulary = job.vocabulary

    def read() -> ReadDocuments:
        return read_corpus(shared, flags.public_input)

    texts = pipeline | "PublicTexts" >> KnownRuns(read(), vocabulary)
    counts = (pipeline | "CountPublicWords" >> CountWords(read(), vocabulary)).counts
    following = texts | "LearnFollowing" >> LearnFollowing(vocabulary.words)
    return AttackTexts(
        job.settings, Known(counts, following, texts), vocabulary, job.language_model,
        job.attackers, flags.context_documents, job.options.view_as(EvaluateOptions).attack or "",
    )  # fmt: skip


@launch.naming_flags
def evaluate_release(argv: Sequence[str]) -> None:
    """Checks the flags, compares, and says where the report is."""
    options = parse(argv, EVALUATE, __doc__ or "")
    shared, output = options.view_as(SanitizeOptions), options.view_as(OutputOptions).output
    job = read_options(options, argv)
    claim.check_empty(output)
    try:
        files = matching_files(job.heading.corpus)
    except CorpusError as error:
        raise CorpusError(str(error).replace("`input`", "`original`")) from None
    reading.check_readable(files, job.read_as, shared.allow_unreadable_files)
    if job.attackers.any:
        check_corpus(shared, options.view_as(AttackerOptions).public_input)
    launch.spread(options, text_bytes(files) * (1 + len(job.releases)))
    pipeline = build(job)
    if options.view_as(TestOptions).dry_run:
        print(_described(job))
        return
    started = time.monotonic()
    for sentence in _cost(job):
        print(sentence)
    launch.run(pipeline)
    _refuse_another_corpus(output)
    print(
        f"Compared {_counted(job)} with the originals in {time.monotonic() - started:.0f} "
        f"seconds. Report: {storage.join(output, REPORT)}\n{FROM_RAW_TEXT}"
    )


def _refuse_another_corpus(output: str) -> None:
    """Raises what kept the page from being written, if something did."""
    path = storage.join(output, PROBLEM)
    if storage.exists(path):
        problem = storage.read(path).decode()
        storage.delete(path)
        storage.delete_empty(output)
        raise CorpusError(problem)


def _counted(job: EvaluateJob) -> str:
    if len(job.releases) > 1:
        return f"{len(job.releases)} releases"
    return f"{job.releases[0].prefix}"


def _cost(job: EvaluateJob) -> list[str]:
    """What attackers with a model cost, in sentences."""
    documents = job.options.view_as(AttackerOptions).context_documents or 0
    parts = len(job.releases)
    requests = job.attackers.requests * parts * _questions(job.options)
    return job.attackers._replace(requests=requests).cost(documents, MOST_WORDS, parts)


def _described(job: EvaluateJob) -> str:
    """What would be compared."""
    released = sum(release.manifest["documents_out"] for release in job.releases)
    several = f" of {len(job.releases)} releases" if len(job.releases) > 1 else ""
    return "\n".join(
        [
            f"Would compare {released:,} released documents{several} with their originals.",
            *(f"Would classify by {question.field}." for question in job.questions),
            *_cost(job),
            "Nothing was written (--dry_run).",
        ]
    )


if __name__ == "__main__":
    launch.main(evaluate_release)
