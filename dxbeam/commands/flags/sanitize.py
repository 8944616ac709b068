"""Flags of dxbeam sanitize, some of which other launchers share."""

from __future__ import annotations

import argparse
from typing import ClassVar

from apache_beam.options.pipeline_options import PipelineOptions

from dxbeam.commands.flags import flag_groups
from dxbeam.commands.flags.arguments import count, number, size
from dxbeam.commands.flags.flag_groups import flag_group
from dxbeam.commands.flags.table import add_column_types, add_table
from dxbeam.commands.flags.words import add_words
from dxbeam.corpus.formats import FORMATS
from dxbeam.mechanisms import MECHANISMS
from dxbeam.mechanisms.constants.exact_constant import WORST_CASE
from dxbeam.mechanisms.public.importance import FREQUENCY
from dxbeam.text.configuration import UNKNOWN_WORDS
from dxbeam.text.public.importance_file import NAMED
from dxbeam.text.repair import FAILURES

TEXTS = (
    "--input",
    "--input_format",
    "--document_per",
    "--text_field",
    "--id_field",
    "--encoding",
    "--delimiter",
    "--quotes",
    "--columns",
    "--largest_document",
    "--allow_unreadable_files",
)
"""The flags that a launcher takes too if it reads the texts of a corpus and nothing else of it."""


class SanitizeOptions(PipelineOptions):
    """Flags of dxbeam sanitize.

    Attributes:
      command: the launcher's name.
      needed: flags, without dashes, that must be given.
    """

    command: ClassVar[str] = "sanitize"
    needed: ClassVar[tuple[str, ...]] = ("input", "vocabulary", "epsilon", "output")

    @classmethod
    def _add_argparse_args(cls, parser: argparse.ArgumentParser) -> None:
        _add_corpus(flag_group(parser, flag_groups.CORPUS))
        _add_vocabulary(flag_group(parser, flag_groups.VOCABULARY))
        _add_mechanism(flag_group(parser, flag_groups.MECHANISM))
        _add_decoder(flag_group(parser, flag_groups.DECODING))
        _add_key(flag_group(parser, flag_groups.KEY))
        _add_repair(flag_group(parser, flag_groups.REPAIR))
        _add_output(flag_group(parser, flag_groups.OUTPUT))


def _add_corpus(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--input",
        metavar="GLOB",
        help="corpus files, local or gs://; quote a pattern such as 'corpus/*.jsonl'; .gz and "
        ".zst files are decompressed",
    )
    group.add_argument(
        "--input_format",
        default="jsonl",
        metavar="FORMAT",
        help=f"{', '.join(FORMATS)} (default jsonl)",
    )
    group.add_argument(
        "--document_per",
        default="line",
        metavar="UNIT",
        help="with --input_format text, whether each 'line' (default) or each 'file' is a document",
    )
    group.add_argument(
        "--text_field",
        default="text",
        metavar="FIELD",
        help="field or column that holds the text (default text)",
    )
    group.add_argument(
        "--id_field",
        default="id",
        metavar="FIELD",
        help="field or column that holds the document's id (default id). A document without one is "
        "named FILE:NUMBER, by the number of its line or row. Ids are released; all documents "
        "whose id occurs more than once go to the dead letters",
    )
    add_table(group)
    group.add_argument(
        "--keep_fields",
        default="",
        metavar="A,B",
        help="further fields to release as they are, unprotected, separated by commas. From "
        "Parquet to Parquet columns keep their types; from JSON to Parquet they become strings; of "
        "CSV they are strings, or what --column_types says (default: none)",
    )
    add_column_types(group)
    group.add_argument(
        "--group_by",
        metavar="FIELD",
        help="count metrics separately for each value of this field (default: for all together)",
    )
    group.add_argument(
        "--largest_document",
        type=size,
        default=256 << 20,
        metavar="BYTES",
        help="longer documents go to the dead letters (default 256 MiB)",
    )
    group.add_argument(
        "--allow_unreadable_files",
        action="store_true",
        help="leave out every file that is truncated, damaged or lacks a column, and name it in "
        "release.json (default: such a file fails the run)",
    )
    group.add_argument(
        "--max_dead_letters",
        metavar="N|P%",
        help="fail the run if more than N records, or more than P percent of them, go to the dead "
        "letters. Whoever sees whether the run failed learns a little about the texts: one with a "
        "null byte, for example, is a dead letter (default: no limit)",
    )


