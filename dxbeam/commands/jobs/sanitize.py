"""What ``dxbeam sanitize`` is asked for, and what it says of the release."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from apache_beam.options.pipeline_options import PipelineOptions

from dxbeam import storage
from dxbeam.commands import launch
from dxbeam.commands.console import counted
from dxbeam.commands.flags.output import OutputOptions
from dxbeam.commands.flags.registry import SanitizeOptions
from dxbeam.commands.options import require
from dxbeam.commands.request import corpus_format, release_request, settings_of
from dxbeam.corpus.files import CorpusFile
from dxbeam.corpus.reading import describe_left_out
from dxbeam.documents import field_names
from dxbeam.errors import ConfigurationError, DxbeamError, OutputError
from dxbeam.language.artifact import open_language_model
from dxbeam.language.artifact_manifest import LANGUAGE_MODEL
from dxbeam.language.handle import LanguageModelHandle
from dxbeam.language.model import LanguageModel
from dxbeam.language.sources import refuse_the_corpus
from dxbeam.mechanisms import WeighsWords, check_vocabulary
from dxbeam.mechanisms.public.base_measure import ListedBase
from dxbeam.mechanisms.public.importance import WordWeights
from dxbeam.release import output_table, plan, usefulness
from dxbeam.release.context import Pair, as_dicts, in_context
from dxbeam.release.ledger import Account
from dxbeam.release.manifest import ReleaseJob
from dxbeam.release.request import ReleaseRequest
from dxbeam.release.run import METRICS, Run
from dxbeam.space.artifact import artifact
from dxbeam.space.artifact.artifact import VocabularyHandle
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.space.vocabulary.words import Vocabulary
from dxbeam.text.candidates import PROMPT as PROMPT_WITH_CANDIDATES
from dxbeam.text.configuration import Configuration
from dxbeam.text.decoding.decoder import NEAREST
from dxbeam.text.repair import PROMPT, Repair, read_prompt
from dxbeam.text.tally import Tally


class CheckedJob(NamedTuple):
    """What the flags name, found to be there and to fit together."""

    files: Sequence[CorpusFile]
    vocabulary: Vocabulary
    model: LanguageModel | None


class SanitizeJob(NamedTuple):
    """A release of sanitized text, as the flags ask for it."""

    options: PipelineOptions
    request: ReleaseRequest
    configuration: Configuration
    repair: Repair | None
    vocabulary: VocabularyHandle
    language_model: LanguageModelHandle | None = None

    def account(self, run: str) -> Account | None:
        """The run's account in the ledger; None where no ledger is named."""
        settings = self.configuration
        return self.request.account(settings, settings.mechanism.name, self.vocabulary, run)

    def check(self) -> CheckedJob:
        """Opens what is read, and refuses what can be known to be wrong before a run."""
        files = self.request.check()
        if self.language_model:
            refuse_the_corpus(LANGUAGE_MODEL.read_manifest(self.language_model.uri), files)
        if self.repair:
            self.repair.api_key()
        vocabulary = artifact.open_vocabulary(self.vocabulary)
        for each in self.configuration.every_level:
            check_vocabulary(each.mechanism, vocabulary)
        model = (
            open_language_model(self.language_model, vocabulary) if self.language_model else None
        )
        return CheckedJob(files, vocabulary, model)

    def context(self, vocabulary: Vocabulary) -> Sequence[Pair]:
        """What epsilon means in this vocabulary."""
        return in_context(self.configuration.guarantee(), NeighborSearch(vocabulary))

    def recorded(
        self, run: str | None, required_digest: str, context: Sequence[Pair]
    ) -> ReleaseJob:
        """What the manifest says of the job, besides what is counted."""
        return self.request.job(
            self.configuration,
            self.vocabulary,
            run,
            required_digest,
            self.repair,
            in_context=as_dicts(context),
            **_public_files(self.configuration),
            **launch.recorded_backend(self.options),
        )


def read_options(options: PipelineOptions) -> SanitizeJob:
    """The job that the flags ask for; of files it reads the vocabulary's manifest only."""
    flags = options.view_as(SanitizeOptions)
    require(flags, "input", "vocabulary", *(() if flags.epsilon_by else ("epsilon",)))
    require(options.view_as(OutputOptions), "output")
    settings, vocabulary, model = settings_of(flags)
    repair = _repair(flags)
    levels = settings.epsilon_by.field if settings.epsilon_by else None
    read_as = corpus_format(flags, field_names(flags.keep_fields), flags.group_by, levels)
    request = release_request(options, read_as, flags.output_format or read_as.written_as)
    return SanitizeJob(options, request, settings, repair, vocabulary, model)


