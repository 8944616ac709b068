"""What --help says: the manual, the flags under headings, and a mechanism with its parameters."""

from __future__ import annotations

import argparse
import copy
import dataclasses
import inspect
import re
import sys
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from dxbeam.commands.flags.flag import HEADINGS, RUN
from dxbeam.commands.flags.registry import Command
from dxbeam.mechanisms import MECHANISMS, Mechanism

_WIDTH = 100
_BEAMS_OWN = (
    "Beam's own flags are accepted too, such as --runner NAME (default FnApiRunner: this machine). "
    "--help_beam lists them all."
)
_DRY_RUN = "check everything that can be checked, say what would be done, and write nothing"
_EXAMPLE_EPSILON = 10.0


def is_wanted(argv: Sequence[str]) -> bool:
    """Whether a command line asks for help."""
    return not {"--help", "-h", "--help_beam"}.isdisjoint(argv)


def show(argv: Sequence[str], command: Command, manual: str, beams: Iterable[Any]) -> NoReturn:
    """Prints the help that a command line asks for, and ends the program.

    With --help_beam that is of Beam's flags, with --mechanism NAME of that mechanism, else of the
    launcher, whose docstring is ``manual``.
    """
    flags = command.flags()
    taken = {action.dest for action in flags}
    name = _mechanism(argv) if "mechanism" in taken else None
    if "--help_beam" in argv:
        shown = beam_flags(beams)
    elif name in MECHANISMS:
        shown = mechanism_page(command.name, MECHANISMS[name], takes_epsilon="epsilon" in taken)
    else:
        shown = launcher_page(command.name, command.needed, flags, manual)
    print(shown)  # noqa: T201
    sys.exit(0)


def _mechanism(argv: Sequence[str]) -> str | None:
    """The mechanism that a command line names, if it does."""
    for flag, following in zip(argv, [*argv[1:], None], strict=True):
        name, equals, value = flag.partition("=")
        if name == "--mechanism":
            return value if equals else following
    return None


def launcher_page(
    command: str, needed: Sequence[str], flags: Sequence[argparse.Action], manual: str
) -> str:
    """The manual, and the flags under their headings; those that are needed come first."""
    parser = _page(f"dxbeam {command} --flag value …", manual, _BEAMS_OWN)
    for heading in HEADINGS:
        members = [action for action in flags if action.container.title == heading]  # type: ignore[attr-defined]
        if heading == RUN:
            members += _run_flags()
        members.sort(key=lambda action: action.dest not in needed)
        group = parser.add_argument_group(heading)
        for action in members:
            shown = copy.copy(action)
            if action.dest in needed:
                shown.help = f"(required) {action.help}"
            group._add_action(shown)
    return parser.format_help()


def _run_flags() -> list[argparse.Action]:
    """Flags that every launcher takes and that Beam or argparse declares."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--dry_run", action="store_true", help=_DRY_RUN)
    parser.add_argument("--help", "-h", action="store_true", help="show this")
    parser.add_argument("--help_beam", action="store_true", help="show Beam's own flags")
    return parser._actions


def beam_flags(classes: Iterable[Any]) -> str:
    """Every flag of Beam's, under the names of Beam's classes."""
    parser = _page("--flag value …", "Flags of Apache Beam and its runners.", "")
    for options in sorted(classes, key=lambda options: str(options.__name__)):
        declared = _quiet_parser()
        options._add_argparse_args(declared)
        group = parser.add_argument_group(options.__name__)
        for action in declared._actions:
            group._add_action(copy.copy(action))
    return parser.format_help()


def _quiet_parser() -> Any:
    from apache_beam.options.pipeline_options import _BeamArgumentParser

    return _BeamArgumentParser(add_help=False, allow_abbrev=False)


def _page(usage: str, description: str, epilog: str) -> argparse.ArgumentParser:
    return argparse.ArgumentParser(
        usage=usage,
        description=description,
        epilog=textwrap.fill(epilog, _WIDTH),
        add_help=False,
        formatter_class=lambda prog: argparse.RawDescriptionHelpFormatter(prog, width=_WIDTH),
    )


def mechanism_page(command: str, mechanism: type[Mechanism], *, takes_epsilon: bool) -> str:
    """What a mechanism does, its parameters with defaults and meanings, and what it promises."""
    module = inspect.getmodule(mechanism)
    about = inspect.cleandoc((module.__doc__ if module else None) or "").split("\n\n")
    rows = [(f"{name} ({default})", meaning) for name, default, meaning in parameters(mechanism)]
    width = max(len(left) for left, _ in rows) + 4
    usage = (
        f"usage: dxbeam {command} --mechanism {mechanism.name}"
        f"{' --epsilon NUMBER' * takes_epsilon}{_parameters_example(mechanism)} …"
    )
    lines = [
        *textwrap.wrap(usage, _WIDTH, subsequent_indent=" " * 7),
        "",
        *textwrap.wrap(about[0], _WIDTH),
        "",
        "parameters:",
    ]
    for left, meaning in rows:
        lines += textwrap.wrap(
            meaning,
            _WIDTH,
            initial_indent=f"  {left}".ljust(width),
            subsequent_indent=" " * width,
        )
    guarantee = mechanism(epsilon=_EXAMPLE_EPSILON).guarantee()
    lines += ["", f"What it guarantees, with epsilon {_EXAMPLE_EPSILON:g}:"]
    lines += textwrap.wrap(guarantee.sentence, _WIDTH, initial_indent="  ", subsequent_indent="  ")
    if not guarantee.sound or guarantee.unprotected:
        lines += ["So it is refused without --allow_unsound."]
    return "\n".join(lines)


def _parameters_example(mechanism: type[Mechanism]) -> str:
    names = [name for name, _, _ in parameters(mechanism) if name != "epsilon"]
    return f" --parameters {','.join(f'{name}=N' for name in names)}" if names else ""


def parameters(mechanism: type[Mechanism]) -> list[tuple[str, str, str]]:
    """Name, default and meaning of each parameter, from the class's fields and docstring."""
    meanings = _meanings(mechanism)
    return [
        (field.name, _default(field), meanings.get(field.name, ""))
        for field in dataclasses.fields(mechanism)  # type: ignore[arg-type]
    ]


def _default(field: dataclasses.Field[Any]) -> str:
    if field.default is dataclasses.MISSING:
        return "required"
    if isinstance(field.default, str):
        return f"default {field.default}"
    return "default none" if field.default is None else f"default {field.default:g}"


def _meanings(mechanism: type) -> dict[str, str]:
    """What is after each name in the ``Attributes`` of its docstring and of its bases'."""
    meanings: dict[str, str] = {}
    for each in reversed(mechanism.__mro__):
        listed = inspect.cleandoc(each.__doc__ or "").partition("Attributes:\n")[2]
        pairs = re.findall(r"^  (\w+): (.*(?:\n    .*)*)", listed.split("\n\n")[0], re.MULTILINE)
        meanings |= {name: " ".join(meaning.split()) for name, meaning in pairs}
    return meanings
