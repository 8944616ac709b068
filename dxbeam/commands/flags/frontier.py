"""Flags of dxbeam frontier."""

from __future__ import annotations

import argparse
from typing import ClassVar

from apache_beam.options.pipeline_options import PipelineOptions

from dxbeam.commands.flags import flag_groups
from dxbeam.commands.flags.arguments import count
from dxbeam.commands.flags.flag_groups import flag_group
from dxbeam.commands.flags.sanitize import TEXTS


class FrontierOptions(PipelineOptions):
    """Flags of dxbeam frontier, besides those that it shares with other commands.

    Attributes:
      command: the launcher's name.
      needed: flags, without dashes, that must be given.
      shared: flags of dxbeam sanitize, measure and evaluate that it takes too.
    """

    command: ClassVar[str] = "frontier"
    needed: ClassVar[tuple[str, ...]] = ("vocabulary", "output")
    shared: ClassVar[tuple[str, ...]] = (
        *TEXTS,
        "--vocabulary",
        "--importance",
        "--mechanisms",
        "--epsilons",
        "--rank_cs",
        "--seed",
        "--language_model",
        "--task",
    )

    @classmethod
    def _add_argparse_args(cls, parser: argparse.ArgumentParser) -> None:
        group = flag_group(parser, flag_groups.ATTACK)
        group.add_argument(
            "--public_input",
            metavar="GLOB",
            help="public text from which attackers know how frequent words are, in the format of "
            "the corpus (default: they take all words for equally frequent)",
        )
        group.add_argument(
            "--attacked_words",
            type=count,
            default=1000,
            metavar="N",
            help="how many words are released and attacked at each point (default 1000)",
        )
        group.add_argument(
            "--points",
            type=count,
            default=10,
            metavar="N",
            help="at how many values of epsilon a mechanism is measured where --epsilons is auto; "
            "they lie closer together where few words stay (default 10)",
        )
        group.add_argument(
            "--pairs",
            type=count,
            default=20_000,
            metavar="M",
            help="how many words an attacker releases itself to learn a mechanism that is no "
            "formula (default 20000)",
        )
        group.add_argument(
            "--context_documents",
            type=count,
            metavar="N",
            help="how many documents of the corpus are read with context at each point, the first "
            "200 known words of each; which words follow which is learnt from --public_input "
            "(default: none)",
        )
        group.add_argument(
            "--attackers",
            choices=["learned"],
            help="further attackers on --context_documents. learned: a recurrent network that is "
            "trained at each point, on --public_input released under the same setting, in minutes "
            "(needs dxbeam[neural]; default: none)",
        )
        group.add_argument(
            "--most_risk",
            type=float,
            default=0.2,
            metavar="SHARE",
            help="the share of words that may be recovered, for which settings are recommended "
            "(default 0.2)",
        )
        flag_group(parser, flag_groups.EVALUATION).add_argument(
            "--task_documents",
            type=count,
            default=1000,
            metavar="N",
            help="how many documents of the corpus are released at each point for --task, the "
            "first 200 known words of each (default 1000)",
        )
