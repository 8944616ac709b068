r"""Sanitizes a corpus: every word goes through a differentially private mechanism.

    dxbeam sanitize --input 'corpus/*.jsonl' --vocabulary demo --epsilon 10 \
        --output release

writes sanitized shards and release.json, which says what is promised, to release/, and metrics and
dead letters to release-metrics/. More of what it can do:

    --rank_c 0.02                 bring near neighbours back, at no cost in privacy
    --input_format parquet        columnar input; text for plain text, one document per line
    --epsilon_by consent:low=5,high=10    an epsilon for each document by a public field
    --importance stop_words       with santext or tem, harmless words stay more often
    --base frequency              with santext or tem, likely words come back
    --constant exact --constant_scan FILE    epsilon as it is true of this vocabulary
    --truecase --language_model demo    capitals as in public text, never the original's
    --bag_of_words 50             50 words of each document, without their order
    --keep_fields label           release further fields as they are
    --group_by label              count metrics for each label separately
    --decode context --language_model DIR    text people can read; docs/guides/decoding.md
    --mechanism fluent --language_model DIR  reads on from released words; docs/guides/fluent.md
    --key_uri file:///etc/key     a kept key (openssl rand -hex 32 > key): repeatable releases
    --ledger FILE --corpus_id C --max_epsilon 30    refuse to exceed the cap; docs/guides/ledger.md
    --dry_run                     print the plan, the guarantee and an estimate; write nothing
    --config job.yaml             flags from a file, one 'flag: value' per line

The release is whole when release.json is there. Runs locally by default, a large corpus
in a process for each core, and on any Beam runner with --runner.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions, TestOptions

from dxbeam import storage
from dxbeam.commands import launch
from dxbeam.commands.flags.output import OutputOptions
from dxbeam.commands.flags.registry import SANITIZE, SanitizeOptions
from dxbeam.commands.options import parse, require
from dxbeam.commands.request import corpus_format, release_request
from dxbeam.corpus.files import CorpusFile, text_bytes
from dxbeam.corpus.reading import describe_left_out, kept_schema
from dxbeam.documents import field_names
from dxbeam.errors import ConfigurationError, DxbeamError
from dxbeam.language.artifact import language_model_handle, open_language_model
from dxbeam.language.artifact_manifest import LANGUAGE_MODEL
from dxbeam.language.handle import LanguageModelHandle
from dxbeam.language.sources import refuse_the_corpus
from dxbeam.mechanisms import WeighsWords, check_vocabulary
from dxbeam.mechanisms.public.base_measure import ListedBase
from dxbeam.mechanisms.public.importance import WordWeights
from dxbeam.release import plan, usefulness
from dxbeam.release.context import Pair, as_dicts, in_context
from dxbeam.release.request import ReleaseRequest
from dxbeam.release.run import METRICS, Run
from dxbeam.release.unknown_words import cause_in_corpus
from dxbeam.space.artifact import artifact
from dxbeam.space.artifact.artifact import VocabularyHandle
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.space.vocabulary.remarks import remarks
from dxbeam.text.candidates import PROMPT as PROMPT_WITH_CANDIDATES
from dxbeam.text.configuration import Configuration
from dxbeam.text.decoding.decoder import NEAREST
from dxbeam.text.plain_settings import PLAIN_SETTINGS, configuration_of
from dxbeam.text.repair import PROMPT, Repair, read_prompt
from dxbeam.text.tally import Tally
from dxbeam.transforms.manifest import Counted, WriteManifest
from dxbeam.transforms.metrics import TallyGroups, WriteMetrics
from dxbeam.transforms.reading.sources import ReadDocuments
from dxbeam.transforms.sanitize import SanitizeDocuments, with_language_model
from dxbeam.transforms.shards import WriteShards


def repair_of(options: SanitizeOptions) -> Repair | None:
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


class SanitizeJob(NamedTuple):
    """A release of sanitized text, as the flags ask for it.

    Attributes:
      options: the flags.
      request: places, key, corpus and ledger.
      configuration: mechanism, rank resampling, and how words are treated.
      repair: the language model that rewrites sanitized text, or None.
      vocabulary: the vocabulary's handle.
      language_model: the handle of what a decoder or truecase reads, or None.
    """

    options: PipelineOptions
    request: ReleaseRequest
    configuration: Configuration
    repair: Repair | None
    vocabulary: VocabularyHandle
    language_model: LanguageModelHandle | None = None


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


def read_options(options: PipelineOptions) -> SanitizeJob:
    """The job that the flags ask for; of files it reads the vocabulary's manifest only.

    Raises:
      DxbeamError: a flag that is needed and missing, or flags that do not go together.
    """
    flags = options.view_as(SanitizeOptions)
    require(flags, "input", "vocabulary", *(() if flags.epsilon_by else ("epsilon",)))
    require(options.view_as(OutputOptions), "output")
    launch.refuse_quoting(options)
    settings = configuration_of(**{name: getattr(flags, name) for name in PLAIN_SETTINGS})
    repair = repair_of(flags)
    levels = settings.epsilon_by.field if settings.epsilon_by else None
    read_as = corpus_format(flags, field_names(flags.keep_fields), flags.group_by, levels)
    output_format = flags.output_format or (
        "jsonl" if read_as.document_per == "file" else read_as.name
    )
    request = release_request(options, read_as, output_format)
    vocabulary = artifact.handle(flags.vocabulary)
    model = language_model_handle(flags.language_model) if flags.language_model else None
    settings = with_language_model(settings, model, vocabulary)
    return SanitizeJob(options, request, settings, repair, vocabulary, model)


def build(
    job: SanitizeJob,
    run: str | None = None,
    required_digest: str = "",
    context: Sequence[Pair] = (),
) -> beam.Pipeline:
    """Assembles the pipeline; nothing runs yet.

    Args:
      job: what is asked for.
      run: the name under which the output is claimed, if it is; see ``claim.take_fresh``.
      required_digest: what the corpus must be for a release to be made; "" for anything.
      context: what epsilon means in this vocabulary, for the manifest.
    """
    flags, request = job.options.view_as(SanitizeOptions), job.request
    pipeline = launch.new_pipeline(job.options)
    reading = pipeline | "ReadDocuments" >> ReadDocuments(
        request.corpus,
        request.corpus_format,
        allow_unreadable=request.allow_unreadable_files,
    )
    sanitized = reading.documents | "SanitizeDocuments" >> SanitizeDocuments(
        job.configuration,
        job.vocabulary,
        request.key_uri,
        keep_fields=("fields",),
        group_by="group",
        search_threads=launch.search_threads(job.options),
        digest_corpus=True,
        unique_ids=True,
        backend=launch.backend(job.options),
        level="level",
        language_model=job.language_model,
        candidates=job.repair.candidates if job.repair else 0,
    )
    rejected = (reading.rejected, sanitized.rejected) | "AllRejected" >> beam.Flatten()
    released, withheld, repaired = sanitized.documents, None, None
    if job.repair:
        from dxbeam.transforms.repair import ChatCompletions, RepairGrammar  # slow to import

        released, withheld, repaired = sanitized.documents | "RepairGrammar" >> RepairGrammar(
            ChatCompletions(job.repair), job.repair.failures
        )
    tallies = sanitized.tallies | "TallyGroups" >> TallyGroups()
    shards = released | "WriteShards" >> WriteShards(
        request.output,
        request.output_format,
        kept_schema(request.corpus, request.corpus_format),
        flags.compression,
        flags.num_shards or 0,
        run,
        sanitized.layout_key if job.configuration.bag else None,
    )
    metrics = tallies | "WriteMetrics" >> WriteMetrics(
        request.metrics_output,
        rejected,
        by_group=bool(flags.group_by),
        withheld=withheld,
        unreadable=reading.unreadable,
        run=run,
    )
    shards | "WriteManifest" >> WriteManifest(
        request.output,
        request.job(
            job.configuration,
            job.vocabulary,
            run,
            required_digest,
            job.repair,
            in_context=as_dicts(context),
            **_public_files(job.configuration),
            **launch.recorded_backend(job.options),
        ),
        Counted(
            tallies=tallies,
            rejected=rejected,
            key_fingerprint=sanitized.key_fingerprint,
            written=metrics,
            corpus_digest=sanitized.corpus_digest,
            repaired=repaired,
            unreadable=reading.unreadable,
        ),
    )
    return pipeline


@launch.naming_flags
def sanitize(argv: Sequence[str]) -> None:
    """Checks everything that can be known before, then runs and says what was written."""
    options = parse(argv, SANITIZE, __doc__ or "")
    job = read_options(options)
    request, settings = job.request, job.configuration
    files = request.check()
    if job.language_model:
        refuse_the_corpus(LANGUAGE_MODEL.read_manifest(job.language_model.uri), files)
    launch.spread(options, text_bytes(files))
    if job.repair:
        job.repair.api_key()
    vocabulary = artifact.open_vocabulary(job.vocabulary)
    for each in settings.every_level:
        check_vocabulary(each.mechanism, vocabulary)
    model = open_language_model(job.language_model, vocabulary) if job.language_model else None
    run = Run(request.output, request.metrics_output)
    account = request.account(settings, settings.mechanism.name, job.vocabulary, run.name)
    run.check(account)
    context = in_context(settings.guarantee(), NeighborSearch(vocabulary))
    pipeline = build(job, run.name, context=context)  # whatever is wrong with the flags shows here
    if options.view_as(TestOptions).dry_run:
        forecast = plan.estimate(
            files, request.corpus_format, vocabulary, settings, launch.backend(options), model
        )
        places = (request.output, request.metrics_output)
        kept = request.corpus_format.keep_fields
        described = (files, settings, vocabulary, context, forecast, *places)
        print(plan.describe(*described, job.repair, kept))
        return
    remarked = remarks(vocabulary)
    del vocabulary, model  # workers open it for themselves
    started = time.monotonic()
    with launch.releasing(run):
        if required_digest := run.enter(account):
            pipeline = build(job, run.name, required_digest, context)
        launch.run(pipeline)
    seconds = time.monotonic() - started
    _say(run, seconds, remarked, lambda: _cause(job, files))


def _cause(job: SanitizeJob, files: Sequence[CorpusFile]) -> str:
    """Why words of the corpus are not in the vocabulary; "" where this process cannot tell.

    The release is finished, so nothing here may end the run.
    """
    try:
        vocabulary = artifact.open_vocabulary(job.vocabulary)
        return cause_in_corpus(
            files, job.request.corpus_format, vocabulary, job.configuration.words
        )
    except (DxbeamError, OSError):
        return ""


def _say(run: Run, seconds: float, remarked: Sequence[str], cause: Callable[[], str]) -> None:
    """Prints what was released, and where."""
    release = run.release
    warnings = "".join(f"Warning: {remark}\n" for remark in remarked)
    print(
        f"Released {release['documents_out']:,} documents, {release['tokens']:,} tokens, in "
        f"{len(release['shards'])} files below {run.output} ({release['tokens'] / seconds:,.0f} "
        f"tokens per second); {release['dead_letters']:,} dead letters"
        f"{describe_left_out(release['unreadable_files'])}. Metrics: {run.metrics_output}\n"
        f"{_unchanged(run, cause)}{warnings}{_repairs(release)}{run.noted}\n"
        f"{release['guarantee']['sentence']}"
    )


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
    made = release["post_processing"]["grammar_repair"]
    return (
        f"The language model {made['model']} repaired {made['repaired']:,} texts; of those that it "
        f"did not, {made['kept']:,} were released as they were and {made['withheld']:,} withheld\n"
    )


if __name__ == "__main__":
    launch.main(sanitize)
