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
    --output_table iceberg://lake/ns.t    make a table of the release; docs/guides/iceberg.md
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

import time
from collections.abc import Sequence

import apache_beam as beam
from apache_beam.options.pipeline_options import TestOptions

from dxbeam.commands import launch
from dxbeam.commands.flags.registry import SANITIZE, SanitizeOptions
from dxbeam.commands.jobs.sanitize import SanitizeJob, make_table, planned, read_options, said
from dxbeam.commands.options import parse
from dxbeam.commands.request import read_released
from dxbeam.corpus.files import text_bytes
from dxbeam.corpus.reading import kept_schema
from dxbeam.release.context import Pair
from dxbeam.release.run import Run
from dxbeam.space.vocabulary.remarks import remarks
from dxbeam.transforms.manifest import Counted, WriteManifest
from dxbeam.transforms.metrics import TallyGroups, WriteMetrics
from dxbeam.transforms.sanitize import SanitizeDocuments
from dxbeam.transforms.shards import WriteShards


def build(
    job: SanitizeJob,
    run: str | None = None,
    required_digest: str = "",
    context: Sequence[Pair] = (),
) -> beam.Pipeline:
    """Assembles the pipeline; nothing runs yet. The arguments are those of ``job.recorded``."""
    flags, request = job.options.view_as(SanitizeOptions), job.request
    pipeline = launch.new_pipeline(job.options)
    reading = pipeline | "ReadDocuments" >> read_released(request)
    sanitized = reading.documents | "SanitizeDocuments" >> SanitizeDocuments(
        job.configuration,
        job.vocabulary,
        request.key_uri,
        keep_fields=("fields",),
        group_by="group",
        search_threads=launch.search_threads(job.options),
        digest_corpus=True,
        unique_ids=True,
        divide_above=None if job.repair else launch.divide_above(job.options),
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
        job.recorded(run, required_digest, context),
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
    checked = job.check()
    files = checked.files
    launch.spread(options, text_bytes(files))
    run = Run(job.request.output, job.request.metrics_output)
    account = job.account(run.name)
    run.check(account)
    context = job.context(checked.vocabulary)
    pipeline = build(job, run.name, context=context)  # whatever is wrong with the flags shows here
    if options.view_as(TestOptions).dry_run:
        print(planned(job, checked, context))
        return
    remarked = remarks(checked.vocabulary)
    del checked  # workers open the vocabulary for themselves
    started = time.monotonic()
    with launch.releasing(run):
        if required_digest := run.enter(account):
            pipeline = build(job, run.name, required_digest, context)
        launch.run(pipeline)
    print(said(job, files, run, time.monotonic() - started, remarked))
    make_table(job.request)


if __name__ == "__main__":
    launch.main(sanitize)
