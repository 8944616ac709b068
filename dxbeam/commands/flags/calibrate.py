"""Flags of dxbeam calibrate."""

from __future__ import annotations

import argparse
from typing import ClassVar

from apache_beam.options.pipeline_options import PipelineOptions

from dxbeam.commands.flags import flag_groups
from dxbeam.commands.flags.flag_groups import flag_group
from dxbeam.commands.flags.sanitize import TEXTS


class CalibrateOptions(PipelineOptions):
    """Flags of dxbeam calibrate, besides those that it shares with sanitize and measure.

    Attributes:
      command: the launcher's name.
      needed: flags, without dashes, that must be given.
      shared: flags of dxbeam sanitize and dxbeam measure that it takes too.
    """

    command: ClassVar[str] = "calibrate"
    needed: ClassVar[tuple[str, ...]] = ("vocabulary", "output")
    shared: ClassVar[tuple[str, ...]] = (
        *TEXTS,
        "--vocabulary",
        "--mechanism",
        "--parameters",
        "--allow_unsound",
        "--decode",
        "--decode_loss",
        "--language_model",
        "--epsilons",
        "--rank_cs",
        "--words",
        "--seed",
    )

    @classmethod
    def _add_argparse_args(cls, parser: argparse.ArgumentParser) -> None:
        group = flag_group(parser, flag_groups.TARGET)
        group.add_argument(
            "--at_most",
            default="",
            metavar="SHARE=NUMBER,…",
            help="shares of words that must not be larger, such as distant=0.2,original=0.5; "
            "shares are original (the word itself), close (one of its 100 nearest neighbours) and "
            "distant (any other). One target at least is needed (default: none)",
        )
        group.add_argument(
            "--at_least",
            default="",
            metavar="SHARE=NUMBER,…",
            help="shares of words that must not be smaller, such as close=0.3 (default: none)",
        )
