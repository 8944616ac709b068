"""Flags as they are given, on a command line or in a YAML file, before anything is parsed.

argparse by itself takes the last of two values and ignores a word after a switch, and Beam's own
parsers read the same text differently. Here every flag is brought into one spelling, or refused in
a sentence. What a flag may be follows from its declaration.
"""

from __future__ import annotations

import argparse
import difflib
import math
import re
from collections.abc import Container, Mapping, Sequence
from typing import NamedTuple

import yaml

from dxbeam import storage
from dxbeam.errors import ConfigurationError

KnownFlags = Mapping[str, argparse.Action]
"""Every flag with its dashes, and how it is declared."""

_LARGEST_COUNT, _LARGEST_SIZE = 2**31 - 1, 2**63 - 1


def number(text: str) -> float:
    """A flag's value as a number, not NaN; whether it is in range is checked where it is used."""
    try:
        value = float("nan" if "_" in text else text)
    except ValueError:
        value = math.nan
    if math.isnan(value):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number")
    return value


def count(text: str) -> int:
    """A flag's value as a count: a whole number from 1 to 2,147,483,647."""
    return _whole(text, _LARGEST_COUNT)


def count_or_none(text: str) -> int:
    """As ``count``, or 0 for none."""
    return 0 if text == "0" else _whole(text, _LARGEST_COUNT, "0 or ")


def size(text: str) -> int:
    """A flag's value as a number of bytes: a whole number from 1 to 2^63 - 1."""
    return _whole(text, _LARGEST_SIZE)


def _whole(text: str, largest: int, also: str = "") -> int:
    value = int(text) if re.fullmatch("[0-9]{1,19}", text) else 0
    if not 1 <= value <= largest:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not {also}a whole number from 1 to {largest:,}"
        )
    return value


class GivenFlag(NamedTuple):
    """A flag as somebody gave it: its name with dashes, its value if any, and where it is."""

    name: str
    value: str | None
    where: str = ""


def _is_switch(action: argparse.Action) -> bool:
    """Whether a flag is given or not, and has no value. Beam declares --dry_run with one."""
    return action.nargs == 0 or action.dest == "dry_run"


def _may_be_repeated(action: argparse.Action) -> bool:
    """Whether all values count where a flag is given more than once, as with --experiments."""
    return not (_is_switch(action) or isinstance(action, argparse._StoreAction))


def command_line(
    argv: Sequence[str], known: KnownFlags, elsewhere: Container[str] = ()
) -> list[GivenFlag]:
    """The flags of a command line, each ``--name=value``, ``--name value`` or ``--switch``.

    ``elsewhere`` are flags that other commands take.
    """
    flags: list[GivenFlag] = []
    left = list(argv)
    while left:
        name, equals, text = left.pop(0).partition("=")
        if not name.startswith("-"):  # it is not shown, as it may be anything
            raise ConfigurationError(
                f"argument {len(argv) - len(left)} of the command line is not a flag; write "
                "--name=value, and quote patterns such as '*.jsonl', or the shell turns them into "
                "several arguments"
            )
        if name not in known:
            other = "; it is one of other commands, and --help lists those of this one"
            hint = other if name in elsewhere else _suggestion(name, known)
            raise ConfigurationError(f"unknown flag {name}{hint}")
        if equals or _is_switch(known[name]):
            flags.append(GivenFlag(name, text if equals else None))
        elif left and not left[0].startswith("--"):
            flags.append(GivenFlag(name, left.pop(0)))
        else:
            raise ConfigurationError(f"{name} needs a value; --help says what it is")
    return flags


def _suggestion(name: str, known: KnownFlags) -> str:
    begun = sorted((flag for flag in known if len(name) > 3 and flag.startswith(name)), key=len)
    [*close] = begun or difflib.get_close_matches(name, known, 1, 0.8)
    return f"; did you mean {close[0]}?" if close else "; --help lists the flags"


