r"""Sanitizes a corpus: every word goes through a differentially private mechanism.

    python -m pipelines.sanitize --input 'corpus/*.jsonl' --vocabulary demo --epsilon 10 \
        --output release

writes sanitized shards and release.json, which says what is promised, to release/, and metrics and
dead letters to release-metrics/. More of what it can do:

    --rank_c 0.02                 bring near neighbours back, at no cost in privacy
    --input_format parquet        columnar input; text for plain text, a document a line or a file
    --bag_of_words 50             50 words of each document, without their order
    --keep_fields label           release further fields as they are
    --group_by label              count metrics apart for each label
    --key_uri file:///etc/key     a kept key (openssl rand -hex 32 > key): repeatable releases
    --ledger FILE --corpus_id C --max_epsilon 30    refuse what would pass the cap; docs/ledger.md
    --dry_run                     print the plan, the guarantee and an estimate; write nothing
    --config job.yaml             flags from a file, one 'flag: value' a line

The release is whole when release.json is there. Runs locally by default, on all cores with
--direct_running_mode=multi_processing --direct_num_workers=0, and on any Beam runner with --runner.
"""

from __future__ import annotations

import datetime
import logging
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions, TestOptions

from dxbeam import keys
from dxbeam.commands import launch
from dxbeam.commands.options import (
    CommonOptions,
    LedgerOptions,
    SanitizeOptions,
    parse,
    require,
)
from dxbeam.corpus.files import CorpusFile, matching_files
from dxbeam.corpus.formats import CorpusFormat
from dxbeam.corpus.reading import check_readable, describe_left_out, kept_schema
from dxbeam.documents import dead_letter_cap, field_names
from dxbeam.errors import ConfigurationError
from dxbeam.mechanisms import make_mechanism, parse_parameters
from dxbeam.mechanisms.resampling import RankResampling
from dxbeam.release import context, ledger, places, plan
from dxbeam.release.attempt import Attempt, letters_after_failure
from dxbeam.release.ledger import Account
from dxbeam.space import artifact
from dxbeam.space.neighbors import NeighborSearch
from dxbeam.text.bag_of_words import BagOfWords, read_stop_words
from dxbeam.text.configuration import Configuration
from dxbeam.text.repair import PROMPT, Repair, read_prompt
from dxbeam.transforms.manifest import WriteManifest, WriteMetrics
from dxbeam.transforms.metrics import TallyGroups
from dxbeam.transforms.repair import OUTCOMES, ChatCompletions, RepairGrammar
from dxbeam.transforms.sanitize import (
    CORPUS_DIGEST,
    FINGERPRINT,
    LAYOUT_KEY,
    TALLIES,
    SanitizeDocuments,
)
from dxbeam.transforms.shards import WriteShards
from dxbeam.transforms.sources import REJECTED, UNREADABLE, ReadDocuments

_LOG = logging.getLogger(__name__)


def configuration(options: SanitizeOptions) -> Configuration:
    """The settings of the release; refuses what ``Configuration`` refuses."""
    parameters = parse_parameters(options.parameters)
    if "epsilon" in parameters:
        raise ConfigurationError("--parameters: epsilon has a flag of its own, --epsilon")
    mechanism = make_mechanism(options.mechanism, epsilon=options.epsilon, **parameters)
    if options.stop_words and options.bag_of_words is None:
        raise ConfigurationError("--stop_words is of use with --bag_of_words alone; leave it out")
    return Configuration(
        mechanism,
        RankResampling(options.rank_c) if options.rank_c is not None else None,
        options.unknown_words,
        BagOfWords(options.bag_of_words, read_stop_words(options.stop_words or "english"))
        if options.bag_of_words is not None
        else None,
        options.allow_unsound,
    )


