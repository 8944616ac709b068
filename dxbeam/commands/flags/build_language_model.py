"""Flags of dxbeam build-language-model."""

from __future__ import annotations

import argparse
from typing import ClassVar

from apache_beam.options.pipeline_options import PipelineOptions

from dxbeam.commands.flags import flag_groups
from dxbeam.commands.flags.arguments import count, count_or_none
from dxbeam.commands.flags.flag_groups import flag_group
from dxbeam.commands.flags.sanitize import TEXTS


class BuildLanguageModelOptions(PipelineOptions):
    """Flags of dxbeam build-language-model, besides those that it shares with dxbeam sanitize.

    Attributes:
      command: the launcher's name.
      needed: flags, without dashes, that must be given.
      shared: flags of dxbeam sanitize that it takes too.
    """

    command: ClassVar[str] = "build-language-model"
    needed: ClassVar[tuple[str, ...]] = ("vocabulary", "output")
    shared: ClassVar[tuple[str, ...]] = (*TEXTS, "--vocabulary")

    @classmethod
    def _add_argparse_args(cls, parser: argparse.ArgumentParser) -> None:
        group = flag_group(parser, flag_groups.LANGUAGE_MODEL)
        group.add_argument(
            "--order",
            type=count,
            default=2,
            metavar="2|3",
            help="how many words the model looks at, the next one included: pairs (2, default) or "
            "triples (3). This is the order of an n-gram model; --orders of build-vocabulary is "
            "about something else, rankings of the words for diffractor",
        )
        group.add_argument(
            "--prune",
            type=count_or_none,
            default=0,
            metavar="N",
            help="leave out pairs and triples that occur N times or less (default 0: keep all)",
        )
        group.add_argument(
            "--held_out",
            type=float,
            default=0.05,
            metavar="SHARE",
            help="share of the documents that are left out of the model, to measure its perplexity "
            "on them (default 0.05)",
        )
        group.add_argument(
            "--arpa",
            metavar="FILE",
            help="instead of --input: a published model, as KenLM and SRILM write it; local or "
            "gs://, plain or .gz. Words outside the vocabulary become the unknown word",
        )
        group.add_argument(
            "--unseen_mass",
            type=float,
            default=0.001,
            metavar="SHARE",
            help="with --arpa, the probability that is shared by all words of the vocabulary that "
            "the file lacks (default 0.001)",
        )
