"""Strict parsing of command lines, and which flags each launcher takes.

Beam drops a flag it does not know with a warning, so a misspelt --epsilom would run at a default.
``parse`` refuses it. Each flag is declared in one class, right below PipelineOptions, in the file
of its launcher: Beam parses all of these for every pipeline, and a flag declared twice breaks every
pipeline of the process.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import NoReturn

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
from dxbeam.commands import command_help
from dxbeam.commands.flags import flag_groups
from dxbeam.commands.flags.arguments import (
    GivenFlag,
    KnownFlags,
    as_argument,
    command_line,
    config_file,
    count,
    without_contradictions,
)
from dxbeam.commands.flags.audit import AuditOptions
from dxbeam.commands.flags.build_language_model import BuildLanguageModelOptions
from dxbeam.commands.flags.build_vocabulary import BuildVocabularyOptions
from dxbeam.commands.flags.calibrate import CalibrateOptions
from dxbeam.commands.flags.decode import DecodeOptions
from dxbeam.commands.flags.evaluate import EvaluateOptions
from dxbeam.commands.flags.flag_groups import flag_group
from dxbeam.commands.flags.frontier import FrontierOptions
from dxbeam.commands.flags.measure import MeasureOptions
from dxbeam.commands.flags.release_vectors import ReleaseVectorsOptions
from dxbeam.commands.flags.sanitize import LedgerOptions, SanitizeOptions
from dxbeam.commands.flags.sanitize_stream import SanitizeStreamOptions
from dxbeam.commands.run_options import RunOptions
from dxbeam.errors import ConfigurationError
from dxbeam.space.search.backends.choose_backend import AUTO, NAMES

__all__ = [
    "LARGE_CORPUS",
    "LOCAL_RUNNER",
    "AuditOptions",
    "BuildLanguageModelOptions",
    "BuildVocabularyOptions",
    "CalibrateOptions",
    "CommonOptions",
    "DecodeOptions",
    "EvaluateOptions",
    "FrontierOptions",
    "LedgerOptions",
    "MeasureOptions",
    "ReleaseVectorsOptions",
    "SanitizeOptions",
    "SanitizeStreamOptions",
    "cores",
    "launcher_flags",
    "parse",
    "require",
    "use_processes",
]

_PLACES = ("DIR", "FILE", "GLOB", "URI")
"""Metavars of flags that name files."""

LARGE_CORPUS = 4 << 20
"""Bytes of text from which worker processes gain more than it costs to start them."""

LOCAL_RUNNER = "FnApiRunner"
"""Runs where no --runner is given. Beam's own default may fetch a binary and behaves otherwise."""


class CommonOptions(PipelineOptions):
    """Flags of every launcher."""

    @classmethod
    def _add_argparse_args(cls, parser: argparse.ArgumentParser) -> None:
        flag_group(parser, flag_groups.OUTPUT).add_argument(
            "--output",
            metavar="DIR",
            help="directory or gs:// prefix to write to, which must be empty",
        )
        group = flag_group(parser, flag_groups.RUN)
        group.add_argument(
            "--config",
            metavar="FILE",
            help="YAML file of flags, one 'flag: value' per line; a flag on the command line "
            "replaces the file's (default: none)",
        )
        group.add_argument(
            "--local_processes",
            type=count,
            metavar="N",
            help="worker processes of a run on this machine. What is released of a document does "
            "not depend on it; the number of files may (default: one for each core where "
            "sanitize or evaluate reads more than "
            f"{LARGE_CORPUS >> 20} MiB of text, else 1)",
        )
        group.add_argument(
            "--search_threads",
            type=count,
            metavar="N",
            help="threads that a search uses in each worker process (default: locally all cores "
            "divided by the worker processes, elsewhere 1)",
        )
        group.add_argument(
            "--search",
            default=AUTO,
            choices=NAMES,
            help="how nearest words are found: by integers of 8 or 7 bits, by float32, by FAISS's "
            "flat search, or by PyTorch on a GPU. All are exact and give the same words; auto "
            "(default) takes the fastest that is right on each worker's machine",
        )


_LAUNCHERS = (
    AuditOptions,
    BuildLanguageModelOptions,
    BuildVocabularyOptions,
    CalibrateOptions,
    DecodeOptions,
    EvaluateOptions,
    FrontierOptions,
    MeasureOptions,
    ReleaseVectorsOptions,
    SanitizeOptions,
    SanitizeStreamOptions,
)
_WITH_LEDGER = (ReleaseVectorsOptions, SanitizeOptions, SanitizeStreamOptions)
_OURS = (*_LAUNCHERS, LedgerOptions, CommonOptions, RunOptions)


