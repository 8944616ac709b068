"""Every flag of dxbeam's own, declared once, and strict parsing.

Beam drops a flag it does not know with a warning, so a misspelt --epsilom would run at a default.
``parse`` refuses it. Each flag stands in one class, right below PipelineOptions: Beam parses all of
these for every pipeline, and a flag declared twice breaks every pipeline of the process.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any, ClassVar, NoReturn

from apache_beam.options.pipeline_options import (
    DirectOptions,
    PipelineOptions,
    StandardOptions,
    _BeamArgumentParser,
)
from apache_beam.options.pipeline_options_validator import PipelineOptionsValidator
from apache_beam.runners.runner import create_runner
from apache_beam.transforms.resources import resource_hints_from_options

from dxbeam import storage
from dxbeam.commands.arguments import (
    Given,
    Known,
    as_argument,
    command_line,
    config_file,
    consistent,
    count,
    number,
    size,
)
from dxbeam.corpus import files as corpus
from dxbeam.errors import ConfigurationError
from dxbeam.mechanisms import MECHANISMS
from dxbeam.space import embeddings
from dxbeam.text.configuration import UNKNOWN_WORDS
from dxbeam.text.repair import FAILURES
from dxbeam.vectors.projections import DEFAULT_SEED, KINDS
from dxbeam.vectors.release import UNITS

_PLACES = ("DIR", "FILE", "GLOB", "URI")
"""Metavars of flags that name files."""

LOCAL_RUNNER = "FnApiRunner"
"""Runs where no --runner is given. Beam's own default may fetch a binary and behaves otherwise."""


class CommonOptions(PipelineOptions):
    """Flags of every launcher."""

    @classmethod
    def _add_argparse_args(cls, parser: Any) -> None:
        parser.add_argument(
            "--output", metavar="DIR", help="fresh directory or gs:// prefix to write to"
        )
        parser.add_argument(
            "--config",
            metavar="FILE",
            help="YAML file of flags, e.g. 'epsilon: 10'; a flag on the command line replaces the "
            "file's",
        )
        parser.add_argument(
            "--search_threads",
            type=count,
            metavar="N",
            help="threads a search uses in each worker process (default: locally all cores "
            "divided by --direct_num_workers, elsewhere 1)",
        )


class BuildVocabularyOptions(PipelineOptions):
    """Flags of pipelines.build_vocabulary."""

    @classmethod
    def _add_argparse_args(cls, parser: Any) -> None:
        parser.add_argument(
            "--embeddings",
            metavar="FILE",
            help="GloVe, word2vec or fastText file; plain, .gz, or FILE.zip or FILE.zip!MEMBER",
        )
        parser.add_argument(
            "--embeddings_format",
            default="auto",
            help=f"{', '.join(embeddings.FORMATS)}, or auto to find out (default)",
        )
        parser.add_argument(
            "--max_words", type=count, metavar="N", help="keep the first N words of the file"
        )
        parser.add_argument(
            "--lowercase",
            action="store_true",
            help="lower-case the words; of those that become equal the first is kept. Text is then "
            "lower-cased too",
        )
        parser.add_argument(
            "--index_factory",
            default="Flat",
            metavar="FACTORY",
            help="FAISS factory string. Flat (default) searches exactly; an approximate index "
            "keeps the privacy but changes the output, and its recall goes into the manifest",
        )
        parser.add_argument(
            "--index_parameters",
            default="",
            metavar="NAME=VALUE,…",
            help="FAISS parameters of the index's searches, such as nprobe=32; FAISS's own "
            "defaults are fast and find few words",
        )
        parser.add_argument(
            "--neighbors",
            type=count,
            default=256,
            metavar="K",
            help="neighbours stored a word, for rank resampling (default 256); deeper ranks are "
            "searched when they are drawn",
        )
        parser.add_argument(
            "--vector_dtype",
            default="float32",
            choices=["float32", "float16"],
            help="how vectors are stored; float16 halves the artifact and is opened into memory",
        )