def _add_vocabulary(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--vocabulary",
        metavar="DIR",
        help="what dxbeam build-vocabulary wrote, local or gs://, or 'demo' for the small "
        "vocabulary that comes with dxbeam",
    )
    group.add_argument(
        "--unknown_words",
        default="noise",
        metavar="HOW",
        help="what becomes of words outside the vocabulary (default noise). "
        + "; ".join(f"{name}: {what}" for name, what in UNKNOWN_WORDS.items()),
    )
    add_words(group)


def _add_mechanism(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--mechanism",
        default="laplace",
        metavar="NAME",
        help=f"what replaces a word: {', '.join(MECHANISMS)} (default laplace). With --help it "
        "explains this mechanism and its parameters",
    )
    group.add_argument(
        "--epsilon",
        type=number,
        metavar="NUMBER",
        help="privacy loss per unit of distance between word vectors; smaller is more private, and "
        "5 to 20 is usual for GloVe",
    )
    group.add_argument(
        "--epsilon_by",
        metavar="FIELD:VALUE=NUMBER,…",
        help="an epsilon for each document by a public field, e.g. consent:low=5,high=10. A "
        "document with another value, or none, has --epsilon, or goes to the dead letters where "
        "that is not given. The guarantee and the ledger count the largest; the field must not be "
        "computed from the text (default: one epsilon for all)",
    )
    group.add_argument(
        "--parameters",
        default="",
        metavar="NAME=VALUE,…",
        help="further parameters of the mechanism, e.g. delta=1e-6 (default: the mechanism's own, "
        "which --mechanism NAME --help lists)",
    )
    group.add_argument(
        "--importance",
        metavar="FILE",
        help="with santext or tem, public weights of words: a word with a weight stays unchanged "
        "more often, and costs its weight more. A file of lines 'word<TAB>weight', or .csv or "
        ".parquet with the columns word and weight, weights from 0 to 100; or one of "
        f"{', '.join(NAMED)}, as NAME=LARGEST for another largest weight than 10. Never weights "
        "computed from the private corpus: they void the guarantee. audit, whose words are made "
        f"up, takes only {FREQUENCY} (default: no weights)",
    )
    group.add_argument(
        "--base",
        metavar="FILE",
        help="with santext or tem, a public base measure: words are drawn in proportion to it, so "
        "that likely words come back. A file as for --importance, of numbers such as how often "
        "each word occurs in a public text; words that it does not name are never drawn; or "
        f"{FREQUENCY}, 1 / r for the r-th word of the vocabulary. Never computed from the private "
        "corpus (default: all words alike)",
    )
    group.add_argument(
        "--base_exponent",
        type=number,
        metavar="TAU",
        help="with --base, the power to which it is raised: 1 counts it fully (default), 0.5 half",
    )
    group.add_argument(
        "--constant",
        default=WORST_CASE,
        metavar="WHICH",
        help="with santext or tem, whether --epsilon is the worst case over all vocabularies "
        "(worst_case, default) or what a scan of this one found to be true (exact): then words are "
        "drawn with a larger nominal epsilon, at the same guarantee",
    )
    group.add_argument(
        "--constant_scan",
        metavar="FILE",
        help="needed with --constant exact: what dxbeam scan-constant wrote for this vocabulary "
        "and these settings",
    )
    group.add_argument(
        "--rank_c",
        type=number,
        metavar="C",
        help="resample each released word among its neighbours, with probability proportional to "
        "exp(-epsilon * C * rank). It costs no privacy, and 0.02 to 0.05 is usual (default: no "
        "resampling)",
    )
    group.add_argument(
        "--bag_of_words",
        type=count,
        metavar="LENGTH",
        help="release each document as this many of its words, without their order. Longer "
        "documents are sampled and shorter ones are filled up with the unknown word, so nobody "
        "sees how long a document is (default: all words, in order)",
    )
    group.add_argument(
        "--stop_words",
        metavar="FILE",
        help="with --bag_of_words, a public list of words to leave out; also 'english' (default) "
        "or 'none'",
    )
    group.add_argument(
        "--allow_unsound",
        action="store_true",
        help="run settings that guarantee nothing, or nothing for some words: to compare a "
        "mechanism or reproduce what was published, or for --unknown_words mask, drop or keep "
        "(default: they are refused)",
    )