def launcher_flags(own: type[PipelineOptions]) -> list[argparse.Action]:
    """The flags of dxbeam's own that a launcher takes, as they are declared.

    Args:
      own: the launcher's own class of flags.
    """
    ledger = (LedgerOptions,) if own in _WITH_LEDGER else ()
    refused, shared = set(getattr(own, "refused", ())), set(getattr(own, "shared", ()))
    meanings: Mapping[str, str] = getattr(own, "meanings", {})
    return [
        *(
            _meaning(flag, meanings)
            for flag in _declared(SanitizeOptions, MeasureOptions, EvaluateOptions)
            if shared & set(flag.option_strings)
        ),
        *(
            _meaning(flag, meanings)
            for flag in _declared(own, *ledger, CommonOptions)
            if not refused & set(flag.option_strings)
        ),
    ]


def _meaning(flag: argparse.Action, meanings: Mapping[str, str]) -> argparse.Action:
    """A flag that launchers share, with what it means for one of them where that is another."""
    own = [meanings[name] for name in flag.option_strings if name in meanings]
    if own:
        flag.help = own[0]
    return flag


def _declared(*classes: type[PipelineOptions]) -> Iterator[argparse.Action]:
    parser = _Parser(allow_abbrev=False, add_help=False)
    for options in classes:
        options._add_argparse_args(parser)
    yield from parser._actions


class _Parser(_BeamArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ConfigurationError(f"{message.removeprefix('argument ')}; --help lists the flags")


def parse(argv: Sequence[str], own: type[PipelineOptions], manual: str) -> PipelineOptions:
    """Parses a command line, refusing what neither dxbeam nor Beam knows.

    A flag of a --config file gives way to the same flag on the command line.

    Args:
      argv: the arguments, without the program's name.
      own: the launcher's own flags.
      manual: the launcher's docstring, which --help begins with.

    Raises:
      ConfigurationError: an unknown, malformed or contradictory flag, an unreadable --config file,
        or a runner that cannot be had with these flags.
      SystemExit: after --help and --help_beam.
    """
    flags = launcher_flags(own)
    if command_help.is_wanted(argv):
        beams = [options for options in PipelineOptions.__subclasses__() if options not in _OURS]
        command_help.show(argv, own, flags, manual, beams)
    parser = _Parser(allow_abbrev=False, add_help=False)
    for options in PipelineOptions.__subclasses__():
        options._add_argparse_args(parser)
    others = {name for action in _declared(*_OURS) for name in action.option_strings}
    others -= {name for action in flags for name in action.option_strings}
    known = {
        name: action
        for action in parser._actions
        for name in action.option_strings
        if name not in others
    }
    given = without_contradictions(command_line(argv, known, others), known)
    named = {known[flag.name].dest for flag in given}
    for path in {flag.value or "" for flag in given if flag.name == "--config"}:
        from_file = without_contradictions(config_file(path, known), known)
        given = [flag for flag in from_file if known[flag.name].dest not in named] + given
    written = [text for flag in given for text in as_argument(flag, known[flag.name])]
    parser.parse_args(written)
    _refuse_unknown_places(given, known)
    parsed = RunOptions(written)
    if parsed.view_as(StandardOptions).runner is None:
        parsed.view_as(StandardOptions).runner = LOCAL_RUNNER
    _check_runner(parsed)
    _settle_processes(parsed, {known[flag.name].dest for flag in given})
    return parsed


def use_processes(options: PipelineOptions, number: int) -> None:
    """Makes a run on this machine use this many worker processes; one is the launcher's own."""
    local = options.view_as(DirectOptions)
    options.view_as(CommonOptions).local_processes = local.direct_num_workers = number
    local.direct_running_mode = "multi_processing" if number > 1 else "in_memory"


def _settle_processes(options: PipelineOptions, given: set[str]) -> None:
    """Makes --local_processes and Beam's own flags say the same; None where nothing is said."""
    own, local = options.view_as(CommonOptions), options.view_as(DirectOptions)
    runner = options.view_as(StandardOptions).runner
    by_beam = sorted(given & {"direct_running_mode", "direct_num_workers"})
    if own.local_processes is None:
        if by_beam:
            own.local_processes = local.direct_num_workers or cores()
    elif by_beam:
        raise ConfigurationError(f"--local_processes and --{by_beam[0]} say the same; give one")
    elif runner != LOCAL_RUNNER:
        raise ConfigurationError(
            f"--local_processes is for runs on this machine, and --runner {runner} starts workers "
            "by separate flags; leave it out"
        )
    else:
        use_processes(options, own.local_processes)


def cores() -> int:
    """The cores of this machine that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _refuse_unknown_places(given: list[GivenFlag], known: KnownFlags) -> None:
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