class SanitizeOptions(PipelineOptions):
    """Flags of pipelines.sanitize."""

    @classmethod
    def _add_argparse_args(cls, parser: Any) -> None:
        parser.add_argument(
            "--input", metavar="GLOB", help="corpus files, local or gs://; .gz and .zst are read"
        )
        parser.add_argument(
            "--input_format",
            default="jsonl",
            help=f"{', '.join(corpus.FORMATS)} (default jsonl)",
        )
        parser.add_argument(
            "--document_per",
            default="line",
            help="for text: whether a document is a 'line' (default) or a 'file'",
        )
        parser.add_argument(
            "--text_field", default="text", help="field or column of the text (default text)"
        )
        parser.add_argument(
            "--id_field",
            default="id",
            help="field or column of the document id (default id); a document without one gets "
            "FILE:NUMBER, the number of its line or row in its file. Ids are released, and all "
            "documents with an id that stands more than once go to the dead letters",
        )
        parser.add_argument(
            "--keep_fields",
            default="",
            metavar="A,B",
            help="further fields to release as they are, separated by commas; from Parquet to "
            "Parquet columns keep their types, from JSON they become strings there",
        )
        parser.add_argument(
            "--group_by", metavar="FIELD", help="count metrics apart for each value of this field"
        )
        parser.add_argument(
            "--largest_document",
            type=size,
            default=256 << 20,
            metavar="BYTES",
            help="longer documents go to the dead letters (default 256 MiB)",
        )
        parser.add_argument(
            "--allow_unreadable_files",
            action="store_true",
            help="leave out, whole, files that are truncated, damaged or lack a column, and name "
            "them in release.json; otherwise such a file fails the run",
        )
        parser.add_argument(
            "--max_dead_letters",
            metavar="N|P%",
            help="fail the run if more records than this, or more percent of them, go to the dead "
            "letters; which of the two happened is seen from outside, and a text with a null byte, "
            "say, makes a dead letter (default: no cap)",
        )
        parser.add_argument(
            "--vocabulary",
            metavar="DIR",
            help="what pipelines.build_vocabulary wrote, or 'demo' for the small one that comes "
            "with dxbeam",
        )
        parser.add_argument(
            "--mechanism",
            default="laplace",
            help=f"{', '.join(MECHANISMS)} (default laplace)",
        )
        parser.add_argument(
            "--epsilon",
            type=number,
            help="privacy loss per unit of distance between word vectors; smaller is more private",
        )
        parser.add_argument(
            "--parameters",
            default="",
            metavar="NAME=VALUE,…",
            help="further parameters of the mechanism, e.g. 'delta=1e-6'; README.md lists them",
        )
        parser.add_argument(
            "--allow_unsound",
            action="store_true",
            help="run a mechanism that guarantees nothing, or nothing for some words, to compare "
            "it or to reproduce what was published; and --unknown_words mask, drop or keep",
        )
        parser.add_argument(
            "--rank_c",
            type=number,
            help="resample each released word among its neighbours with probability proportional "
            "to exp(-epsilon * c * rank); costs no privacy (default: no resampling)",
        )
        parser.add_argument(
            "--unknown_words",
            default="noise",
            help="words outside the vocabulary: noise (default, protected), mask, drop or keep; "
            + "; ".join(f"{name}: {what}" for name, what in UNKNOWN_WORDS.items()),
        )
        parser.add_argument(
            "--bag_of_words",
            type=count,
            metavar="LENGTH",
            help="release each document as this many of its words, without their order; longer "
            "documents are sampled, shorter ones filled up with the unknown word, so that nobody "
            "sees how long a document is (default: all words, in order)",
        )
        parser.add_argument(
            "--stop_words",
            metavar="FILE",
            help="public list of words that a bag of words leaves out, or 'english' (default), "
            "or 'none'",
        )
        parser.add_argument(
            "--key_uri",
            metavar="URI",
            help="file, gs:// object or env:NAME that holds a secret key of 32 bytes, for a "
            "release that can be repeated (default: a new key that nobody keeps)",
        )
        parser.add_argument(
            "--repair_model",
            metavar="NAME",
            help="language model that rewrites sanitized text fluently before it is written; it is "
            "given nothing else, and must not know the private corpus (default: none)",
        )
        parser.add_argument(
            "--repair_endpoint",
            metavar="URL",
            help="OpenAI-compatible endpoint of that model, e.g. http://localhost:8000/v1",
        )
        parser.add_argument(
            "--repair_prompt",
            metavar="FILE",
            help="what the model is told to do (default: to correct grammar and add nothing)",
        )
        parser.add_argument(
            "--repair_api_key_env",
            metavar="NAME",
            help="environment variable that holds the endpoint's key on every worker, if it needs "
            "one; never the key itself",
        )
        parser.add_argument(
            "--repair_failures",
            default="keep",
            help="documents that the model fails on: keep (default) or reject; "
            + "; ".join(f"{name}: {what}" for name, what in FAILURES.items()),
        )
        parser.add_argument(
            "--output_format",
            help=f"{', '.join(corpus.FORMATS)} (default: as the input)",
        )
        parser.add_argument(
            "--compression",
            default="none",
            help="none, gzip or zstd, for jsonl and text shards (default none)",
        )
        parser.add_argument(
            "--num_shards",
            type=count,
            metavar="N",
            help="number of output files (default: for bags of words and vectors one for each "
            "10,000 documents; otherwise as the workers happen to write, which needs no shuffle "
            "and the least memory)",
        )
        parser.add_argument(
            "--metrics_output",
            metavar="DIR",
            help="where metrics and dead letters go; they are computed from the raw text and are "
            "not covered by the guarantee (default: OUTPUT-metrics)",
        )