def repair_of(options: SanitizeOptions) -> Repair | None:
    """The language model that rewrites sanitized text, if one is asked for."""
    if not options.repair_model:
        if options.repair_endpoint or options.repair_prompt or options.repair_api_key_env:
            raise ConfigurationError("--repair_model is needed with the other --repair flags")
        return None
    if not options.repair_endpoint:
        raise ConfigurationError("--repair_endpoint is needed with --repair_model")
    return Repair(
        options.repair_model,
        options.repair_endpoint,
        read_prompt(options.repair_prompt) if options.repair_prompt else PROMPT,
        options.repair_api_key_env,
        options.repair_failures,
    )


def corpus_format(options: SanitizeOptions) -> CorpusFormat:
    """How the corpus is read."""
    return CorpusFormat(
        options.input_format,
        options.text_field,
        options.id_field,
        field_names(options.keep_fields),
        options.group_by,
        options.document_per,
        options.largest_document,
    )


def chosen_places(options: PipelineOptions) -> tuple[str, str]:
    """Where the release and the metrics go; refuses places that must be apart and are not."""
    own, ledger_file = options.view_as(SanitizeOptions), options.view_as(LedgerOptions).ledger
    output = options.view_as(CommonOptions).output
    return places.for_release(own.input, output, own.metrics_output, own.key_uri, ledger_file)


def account(options: PipelineOptions, settings: Configuration, run: str) -> Account | None:
    """The run's account in the ledger, if flags ask for one; refuses those that do not fit."""
    asked, own = options.view_as(LedgerOptions), options.view_as(SanitizeOptions)
    return ledger.account(
        asked.ledger,
        asked.corpus_id,
        asked.max_epsilon,
        settings,
        mechanism=settings.mechanism.name,
        vocabulary=artifact.handle(own.vocabulary).digest,
        key_uri=own.key_uri,
        run=run,
        output=chosen_places(options)[0],
    )


def _now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")


def build(
    options: PipelineOptions, run: str | None = None, needed_digest: str = ""
) -> beam.Pipeline:
    """Assembles the job; nothing runs yet.

    Args:
      options: the flags.
      run: the name under which the output is claimed, if it is; see ``manifest.claim``.
      needed_digest: what the corpus must be for a release to be made; "" for anything.
    """
    own = options.view_as(SanitizeOptions)
    settings, read_as = configuration(own), corpus_format(own)
    output, metrics_output = chosen_places(options)
    output_format = own.output_format or (
        "jsonl" if read_as.document_per == "file" else read_as.name
    )
    pipeline = beam.Pipeline(options=options)
    reading = pipeline | "ReadDocuments" >> ReadDocuments(
        own.input, read_as, own.allow_unreadable_files
    )
    sanitized = reading["documents"] | "SanitizeDocuments" >> SanitizeDocuments(
        settings,
        own.vocabulary,
        own.key_uri,
        keep_fields=("fields",),
        group_by="group",
        search_threads=launch.search_threads(options),
        digest_corpus=True,
        unique_ids=True,
    )
    rejected = (reading[REJECTED], sanitized[REJECTED]) | "AllRejected" >> beam.Flatten()
    documents, withheld, outcomes, repair = sanitized["documents"], None, None, repair_of(own)
    if repair:
        repaired = documents | "RepairGrammar" >> RepairGrammar(
            ChatCompletions(repair), repair.failures
        )
        documents, withheld, outcomes = (
            repaired["documents"],
            repaired[REJECTED],
            repaired[OUTCOMES],
        )
    tallies = sanitized[TALLIES] | "TallyGroups" >> TallyGroups()
    shards = documents | "WriteShards" >> WriteShards(
        output,
        output_format,
        kept_schema(own.input, read_as),
        own.compression,
        own.num_shards or 0,
        run,
        sanitized[LAYOUT_KEY] if settings.bag else None,
    )
    written = tallies | "WriteMetrics" >> WriteMetrics(
        metrics_output,
        rejected,
        by_group=bool(own.group_by),
        withheld=withheld,
        unreadable=reading[UNREADABLE],
        run=run,
    )
    handle = artifact.handle(own.vocabulary)
    search = NeighborSearch(artifact.open_vocabulary(handle))
    facts = {
        "run": run,
        "in_context": context.as_dicts(context.in_context(settings.guarantee(), search)),
        "started": _now(),
        "kept_fields": list(read_as.keep_fields),
        "output_format": output_format,
    }
    shards | "WriteManifest" >> WriteManifest(
        output,
        settings,
        handle,
        own.key_uri,
        facts,
        tallies=tallies,
        rejected=rejected,
        unreadable=reading[UNREADABLE],
        dead_letter_cap=dead_letter_cap(own.max_dead_letters),
        fingerprint=sanitized[FINGERPRINT],
        corpus_digest=sanitized[CORPUS_DIGEST],
        needed_digest=needed_digest,
        written=written,
        source=own.input,
        dead_letters=letters_after_failure(metrics_output, run),
        repair=repair,
        repaired=outcomes,
    )
    return pipeline