def _repair(options: SanitizeOptions) -> Repair | None:
    """The language model that rewrites sanitized text, if one is asked for."""
    if not options.repair_model:
        others = (options.repair_prompt, options.repair_api_key_env, options.repair_candidates)
        if options.repair_endpoint or any(others):
            raise ConfigurationError("--repair_model is needed with the other --repair flags")
        return None
    if not options.repair_endpoint:
        raise ConfigurationError("--repair_endpoint is needed with --repair_model")
    shown = options.repair_candidates or 0
    if shown and (options.decode in (None, NEAREST) or options.bag_of_words is not None):
        raise ConfigurationError(
            "--repair_candidates are of a decoder, word by word; choose --decode prior or context, "
            "and no --bag_of_words"
        )
    usual = PROMPT_WITH_CANDIDATES if shown else PROMPT
    return Repair(
        options.repair_model,
        options.repair_endpoint,
        read_prompt(options.repair_prompt) if options.repair_prompt else usual,
        options.repair_api_key_env,
        options.repair_failures,
        shown,
    )


def _public_files(settings: Configuration) -> dict[str, Any]:
    """The files of the words' weights and of the base measure, for the manifest, if there are."""
    mechanism = settings.mechanism
    if not isinstance(mechanism, WeighsWords):
        return {}
    return {
        f"{name}_file": dict(zip(("name", "sha256"), value.file, strict=True))
        for name, value in (("importance", mechanism.importance), ("base", mechanism.base))
        if isinstance(value, (WordWeights, ListedBase)) and value.file
    }


def planned(job: SanitizeJob, checked: CheckedJob, context: Sequence[Pair]) -> str:
    """The plan, the guarantee and an estimate, as a person reads them."""
    request, settings = job.request, job.configuration
    files, vocabulary, model = checked
    forecast = plan.estimate(
        files, request.corpus_format, vocabulary, settings, launch.backend(job.options), model
    )
    places = (request.output, request.metrics_output)
    described = (files, settings, vocabulary, context, forecast, *places)
    return plan.describe(*described, job.repair, request.corpus_format.keep_fields)


def _cause(job: SanitizeJob, files: Sequence[CorpusFile]) -> str:
    """Why words of the corpus are not in the vocabulary; "" where this process cannot tell.

    The release is finished, so nothing here may end the run.
    """
    try:
        vocabulary = artifact.open_vocabulary(job.vocabulary)
        return usefulness.cause_in_corpus(
            files, job.request.corpus_format, vocabulary, job.configuration.words
        )
    except (DxbeamError, OSError):
        return ""


def said(
    job: SanitizeJob,
    files: Sequence[CorpusFile],
    run: Run,
    seconds: float,
    remarked: Sequence[str],
) -> str:
    """What was released, and where; ``remarked`` are remarks on the vocabulary."""
    release = run.release
    warnings = "".join(f"Warning: {remark}\n" for remark in remarked)
    return (
        f"Released {counted(release['documents_out'], 'document')}, "
        f"{counted(release['tokens'], 'token')}, in {counted(len(release['shards']), 'file')} "
        f"below {run.output} ({release['tokens'] / seconds:,.0f} tokens per second); "
        f"{counted(release['dead_letters'], 'dead letter')}"
        f"{describe_left_out(release['unreadable_files'])}. Metrics: {run.metrics_output}\n"
        f"{_unchanged(run, lambda: _cause(job, files))}{warnings}{_repairs(release)}{run.noted}\n"
        f"{release['guarantee']['sentence']}"
    )


def make_table(request: ReleaseRequest) -> None:
    """Makes a table of the release, where one is asked for, and says so.

    OutputError: none could be made; the release is complete all the same.
    """
    table = request.output_table
    if not table:
        return
    try:
        output_table.publish(request.output, table)
    except Exception as error:  # no other may end the program, which would say nothing is released
        reason = error if isinstance(error, DxbeamError) else f"{table}: {type(error).__name__}"
        raise OutputError(
            f"{reason}. The release below {request.output} is complete: make a table of it by "
            f"dxbeam verify {request.output} --output_table TABLE"
        ) from None
    print(f"Table: {table}")


def _unchanged(run: Run, cause: Callable[[], str]) -> str:
    """Lines on how many words came out unchanged, if there were any; from the metrics only."""
    path = storage.join(run.metrics_output, METRICS)
    try:
        metrics = json.loads(storage.read(path))
        counts = Tally(**{name: metrics[name] for name in Tally._fields})
    except OSError as error:  # a launcher need not be able to read what its workers write
        return (
            f"How many words came out unchanged is in {path}, which cannot be read from here "
            f"({type(error).__name__})\n"
        )
    if counts.tokens == counts.fillers:
        return ""
    kind = "words drawn for bags" if "bag_of_words" in run.release["configuration"] else "words"
    repaired = ", before the language model" if "post_processing" in run.release else ""
    lines = [
        f"{usefulness.unknown_and_unchanged(counts, kind)}{repaired}: computed from the raw text "
        f"and not covered by the guarantee, as is all of {path}",
        *usefulness.warnings(counts, "" if usefulness.are_mostly_known(counts) else cause()),
    ]
    return "".join(f"{line}\n" for line in lines)


def _repairs(release: dict[str, Any]) -> str:
    """A line on what became of the texts that a language model was to repair, if there was one."""
    if "post_processing" not in release:
        return ""
    texts = release["post_processing"]["grammar_repair"]
    return (
        f"The language model {texts['model']} repaired {texts['repaired']:,} texts; of those that "
        f"it did not, {texts['kept']:,} were released as they were and {texts['withheld']:,} "
        "withheld\n"
    )
