"""Where and how a release is written, under which key, and what is accounted."""

from __future__ import annotations

from apache_beam.options.pipeline_options import PipelineOptions

from dxbeam.commands.flags import flag
from dxbeam.commands.flags.arguments import count, number
from dxbeam.commands.flags.flag import Flag, topic
from dxbeam.corpus.formats import FORMATS


@topic(
    flag.OUTPUT,
    Flag(
        "output",
        "DIR",
        "directory, or gs:// or s3:// prefix, to write to, which must be empty",
    ),
)
class OutputOptions(PipelineOptions):
    """Where a command writes to."""


@topic(
    flag.OUTPUT,
    Flag(
        "output_format",
        "FORMAT",
        f"{', '.join(FORMATS)} (default: the input's; jsonl where files are documents)",
    ),
    Flag(
        "compression",
        "NAME",
        "of jsonl and text files: none, gzip or zstd (default none)",
        default="none",
    ),
    Flag(
        "num_shards",
        "N",
        "number of output files (default: one for each 10,000 bags of words or vectors; "
        "otherwise as the workers happen to write, which needs no shuffle and the least memory)",
        type=count,
    ),
    Flag(
        "metrics_output",
        "DIR",
        "where metrics and dead letters go. They are computed from the raw text, and the "
        "guarantee does not cover them (default: the output's name with -metrics)",
    ),
)
class ShardOptions(PipelineOptions):
    """The files of a release, and its metrics."""


@topic(
    flag.OUTPUT,
    Flag(
        "output_table",
        "TABLE",
        "make a table of the release, which is in Parquet: of Iceberg, "
        "iceberg://CATALOG/NAMESPACE.TABLE, whose data files stay in --output, or of BigQuery, "
        "bq://PROJECT.DATASET.TABLE. It must not exist (default: none)",
    ),
)
class TableOptions(PipelineOptions):
    """The table that is made of a release."""


@topic(
    flag.KEY,
    Flag(
        "key_uri",
        "URI",
        "file, gs:// object or env:NAME that holds a secret key of 32 bytes, for a release "
        "that can be repeated (default: a new key that nobody keeps)",
    ),
)
class KeyOptions(PipelineOptions):
    """The secret key."""


@topic(
    flag.LEDGER,
    Flag(
        "ledger",
        "FILE",
        "record of all releases, a local file or gs:// object that is appended to; dxbeam "
        "ledger shows it, docs/guides/ledger.md explains it (default: none)",
    ),
    Flag(
        "corpus_id",
        "NAME",
        "what the ledger calls this corpus, the same for every release of it; needed with --ledger",
    ),
    Flag(
        "max_epsilon",
        "NUMBER",
        "refuse a release with which the releases of this corpus would add up to more "
        "(default: no cap)",
        type=number,
    ),
)
class LedgerOptions(PipelineOptions):
    """The account of releases."""
