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

import yaml
from apache_beam.options.pipeline_options import (
    PipelineOptions,
    StandardOptions,
    _BeamArgumentParser,
)

from dxbeam import corpus, storage
from dxbeam.configuration import UNKNOWN_WORDS
from dxbeam.errors import ConfigurationError
from dxbeam.mechanisms import MECHANISMS
from dxbeam.projections import DEFAULT_SEED, KINDS
from dxbeam.repair import FAILURES
from dxbeam.vector_release import UNITS

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
            help="YAML file of flags, e.g. 'epsilon: 10'; flags on the command line come first",
        )
        parser.add_argument(
            "--search_threads",
            type=int,
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
            help="glove, word2vec-text, word2vec-binary, or auto to find out (default)",
        )
        parser.add_argument(
            "--max_words", type=int, metavar="N", help="keep the first N words of the file"
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
            type=int,
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
            "FILE:POSITION. Ids are released",
        )
        parser.add_argument(
            "--keep_fields",
            default="",
            metavar="A,B",
            help="further fields to release as they are, separated by commas",
        )
        parser.add_argument(
            "--group_by", metavar="FIELD", help="count metrics apart for each value of this field"
        )
        parser.add_argument(
            "--largest_document",
            type=int,
            default=256 << 20,
            metavar="BYTES",
            help="longer documents go to the dead letters (default 256 MiB)",
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
            type=float,
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
            type=float,
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
            type=int,
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
            type=int,
            default=0,
            metavar="N",
            help="number of output files (default: as the workers happen to write, which needs "
            "no shuffle and the least memory)",
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
            type=int,
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
            type=int,
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
            type=float,
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
            "--runs", type=int, default=1, metavar="N", help="how many whole audits (default 1)"
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
            type=float,
            help="refuse a release with which those of this corpus would add up to more than this "
            "(default: no cap)",
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
    ReleaseVectorsOptions,
    SanitizeOptions,
}
"""The classes of flags of which a command line takes its own launcher's only."""


def _add_own_flags(own: type[PipelineOptions], parser: Any) -> None:
    """The launcher's own flags, and those that it shares with pipelines.sanitize."""
    own._add_argparse_args(parser)
    if own is SanitizeOptions:
        LedgerOptions._add_argparse_args(parser)
    shared = getattr(own, "shared", ())
    if shared:
        SanitizeOptions._add_argparse_args(_Only(parser, shared))


class _Parser(_BeamArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ConfigurationError(f"{message}; --help lists the flags")


def parse(argv: Sequence[str], own: type[PipelineOptions], manual: str) -> PipelineOptions:
    """Parses a command line, refusing what neither dxbeam nor Beam knows.

    Args:
      argv: the arguments, without the program's name.
      own: the launcher's own flags.
      manual: the launcher's docstring, shown with --help.

    Raises:
      ConfigurationError: an unknown or malformed flag, or an unreadable --config file.
      SystemExit: after --help.
    """
    if "--help" in argv or "-h" in argv:
        _print_help(own, manual)
    argv = [_beams_dry_run(argument) for argument in _with_config(list(argv))]
    argv = _without_values(argv, own)
    parser = _Parser(allow_abbrev=False, add_help=False)
    for options in set(PipelineOptions.__subclasses__()) - LAUNCHERS:
        options._add_argparse_args(parser)
    _add_own_flags(own, parser)
    _, unknown = parser.parse_known_args(argv)
    if unknown:
        raise ConfigurationError(f"unknown flag {unknown[0].split('=')[0]}; --help lists the flags")
    parsed = PipelineOptions(argv)
    if parsed.view_as(StandardOptions).runner is None:
        parsed.view_as(StandardOptions).runner = LOCAL_RUNNER
    return parsed


def require(options: PipelineOptions, *names: str) -> None:
    """Refuses options that were left out.

    Raises:
      ConfigurationError: names the flag that is missing.
    """
    for name in names:
        if getattr(options, name) in (None, ""):
            raise ConfigurationError(f"--{name} is needed; --help says what it is")


def _beams_dry_run(argument: str) -> str:
    """``--dry_run`` as Beam, which declares this flag with a value, wants to have it."""
    return "--dry_run=true" if argument == "--dry_run" else argument


def _without_values(argv: list[str], own: type[PipelineOptions]) -> list[str]:
    """``--flag=true`` as ``--flag`` and ``--flag=false`` left out, as templates write switches."""
    parser = argparse.ArgumentParser(add_help=False)
    _add_own_flags(own, parser)
    switches = {
        name
        for action in parser._actions
        if isinstance(action, argparse._StoreTrueAction)
        for name in action.option_strings
    }
    kept = [argument for argument in argv if argument not in {f"{s}=false" for s in switches}]
    return [
        argument.removesuffix("=true") if argument.removesuffix("=true") in switches else argument
        for argument in kept
    ]


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


def _with_config(argv: list[str]) -> list[str]:
    """The arguments of a --config file, followed by those of the command line."""
    finder = _Parser(allow_abbrev=False, add_help=False)
    finder.add_argument("--config")
    path = finder.parse_known_args(argv)[0].config
    if path is None:
        return argv
    try:
        settings = yaml.safe_load(storage.read(path))
    except OSError as error:
        raise ConfigurationError(
            f"--config {path}: cannot be read ({type(error).__name__})"
        ) from None
    except yaml.YAMLError:
        raise ConfigurationError(f"--config {path}: not valid YAML") from None
    if not isinstance(settings, dict):
        raise ConfigurationError(f"--config {path}: must be a mapping of flags to values")
    given: list[str] = []
    for name, value in settings.items():
        if isinstance(value, list) and all(isinstance(item, (str, int, float)) for item in value):
            value = ",".join(map(str, value))
        if isinstance(value, (dict, list)):
            raise ConfigurationError(f"--config {path}: {name} must be a single value or a list")
        if value is True:
            given.append(f"--{name}")
        elif value is not False and value is not None:
            given.append(f"--{name}={value}")
    return given + argv
