"""Flags of dxbeam audit."""

from __future__ import annotations

import argparse
from typing import ClassVar

from apache_beam.options.pipeline_options import PipelineOptions

from dxbeam.commands.flags import flag_groups
from dxbeam.commands.flags.arguments import count
from dxbeam.commands.flags.flag_groups import flag_group


class AuditOptions(PipelineOptions):
    """Flags of dxbeam audit, besides those that it shares with dxbeam sanitize.

    Attributes:
      command: the launcher's name.
      needed: flags, without dashes, that must be given.
      shared: flags of dxbeam sanitize that it takes too.
      refused: flags of every other launcher that it does not take.
      meanings: what some of those that it shares mean here.
    """

    command: ClassVar[str] = "audit"
    needed: ClassVar[tuple[str, ...]] = ()
    shared: ClassVar[tuple[str, ...]] = (
        "--mechanism",
        "--epsilon",
        "--parameters",
        "--importance",
        "--base",
        "--base_exponent",
        "--constant",
        "--rank_c",
        "--decode",
        "--decode_loss",
    )
    refused: ClassVar[tuple[str, ...]] = (
        "--output",  # it writes --report only
        "--search",  # it tries them all
    )
    meanings: ClassVar[dict[str, str]] = {
        "--decode": "audit whole documents that are read by a language model, which the audit "
        "makes up: prior or context, as in dxbeam sanitize (default nearest: what is drawn)",
        "--decode_loss": "with --decode prior or context: 'word' (default) or 'distance', as in "
        "dxbeam sanitize",
    }

    @classmethod
    def _add_argparse_args(cls, parser: argparse.ArgumentParser) -> None:
        group = flag_group(parser, flag_groups.AUDIT)
        group.add_argument(
            "--runs", type=count, default=1, metavar="N", help="how many whole audits (default 1)"
        )
        group.add_argument(
            "--samples",
            default="standard",
            metavar="SIZE",
            help="standard (default), or small for many runs; the false-alarm rate is the same",
        )
        group.add_argument(
            "--report",
            metavar="FILE",
            help="where to write the report, local or gs:// (default audit.json, or where that is "
            "there already audit-2.json, and so on)",
        )