class ReleaseVectorsOptions(PipelineOptions):
    """Flags of pipelines.release_vectors, which takes some of pipelines.sanitize too."""

    shared: ClassVar[tuple[str, ...]] = (
        "--input",
        "--input_format",
        "--document_per",
        "--text_field",
        "--id_field",
        "--keep_fields",
        "--largest_document",
        "--allow_unreadable_files",
        "--max_dead_letters",
        "--vocabulary",
        "--epsilon",
        "--key_uri",
        "--num_shards",
        "--metrics_output",
    )

    @classmethod
    def _add_argparse_args(cls, parser: Any) -> None:
        parser.add_argument(
            "--unit",
            default="text",
            help="what a released vector stands for: "
            + "; ".join(f"{name}: {what}" for name, what in UNITS.items())
            + " (default text)",
        )
        parser.add_argument(
            "--vector_field",
            default="vector",
            help="with --unit vector, the field or column of the vector (default vector)",
        )
        parser.add_argument(
            "--dimensions",
            type=count,
            metavar="N",
            help="with --unit vector, how many numbers a vector has (default: as the vocabulary's)",
        )
        parser.add_argument(
            "--projection",
            default="pca",
            help="; ".join(f"{name}: {what}" for name, what in KINDS.items()) + " (default pca)",
        )
        parser.add_argument(
            "--projected_dimensions",
            type=count,
            default=50,
            metavar="M",
            help="dimensions of a released vector (default 50; with --projection none, all)",
        )
        parser.add_argument(
            "--projection_seed",
            default=DEFAULT_SEED,
            metavar="TEXT",
            help=f"public seed of a random projection (default {DEFAULT_SEED}); the same seed "
            "gives the same projection, and it is released",
        )
        parser.add_argument(
            "--sensitivity",
            help="bound on what the projection does to distances: exact, over all pairs of words "
            "(default for words); spectral, for all vectors (default for texts and vectors); "
            "published, 1 + beta with probability 1 - delta (PrivEmb)",
        )
        parser.add_argument(
            "--projection_delta",
            type=number,
            default=1e-6,
            metavar="DELTA",
            help="delta of --sensitivity published (default 1e-6)",
        )


