"""Strict parsing of command lines.

Beam drops a flag it does not know with a warning, so a misspelt --epsilom would run at a default.
``parse`` refuses it, and flags of other commands.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from typing import NoReturn

from apache_beam.options.pipeline_options import (
    DirectOptions,
    PipelineOptions,
    PrismRunnerOptions,
    StandardOptions,
    _BeamArgumentParser,
)
from apache_beam.options.pipeline_options_validator import PipelineOptionsValidator
from apache_beam.runners.runner import create_runner
from apache_beam.transforms.resources import resource_hints_from_options

from dxbeam import storage
from dxbeam.commands import command_help
from dxbeam.commands.flags.arguments import (
    GivenFlag,
    KnownFlags,
    as_argument,
    command_line,
    config_file,
    without_contradictions,
)
from dxbeam.commands.flags.registry import TOPICS, Command, declared
from dxbeam.commands.flags.run import LARGE_CORPUS, ProcessOptions
from dxbeam.commands.run_options import RunOptions
from dxbeam.corpus.formats import table_kind
from dxbeam.errors import ConfigurationError

__all__ = [
    "LARGE_CORPUS",
    "LOCAL_RUNNER",
    "cores",
    "parse",
    "require",
    "use_processes",
]

_PLACES = ("DIR", "FILE", "GLOB", "URI")
"""Metavars of flags that name files."""

LOCAL_RUNNER = "FnApiRunner"
"""Runs where no --runner is given. Beam's own default may fetch a binary and behaves otherwise."""


class _Parser(_BeamArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ConfigurationError(f"{message.removeprefix('argument ')}; --help lists the flags")


def parse(argv: Sequence[str], command: Command, manual: str) -> PipelineOptions:
    """Parses a command line, refusing what neither dxbeam nor Beam knows.

    A flag of a --config file gives way to the same flag on the command line. ``manual`` is the
    launcher's docstring, which --help begins with. SystemExit: after --help and --help_beam.
    """
    flags = command.flags()
    if command_help.is_wanted(argv):
        ours = (*TOPICS, RunOptions)
        beams = [options for options in PipelineOptions.__subclasses__() if options not in ours]
        command_help.show(argv, command, manual, beams)
    parser = _Parser(allow_abbrev=False, add_help=False)
    for options in PipelineOptions.__subclasses__():
        options._add_argparse_args(parser)
    others = {name for action in declared(*TOPICS) for name in action.option_strings}
    others -= {name for action in flags for name in action.option_strings}
    known = {
        name: action
        for action in parser._actions
        for name in action.option_strings
        if name not in others
    }
    chosen = without_contradictions(command_line(argv, known, others), known)
    named = {known[flag.name].dest for flag in chosen}
    for path in {flag.value or "" for flag in chosen if flag.name == "--config"}:
        from_file = without_contradictions(config_file(path, known), known)
        chosen = [flag for flag in from_file if known[flag.name].dest not in named] + chosen
    written = [text for flag in chosen for text in as_argument(flag, known[flag.name])]
    parser.parse_args(written)
    _refuse_unknown_places(chosen, known)
    parsed = RunOptions(written)
    if parsed.view_as(StandardOptions).runner is None:
        parsed.view_as(StandardOptions).runner = LOCAL_RUNNER
    _find_prism(parsed)
    _check_runner(parsed)
    _settle_processes(parsed, {known[flag.name].dest for flag in chosen})
    return parsed


def use_processes(options: PipelineOptions, number: int) -> None:
    """Makes a run on this machine use this many worker processes; one is the launcher's own."""
    local = options.view_as(DirectOptions)
    options.view_as(ProcessOptions).local_processes = local.direct_num_workers = number
    local.direct_running_mode = "multi_processing" if number > 1 else "in_memory"


def _settle_processes(options: PipelineOptions, named: set[str]) -> None:
    """Makes --local_processes and Beam's own flags say the same; None where nothing is said."""
    processes, local = options.view_as(ProcessOptions), options.view_as(DirectOptions)
    runner = options.view_as(StandardOptions).runner
    by_beam = sorted(named & {"direct_running_mode", "direct_num_workers"})
    if processes.local_processes is None:
        if by_beam:
            processes.local_processes = local.direct_num_workers or cores()
    elif by_beam:
        raise ConfigurationError(f"--local_processes and --{by_beam[0]} say the same; give one")
    elif runner != LOCAL_RUNNER:
        raise ConfigurationError(
            f"--local_processes is for runs on this machine, and --runner {runner} starts workers "
            "by separate flags; leave it out"
        )
    else:
        use_processes(options, processes.local_processes)


def cores() -> int:
    """The cores of this machine that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _refuse_unknown_places(flags: list[GivenFlag], known: KnownFlags) -> None:
    """Refuses paths that no file system takes, such as s3:// where its package is missing."""
    for flag in flags:
        place = flag.value or ""
        if known[flag.name].metavar == "GLOB" and table_kind(place):
            continue
        if known[flag.name].metavar in _PLACES and "://" in place and not storage.knows(place):
            raise ConfigurationError(
                f"{flag.name}: there is no file system here for paths that begin so; use a "
                "local path, gs:// or s3://, or install what apache-beam needs for it"
            )


def _find_prism(options: PipelineOptions) -> None:
    """Uses the program ``prism`` on the PATH; Beam would fetch one from the net."""
    prism = options.view_as(PrismRunnerOptions)
    if options.view_as(StandardOptions).runner == "PrismRunner" and not prism.prism_location:
        prism.prism_location = shutil.which("prism")


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
    """Refuses options that were left out."""
    for name in names:
        if getattr(options, name) in (None, ""):
            raise ConfigurationError(f"--{name} is needed; --help says what it is")
