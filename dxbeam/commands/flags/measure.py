"""Flags of dxbeam measure."""

from __future__ import annotations

import argparse
from typing import ClassVar

from apache_beam.options.pipeline_options import PipelineOptions

from dxbeam.commands.flags import flag_groups
from dxbeam.commands.flags.arguments import count
from dxbeam.commands.flags.flag_groups import flag_group
from dxbeam.commands.flags.sanitize import TEXTS


class MeasureOptions(PipelineOptions):
    """Flags of dxbeam measure, besides those that it shares with dxbeam sanitize.

    Attributes:
      command: the launcher's name.
      needed: flags, without dashes, that must be given.
      shared: flags of dxbeam sanitize that it takes too.
    """

    command: ClassVar[str] = "measure"
    needed: ClassVar[tuple[str, ...]] = ("vocabulary", "output")
    shared: ClassVar[tuple[str, ...]] = (
        *TEXTS,
        "--vocabulary",
        "--importance",
        "--decode",
        "--decode_loss",
        "--language_model",
    )

    @classmethod
    def _add_argparse_args(cls, parser: argparse.ArgumentParser) -> None:
        group = flag_group(parser, flag_groups.MEASURE)
        group.add_argument(
            "--mechanisms",
            default="laplace",
            metavar="NAMES",
            help="mechanisms to measure, such as laplace,santext, or all (for frontier, all that "
            "need no consent); with parameters, such as gaussian:delta=1e-6:distance=5; "
            "of santext and tem these include base, base_exponent and constant_scan, and of all "
            "that can be decoded decode and decode_loss, which dxbeam sanitize takes as flags "
            "(default laplace)",
        )
        group.add_argument(
            "--epsilons",
            default="auto",
            metavar="GRID",
            help="1:70 or 0.5:6:0.1 (first, last, step) or 1,2,5, the same for all mechanisms; "
            "auto finds for each the range in which words begin to come out as themselves "
            "(default auto)",
        )
        group.add_argument(
            "--rank_cs",
            default="",
            metavar="NUMBERS",
            help="values of c of rank resampling, such as 0.02,0.04, each tried besides none, or "
            "'none' (default: none for measure, 19 values from 0.001 to 1 for calibrate)",
        )
        group.add_argument(
            "--words",
            type=count,
            default=5000,
            metavar="N",
            help="how many words are tried (default 5000): different words of the vocabulary, or "
            "with --input words drawn from the corpus, each as often as it occurs there. calibrate "
            "chooses on one half of them and verifies on the other",
        )
        group.add_argument(
            "--repeats",
            type=count,
            default=20,
            metavar="R",
            help="how often each of 100 words of the vocabulary is released for N_w and S_w; not "
            "done with --input, as it names the words (default 20)",
        )
        group.add_argument(
            "--seed",
            type=int,
            default=0,
            metavar="N",
            help="of the sample of words and of their noise; nothing is released (default 0)",
        )