class AuditOptions(PipelineOptions):
    """Flags of pipelines.audit, besides those that it shares with pipelines.sanitize."""

    shared: ClassVar[tuple[str, ...]] = ("--mechanism", "--epsilon", "--parameters", "--rank_c")

    @classmethod
    def _add_argparse_args(cls, parser: Any) -> None:
        parser.add_argument(
            "--runs", type=count, default=1, metavar="N", help="how many whole audits (default 1)"
        )
        parser.add_argument(
            "--samples",
            default="standard",
            help="standard (default), or small for many runs; the false-alarm rate is the same",
        )
        parser.add_argument(
            "--report",
            default="audit.json",
            metavar="FILE",
            help="where to write the report, local or gs:// (default audit.json)",
        )


class LedgerOptions(PipelineOptions):
    """Flags of launchers that account for what they release."""

    @classmethod
    def _add_argparse_args(cls, parser: Any) -> None:
        parser.add_argument(
            "--ledger",
            metavar="FILE",
            help="record of all releases, a local file or gs:// object that is appended to; see "
            "docs/ledger.md",
        )
        parser.add_argument(
            "--corpus_id",
            metavar="NAME",
            help="what the ledger calls this corpus; the same for every release of it",
        )
        parser.add_argument(
            "--max_epsilon",
            type=number,
            help="refuse a release with which those of this corpus would add up to more than this "
            "(default: no cap)",
        )


class MeasureOptions(PipelineOptions):
    """Flags of pipelines.measure."""

    shared = ("--vocabulary", "--search_threads")

    @classmethod
    def _add_argparse_args(cls, parser: Any) -> None:
        parser.add_argument(
            "--mechanisms",
            default="laplace",
            metavar="NAMES",
            help="mechanisms to measure, as laplace,santext, or all; with parameters as "
            "gaussian:delta=1e-6:distance=5 (default: laplace)",
        )
        parser.add_argument(
            "--epsilons",
            default="auto",
            metavar="GRID",
            help="1:70, 0.5:6:0.1 (first, last, step) or 1,2,5, the same for all mechanisms; auto "
            "finds for each where it turns from distant to original words (default: auto)",
        )
        parser.add_argument(
            "--rank_cs",
            default="",
            metavar="NUMBERS",
            help="values of rank resampling's c to measure besides none, as 0.02,0.04",
        )
        parser.add_argument(
            "--words",
            type=count,
            default=5000,
            help="how many words of the vocabulary are tried (default: 5000)",
        )
        parser.add_argument(
            "--seed",
            type=int,
            default=0,
            help="of the sample of words and of its noise, all of it public (default: 0)",
        )


class _Only:
    """Passes on to a parser the flags of these names only."""

    def __init__(self, parser: Any, names: tuple[str, ...]):
        self._parser = parser
        self._names = names

    def add_argument(self, name: str, *others: str, **settings: Any) -> None:
        if name in self._names:
            self._parser.add_argument(name, *others, **settings)


LAUNCHERS = {
    AuditOptions,
    BuildVocabularyOptions,
    LedgerOptions,
    MeasureOptions,
    ReleaseVectorsOptions,
    SanitizeOptions,
}
"""The classes of flags of which a command line takes its own launcher's only."""


def _add_own_flags(own: type[PipelineOptions], parser: Any) -> None:
    """The launcher's own flags, and those that it shares with pipelines.sanitize."""
    own._add_argparse_args(parser)
    if own in (SanitizeOptions, ReleaseVectorsOptions):
        LedgerOptions._add_argparse_args(parser)
    shared = getattr(own, "shared", ())
    if shared:
        SanitizeOptions._add_argparse_args(_Only(parser, shared))


