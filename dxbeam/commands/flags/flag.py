"""A flag, the headings under which --help lists flags, and the classes of flags."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from apache_beam.options.pipeline_options import PipelineOptions

CORPUS = "corpus"
STREAM = "stream"
EMBEDDINGS = "embeddings"
VOCABULARY = "vocabulary"
INDEX = "search index"
LANGUAGE_MODEL = "language model"
VECTORS = "vectors"
MECHANISM = "mechanism"
AUDIT = "audit"
TARGET = "target"
MEASURE = "measurement"
ATTACK = "attackers"
EVALUATION = "evaluation"
DECODING = "decoding"
KEY = "secret key"
OUTPUT = "output"
LEDGER = "ledger"
REPAIR = "repair by a language model"
RUN = "run"

HEADINGS = (
    CORPUS, STREAM, EMBEDDINGS, VOCABULARY, INDEX, LANGUAGE_MODEL, VECTORS, TARGET, MECHANISM,
    AUDIT, MEASURE, ATTACK, EVALUATION, DECODING, KEY, OUTPUT, LEDGER, REPAIR, RUN,
)  # fmt: skip
"""In the order of --help."""


class Flag(NamedTuple):
    """A flag of dxbeam's.

    Attributes:
      name: without dashes.
      metavar: what stands for its value in --help; "" for its choices, None for a switch.
      help: what it means, and what holds where it is left out.
      default: its value where it is left out.
      type: reads the value.
      choices: the values that it may have; None for any.
    """

    name: str
    metavar: str | None
    help: str
    default: Any = None
    type: Callable[[str], Any] | None = None
    choices: Sequence[str] | None = None


def one_of(
    name: str, metavar: str, help: str, choices: Mapping[str, str], default: str, rest: str = ""
) -> Flag:
    """A flag whose values are named, and explained in its help between its first and last words."""
    explained = "; ".join(f"{value}: {what}" for value, what in choices.items())
    return Flag(name, metavar, f"{help} (default {default}). {explained}{rest}", default)


Options = TypeVar("Options", bound=PipelineOptions)


def topic(heading: str, *flags: Flag) -> Callable[[type[Options]], type[Options]]:
    """Decorates a class of Beam's options: it declares these flags, under a heading of --help."""

    def decorate(options: type[Options]) -> type[Options]:
        before = options.__dict__.get("_add_argparse_args")  # of another heading

        def add_all(cls: type[Options], parser: argparse.ArgumentParser) -> None:
            _add(parser, heading, flags)
            if before is not None:
                before.__get__(None, cls)(parser)

        options._add_argparse_args = classmethod(add_all)
        return options

    return decorate


def _add(parser: argparse.ArgumentParser, heading: str, flags: Sequence[Flag]) -> None:
    group = next((group for group in parser._action_groups if group.title == heading), None)
    if group is None:
        group = parser.add_argument_group(heading)
    for flag in flags:
        if flag.metavar is None:
            group.add_argument(f"--{flag.name}", action="store_true", help=flag.help)
            continue
        rest: dict[str, Any] = {"type": flag.type} if flag.type else {}
        rest |= {"metavar": flag.metavar} if flag.metavar else {}
        rest |= {"choices": flag.choices} if flag.choices else {}
        group.add_argument(f"--{flag.name}", default=flag.default, help=flag.help, **rest)