class Checked(NamedTuple):
    """A run that nothing known beforehand stands against, assembled and not begun."""

    attempt: Attempt
    pipeline: beam.Pipeline
    settings: Configuration
    files: list[CorpusFile]
    entered: Account | None


def check(options: PipelineOptions) -> Checked:
    """Refuses everything that can be known to be wrong before a run; writes nothing.

    A dry run and a real one both begin with it.

    Raises:
      DxbeamError: says what it is.
    """
    own = options.view_as(SanitizeOptions)
    require(own, "input", "vocabulary", "epsilon")
    require(options.view_as(CommonOptions), "output")
    launch.refuse_quoting(options)
    settings, read_as, repair = configuration(own), corpus_format(own), repair_of(own)
    output, metrics_output = chosen_places(options)
    files = matching_files(own.input)
    check_readable(files, read_as, own.allow_unreadable_files)
    dead_letter_cap(own.max_dead_letters)  # refuses what is no cap
    vocabulary = artifact.open_vocabulary(artifact.handle(own.vocabulary))
    settings.mechanism.draws(vocabulary.dimensions)  # refuses what is undefined in so many
    del vocabulary  # workers open it for themselves
    if own.key_uri:
        keys.read_key(own.key_uri)
    if repair:
        repair.api_key()
    attempt = Attempt(output, metrics_output)
    entered = account(options, settings, attempt.run)
    attempt.check(entered)
    pipeline = build(options, attempt.run)  # whatever is wrong with the flags shows here
    return Checked(attempt, pipeline, settings, files, entered)


def describe(options: PipelineOptions, settings: Configuration, files: list[CorpusFile]) -> str:
    """The plan as a person reads it."""
    own = options.view_as(SanitizeOptions)
    vocabulary = artifact.open_vocabulary(artifact.handle(own.vocabulary))
    forecast = plan.estimate(files, corpus_format(own), vocabulary, settings)
    output, metrics_output = chosen_places(options)
    return plan.describe(
        files, settings, vocabulary, forecast, output, metrics_output, repair_of(own)
    )


def sanitize(argv: Sequence[str]) -> None:
    """Checks everything that can be known before, then runs and says what was written."""
    options = parse(argv, SanitizeOptions, __doc__ or "")
    attempt, pipeline, settings, files, entered = check(options)
    if options.view_as(TestOptions).dry_run:
        print(describe(options, settings, files))
        return
    output, metrics_output = chosen_places(options)
    started = time.monotonic()
    with attempt:
        if entered and (needed := attempt.begin(entered)):
            pipeline = build(options, attempt.run, needed)
        launch.run(pipeline)
    release = attempt.release
    seconds = time.monotonic() - started
    print(
        f"Released {release['documents_out']:,} documents, {release['tokens']:,} tokens, in "
        f"{len(release['shards'])} files below {output} ({release['tokens'] / seconds:,.0f} "
        f"tokens a second); {release['dead_letters']:,} dead letters"
        f"{describe_left_out(release['unreadable_files'])}. Metrics: {metrics_output}\n"
        f"{_repairs(release)}{release['guarantee']['sentence']}"
    )


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