def _add_decoder(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--decode",
        metavar="HOW",
        help="how what was drawn is read. nearest: the nearest or drawn word (default). prior: "
        "each word by a public language model's frequencies. context: the words of a sentence "
        "together. It costs no privacy; docs/guides/decoding.md says what it changes",
    )
    group.add_argument(
        "--decode_loss",
        metavar="WHAT",
        help="with --decode prior or context, which candidate is released: the most probable "
        "'word' (default), or by 'distance' the one nearest to the mean of all, weighted by their "
        "probability",
    )
    group.add_argument(
        "--language_model",
        metavar="DIR",
        help="what dxbeam build-language-model wrote for this vocabulary, local or gs://, or "
        "'demo' with the demo vocabulary; needed with --decode prior or context, with "
        "--mechanism fluent and with --truecase. It must be public: one made from the private "
        "corpus voids the guarantee",
    )
    group.add_argument(
        "--truecase",
        action="store_true",
        help="put capitals into the released text as public text has them, by --language_model and "
        "the released words only; the original's capitals have no influence",
    )


def _add_key(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--key_uri",
        metavar="URI",
        help="file, gs:// object or env:NAME that holds a secret key of 32 bytes, for a release "
        "that can be repeated (default: a new key that nobody keeps)",
    )


def _add_repair(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--repair_model",
        metavar="NAME",
        help="language model that rewrites sanitized text fluently before it is written. It is "
        "given nothing else, and must not know the private corpus (default: none)",
    )
    group.add_argument(
        "--repair_endpoint",
        metavar="URL",
        help="OpenAI-compatible endpoint of that model, e.g. http://localhost:8000/v1; needed with "
        "--repair_model",
    )
    group.add_argument(
        "--repair_prompt",
        metavar="FILE",
        help="what the model is to do (default: to correct grammar and add nothing)",
    )
    group.add_argument(
        "--repair_api_key_env",
        metavar="NAME",
        help="environment variable that holds the endpoint's key on every worker; never the key "
        "itself (default: the endpoint needs none)",
    )
    group.add_argument(
        "--repair_candidates",
        type=count,
        metavar="K",
        help="with --decode prior or context: the model is also given up to K candidates of each "
        "word, with the probabilities that the decoder computed (default: none)",
    )
    group.add_argument(
        "--repair_failures",
        default="keep",
        metavar="HOW",
        help="what becomes of documents that the model fails on (default keep). "
        + "; ".join(f"{name}: {what}" for name, what in FAILURES.items()),
    )


def _add_output(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--output_format",
        metavar="FORMAT",
        help=f"{', '.join(FORMATS)} (default: the input's; jsonl where files are documents)",
    )
    group.add_argument(
        "--compression",
        default="none",
        metavar="NAME",
        help="of jsonl and text files: none, gzip or zstd (default none)",
    )
    group.add_argument(
        "--num_shards",
        type=count,
        metavar="N",
        help="number of output files (default: one for each 10,000 bags of words or vectors; "
        "otherwise as the workers happen to write, which needs no shuffle and the least memory)",
    )
    group.add_argument(
        "--metrics_output",
        metavar="DIR",
        help="where metrics and dead letters go. They are computed from the raw text, and the "
        "guarantee does not cover them (default: the output's name with -metrics)",
    )


class LedgerOptions(PipelineOptions):
    """Flags of launchers that account for what they release."""

    @classmethod
    def _add_argparse_args(cls, parser: argparse.ArgumentParser) -> None:
        group = flag_group(parser, flag_groups.LEDGER)
        group.add_argument(
            "--ledger",
            metavar="FILE",
            help="record of all releases, a local file or gs:// object that is appended to; dxbeam "
            "ledger shows it, docs/guides/ledger.md explains it (default: none)",
        )
        group.add_argument(
            "--corpus_id",
            metavar="NAME",
            help="what the ledger calls this corpus, the same for every release of it; needed with "
            "--ledger",
        )
        group.add_argument(
            "--max_epsilon",
            type=number,
            metavar="NUMBER",
            help="refuse a release with which the releases of this corpus would add up to more "
            "(default: no cap)",
        )
