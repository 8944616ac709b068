"""What ``dxbeam evaluate`` is asked for, and what it says it would do."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from apache_beam.options.pipeline_options import PipelineOptions

from dxbeam import storage
from dxbeam.analysis.attackers.models.asked_for import AskedFor, attackers_of
from dxbeam.analysis.corpora.encoder import check_encoder
from dxbeam.analysis.corpora.perplexity import check_judge
from dxbeam.analysis.evaluate import classification
from dxbeam.analysis.evaluate.classification import Classification
from dxbeam.analysis.evaluate.headings import (
    Heading,
    in_order_of_settings,
    release_heading,
    told_apart,
)
from dxbeam.analysis.evaluate.page import PROBLEM
from dxbeam.analysis.evaluate.text_features import ENCODED, MEAN_VECTOR, STYLE, WORDS
from dxbeam.analysis.exposure.own_releases import settings_of, settings_of_words
from dxbeam.commands.flags.attackers import AttackerOptions
from dxbeam.commands.flags.evaluating import EvaluateOptions
from dxbeam.commands.flags.output import OutputOptions
from dxbeam.commands.flags.registry import SanitizeOptions
from dxbeam.commands.options import require
from dxbeam.commands.request import check_corpus
from dxbeam.errors import ConfigurationError, CorpusError
from dxbeam.language.artifact import check_vocabulary, language_model_handle
from dxbeam.language.handle import LanguageModelHandle
from dxbeam.release import places
from dxbeam.release.text_release import TextRelease, check_key, named_releases, open_text_release
from dxbeam.space.artifact import artifact
from dxbeam.space.artifact.artifact import VocabularyHandle
from dxbeam.text.configuration import Configuration
from dxbeam.transforms.reading.labelled_documents import MOST_WORDS


class EvaluateJob(NamedTuple):
    """An evaluation, as the flags ask for it.

    Attributes:
      options: the flags.
      fields: those of the originals that are read, besides text and id.
      releases: the releases, which are whole.
      vocabulary: the vocabulary's handle, or None.
      language_model: the handle of the model by which texts are judged, or None.
      questions: what is classified.
      reidentify: how many documents are to be found again; 0 for none.
      entities: the field that holds spans; "" for none.
      attackers: those with a model, with the requests of one question about one release.
      settings: of each release, as attackers release by them; none where there are no attackers.
      canaries: how many are planted of each class of words; 0 for none.
      settings_of_words: of each release, as canaries are planted; none where there are no canaries.
      heading: what the report begins with.
    """

    options: PipelineOptions
    fields: tuple[str, ...]
    releases: list[TextRelease]
    vocabulary: VocabularyHandle | None
    language_model: LanguageModelHandle | None
    questions: list[Classification]
    reidentify: int
    entities: str
    attackers: AskedFor
    settings: list[Configuration]
    canaries: int
    settings_of_words: list[Configuration]
    heading: Heading


def read_options(options: PipelineOptions, argv: Sequence[str]) -> EvaluateJob:
    """The evaluation that the flags ask for; reads the releases, to see that they are whole.

    Raises:
      DxbeamError: a flag that is needed and missing, flags that do not go together, or no release.
    """
    flags, shared = options.view_as(EvaluateOptions), options.view_as(SanitizeOptions)
    require(flags, "original", "released")
    require(options.view_as(OutputOptions), "output")
    if flags.learning_curve and not flags.task:
        raise ConfigurationError("`learning_curve` is that of a task; name its field, with `task`")
    if flags.encoder:
        check_encoder(flags.encoder)
    if flags.perplexity_model:
        check_judge(flags.perplexity_model)
    prefixes = named_releases(flags.released)
    _check_places(prefixes, options.view_as(OutputOptions).output)
    releases = sorted(map(open_text_release, prefixes), key=in_order_of_settings)
    fields = dict.fromkeys(filter(None, (flags.task, flags.attack, flags.entities)))
    if shared.key_uri:  # then the corpus is read as it was for the releases
        check_key(shared.key_uri, releases)
        fields |= dict.fromkeys(name for each in releases for name in each.manifest["kept_fields"])
    for flag in ("task", "attack", "entities"):
        field = getattr(flags, flag)
        if field in (shared.text_field, shared.id_field):
            raise ConfigurationError(f"`{flag}` {field}: this is the text or the id; name another")
    vocabulary = artifact.handle(shared.vocabulary) if shared.vocabulary else None
    language_model = _language_model(shared.language_model, vocabulary)
    heading = Heading(
        corpus=flags.original,
        releases=told_apart([release_heading(release, vocabulary) for release in releases]),
        vocabulary=shared.vocabulary or "",
        group_by=shared.group_by or "",
        command=shlex.join(["dxbeam", "evaluate", *argv]),
    )
    attackers = _attackers(options, len(releases), vocabulary)
    return EvaluateJob(
        options,
        tuple(fields),
        releases,
        vocabulary,
        language_model,
        list(_classified(flags, vocabulary)),
        flags.reidentify or 0,
        flags.entities or "",
        attackers,
        [settings_of(each, language_model) for each in releases if attackers.any],
        flags.canaries or 0,
        settings_of_words(releases, vocabulary) if flags.canaries else [],
        heading,
    )


def _classified(
    flags: EvaluateOptions, vocabulary: VocabularyHandle | None
) -> Iterator[Classification]:
    """The task and the attack, each with the features that classifiers see."""
    with_vectors, encoded = [MEAN_VECTOR] if vocabulary else [], [ENCODED] if flags.encoder else []
    if flags.task:
        yield classification.task(flags.task, [WORDS, *with_vectors, *encoded])
    if flags.attack:
        yield classification.attack(flags.attack, [STYLE, WORDS, *encoded])


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


def cost_of_attackers(job: EvaluateJob) -> list[str]:
    """What attackers with a model cost, in sentences."""
    documents = job.options.view_as(AttackerOptions).context_documents or 0
    parts = len(job.releases)
    requests = job.attackers.requests * parts * _questions(job.options)
    return job.attackers._replace(requests=requests).cost(documents, MOST_WORDS, parts)


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


def _check_places(releases: Sequence[str], output: str) -> None:
    """Refuses to write figures that no guarantee covers into a release."""
    for released in releases:
        if places.is_within(output, released):
            raise ConfigurationError(
                f"`output` {output} is within the release {released}, and what is computed from "
                "raw text does not belong there; choose another directory"
            )


def refuse_another_corpus(output: str) -> None:
    """Raises what kept the page from being written, if something did."""
    path = storage.join(output, PROBLEM)
    if storage.exists(path):
        problem = storage.read(path).decode()
        storage.delete(path)
        storage.delete_empty(output)
        raise CorpusError(problem)


def described(job: EvaluateJob) -> str:
    """What would be compared."""
    released = sum(release.manifest["documents_out"] for release in job.releases)
    several = f" of {len(job.releases)} releases" if len(job.releases) > 1 else ""
    return "\n".join(
        [
            f"Would compare {released:,} released documents{several} with their originals.",
            *(f"Would classify by {question.field}." for question in job.questions),
            *cost_of_attackers(job),
            "Nothing was written (--dry_run).",
        ]
    )


def text_bytes(job: EvaluateJob) -> int:
    """About how many bytes of text the originals hold.

    Raises:
      CorpusError: there are none, or one is not of the format.
    """
    flags = job.options.view_as(SanitizeOptions)
    if job.attackers.any:
        check_corpus(flags, job.options.view_as(AttackerOptions).public_input)
    try:
        return check_corpus(flags, job.heading.corpus, job.fields, flags.group_by)
    except CorpusError as error:
        raise CorpusError(str(error).replace("`input`", "`original`")) from None


def recorded_digests(releases: Sequence[TextRelease]) -> dict[int, tuple[str, str]]:
    """The digests of corpus and configuration by a release's number, where they can be compared.

    With an epsilon for each document, its digest depends on the field that decides.
    """
    return {
        number: (release.manifest["corpus_digest"], release.manifest["configuration_digest"])
        for number, release in enumerate(releases)
        if "epsilon_by" not in release.manifest["configuration"]
    }


def counted(job: EvaluateJob) -> str:
    """Which releases, or how many, in words."""
    if len(job.releases) > 1:
        return f"{len(job.releases)} releases"
    return job.releases[0].prefix