class _Parser(_BeamArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ConfigurationError(f"{message.removeprefix('argument ')}; --help lists the flags")


def parse(argv: Sequence[str], own: type[PipelineOptions], manual: str) -> PipelineOptions:
    """Parses a command line, refusing what neither dxbeam nor Beam knows.

    A flag of a --config file gives way to the same flag on the command line.

    Args:
      argv: the arguments, without the program's name.
      own: the launcher's own flags.
      manual: the launcher's docstring, shown with --help.

    Raises:
      ConfigurationError: an unknown, malformed or contradictory flag, an unreadable --config file,
        or a runner that cannot be had with these flags.
      SystemExit: after --help.
    """
    if "--help" in argv or "-h" in argv:
        _print_help(own, manual)
    parser = _Parser(allow_abbrev=False, add_help=False)
    for options in set(PipelineOptions.__subclasses__()) - LAUNCHERS:
        options._add_argparse_args(parser)
    _add_own_flags(own, parser)
    known = {name: action for action in parser._actions for name in action.option_strings}
    given = consistent(command_line(argv, known), known)
    named = {known[flag.name].dest for flag in given}
    for path in {flag.value or "" for flag in given if flag.name == "--config"}:
        from_file = consistent(config_file(path, known), known)
        given = [flag for flag in from_file if known[flag.name].dest not in named] + given
    written = [text for flag in given for text in as_argument(flag, known[flag.name])]
    parser.parse_args(written)
    _refuse_unknown_places(given, known)
    parsed = PipelineOptions(written)
    if parsed.view_as(StandardOptions).runner is None:
        parsed.view_as(StandardOptions).runner = LOCAL_RUNNER
    _check_runner(parsed)
    return parsed


def _refuse_unknown_places(given: list[Given], known: Known) -> None:
    """Refuses paths that no file system takes, such as s3:// where its package is missing."""
    for flag in given:
        place = flag.value or ""
        if known[flag.name].metavar in _PLACES and "://" in place and not storage.knows(place):
            raise ConfigurationError(
                f"{flag.name}: there is no file system here for paths that begin so; use a "
                "local path or gs://, or install what apache-beam needs for it"
            )


def _check_runner(options: PipelineOptions) -> None:
    """Refuses what a pipeline with these options would raise when it is made."""
    name = options.view_as(StandardOptions).runner
    try:
        runner = create_runner(name)
    except (ValueError, ImportError, AttributeError, TypeError):
        raise ConfigurationError(
            f"--runner {name}: there is no such runner here; choose from "
            f"{', '.join(StandardOptions.KNOWN_RUNNER_NAMES)}, and install what it needs"
        ) from None
    try:
        wrong = PipelineOptionsValidator(options, runner).validate()
        resource_hints_from_options(options)
    except ValueError as error:
        wrong = [str(error)]
    if wrong:
        raise ConfigurationError(f"--runner {name} cannot run with these flags: {wrong[0].strip()}")
    workers = options.view_as(DirectOptions).direct_num_workers
    if workers < 0:
        raise ConfigurationError(
            f"--direct_num_workers must be 0 (one for each core) or more, not {workers}"
        )


def require(options: PipelineOptions, *names: str) -> None:
    """Refuses options that were left out.

    Raises:
      ConfigurationError: names the flag that is missing.
    """
    for name in names:
        if getattr(options, name) in (None, ""):
            raise ConfigurationError(f"--{name} is needed; --help says what it is")


def _print_help(own: type[PipelineOptions], manual: str) -> NoReturn:
    parser = argparse.ArgumentParser(
        description=manual,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="python -m pipelines.NAME --flag value …",
        epilog="Every flag of Beam and its runners is accepted too, e.g. "
        "--direct_running_mode=multi_processing --direct_num_workers=0 for all cores.",
    )
    _add_own_flags(own, parser)
    CommonOptions._add_argparse_args(parser)
    # Beam declares this one itself, among its options for tests.
    parser.add_argument("--dry_run", action="store_true", help="say what would be done, do nothing")
    parser.print_help()
    sys.exit(0)