def without_contradictions(flags: list[GivenFlag], known: KnownFlags) -> list[GivenFlag]:
    """Refuses flags that contradict themselves, and words after switches; values are not shown."""
    before: dict[str, object] = {}
    for flag in flags:
        if "\0" in (flag.value or ""):
            raise ConfigurationError(f"{flag.where}{flag.name} holds a null byte; leave it out")
        action = known[flag.name]
        switch = _is_switch(action)
        if switch and _switch_value(flag.value) is None:
            raise ConfigurationError(
                f"{flag.where}{flag.name} is a switch: write only its name, or add true or false"
            )
        meaning: object = (flag.name, _switch_value(flag.value)) if switch else flag.value
        if not _may_be_repeated(action) and before.setdefault(action.dest, meaning) != meaning:
            raise ConfigurationError(
                f"{flag.where}{flag.name} is given twice with different values; give it once"
            )
    return flags


def _switch_value(value: str | None) -> bool | None:
    """What is said after a switch; None for anything but true and false."""
    return {"true": True, "false": False}.get("true" if value is None else value.lower())


def as_argument(flag: GivenFlag, action: argparse.Action) -> list[str]:
    """The one spelling that argparse and Beam's own parsers agree on."""
    if not _is_switch(action):
        return [f"{flag.name}={flag.value}"]
    if not _switch_value(flag.value):
        return []
    return [flag.name if action.nargs == 0 else f"{flag.name}=true"]


def config_file(path: str, known: KnownFlags) -> list[GivenFlag]:
    """The flags of a YAML file.

    Only true, false and null are read as YAML reads them. All else is text as it stands, so that a
    value means what it means on the command line: YAML would read 1:30 as 90, and no as false.
    Messages show the names of flags and nothing else of the file, which may be the corpus, named
    by mistake.
    """
    where = f"--config {path}"
    try:
        root = yaml.compose(storage.read(path), Loader=yaml.SafeLoader)
    except OSError as error:
        raise ConfigurationError(f"{where}: cannot be read ({type(error).__name__})") from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        undecodable = getattr(error, "encoding", "unicode") != "unicode"
        kind = "in UTF-8" if undecodable else "valid YAML"
        raise ConfigurationError(f"{where}{line}: not {kind}") from None
    if not isinstance(root, yaml.MappingNode):
        raise ConfigurationError(f"{where}: must be a mapping of flags to values")
    flags: list[GivenFlag] = []
    lines: dict[str, int] = {}
    for key, value in root.value:
        line = key.start_mark.line + 1
        here = f"{where}, line {line}: "
        name = f"--{key.value}" if isinstance(key, yaml.ScalarNode) else ""
        if name not in known:
            raise ConfigurationError(f"{here}unknown flag{_suggestion(name, known)}")
        if name == "--config":
            raise ConfigurationError(f"{here}a file of flags names no further file of flags")
        if name in lines:
            raise ConfigurationError(
                f"{here}{key.value} is in line {lines[name]} already; write it once"
            )
        lines[name] = line
        flags += _values(name, value, here, known[name])
    return flags


def _values(name: str, node: yaml.Node, here: str, action: argparse.Action) -> list[GivenFlag]:
    """What a file says of a flag: nothing where it says null, several values for some lists."""
    if isinstance(node, yaml.SequenceNode):
        items = [_plain_value(item) for item in node.value]
        if not all(isinstance(item, str) for item in items):
            raise ConfigurationError(f"{here}{name[2:]} must be a single value or a list of them")
        if _may_be_repeated(action):
            return [GivenFlag(name, str(item), here) for item in items]
        if any("," in str(item) for item in items):
            raise ConfigurationError(f"{here}an item of {name[2:]} must not hold a comma")
        return [GivenFlag(name, ",".join(map(str, items)), here)]
    value = _plain_value(node)
    if value is _NESTED:
        raise ConfigurationError(f"{here}{name[2:]} must be a single value or a list of them")
    if value is None:
        return []
    if isinstance(value, bool):
        if not _is_switch(action):
            raise ConfigurationError(
                f"{here}{name[2:]} takes a value and is no switch; quote the word if it is meant "
                "as text, or leave the line out"
            )
        value = str(value)
    return [GivenFlag(name, str(value), here)]


_NESTED = object()
_YAML_WORDS = {"": None, "~": None, "null": None, "true": True, "false": False}


def _plain_value(node: yaml.Node) -> object:
    """A value as text, plain true, false and null as what they are; _NESTED for anything else."""
    if not isinstance(node, yaml.ScalarNode):
        return _NESTED
    return node.value if node.style else _YAML_WORDS.get(node.value.lower(), node.value)
