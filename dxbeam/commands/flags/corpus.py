"""Which texts are read, how, and what is kept of each record."""

from __future__ import annotations

from apache_beam.options.pipeline_options import PipelineOptions

from dxbeam.commands.flags import flag
from dxbeam.commands.flags.arguments import size
from dxbeam.commands.flags.flag import Flag, topic
from dxbeam.corpus.formats import FORMATS
from dxbeam.corpus.parsing.column_types import TYPES

QUOTES = ("double", "none")


@topic(
    flag.CORPUS,
    Flag(
        "input",
        "GLOB",
        "corpus files, local, gs:// or s3://; quote a pattern such as 'corpus/*.jsonl'; .gz and "
        ".zst files are decompressed. iceberg://CATALOG/NAMESPACE.TABLE is a table of Iceberg, "
        "bq://PROJECT.DATASET.TABLE one of BigQuery",
    ),
    Flag(
        "input_format",
        "FORMAT",
        f"{', '.join(FORMATS)} (default jsonl)",
        default="jsonl",
    ),
    Flag(
        "document_per",
        "UNIT",
        "with --input_format text, whether each 'line' (default) or each 'file' is a document",
        default="line",
    ),
    Flag(
        "text_field",
        "FIELD",
        "field or column that holds the text (default text)",
        default="text",
    ),
    Flag(
        "id_field",
        "FIELD",
        "field or column that holds the document's id (default id). A document without one is "
        "named FILE:NUMBER, by the number of its line or row. Ids are released; all documents "
        "whose id occurs more than once go to the dead letters",
        default="id",
    ),
    Flag(
        "encoding",
        "NAME",
        "encoding of files of text, such as latin-1, cp1252, utf-16 or shift_jis; a record "
        "with bytes that are not valid in it goes to the dead letters. What is released is in "
        "UTF-8 (default utf-8)",
        default="utf-8",
    ),
    Flag(
        "delimiter",
        "CHARACTER",
        "with --input_format csv or tsv, what divides fields: one ASCII character, or the "
        "word tab (default: a comma for csv, a tab for tsv, which is what is written too)",
    ),
    Flag(
        "quotes",
        "HOW",
        "with --input_format csv or tsv, whether 'double' quotes enclose fields that hold "
        "delimiters, quotes or line breaks (default), or 'none' do, and each line is a row",
        default=QUOTES[0],
    ),
    Flag(
        "columns",
        "A,B",
        "with --input_format csv or tsv, the names of the columns, where files have no header "
        "(default: the first row of each file names them)",
        default="",
    ),
    Flag(
        "largest_document",
        "BYTES",
        "longer documents go to the dead letters (default 256 MiB)",
        default=256 << 20,
        type=size,
    ),
    Flag(
        "allow_unreadable_files",
        None,
        "leave out every file that is truncated, damaged or lacks a column, and name it in "
        "release.json (default: such a file fails the run)",
    ),
)
class CorpusOptions(PipelineOptions):
    """The texts of a corpus, and how they are read."""


@topic(
    flag.CORPUS,
    Flag(
        "keep_fields",
        "A,B",
        "further fields to release as they are, unprotected, separated by commas. From "
        "Parquet to Parquet columns keep their types; from JSON to Parquet they become strings; of "
        "CSV they are strings, or what --column_types says (default: none)",
        default="",
    ),
    Flag(
        "column_types",
        "A=TYPE,…",
        "with --input_format csv or tsv, types of kept columns, for Parquet and JSON: "
        f"{', '.join(TYPES)}. A row with another value goes to the dead letters (default: kept "
        "columns hold strings, so that the post code 01234 stays what it is)",
        default="",
    ),
    Flag(
        "group_by",
        "FIELD",
        "count metrics separately for each value of this field (default: for all together)",
    ),
    Flag(
        "max_dead_letters",
        "N|P%",
        "fail the run if more than N records, or more than P percent of them, go to the dead "
        "letters. Whoever sees whether the run failed learns a little about the texts: one with a "
        "null byte, for example, is a dead letter (default: no limit)",
    ),
)
class RecordOptions(PipelineOptions):
    """What is done with records besides their texts."""
