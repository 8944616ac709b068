"""Flags of dxbeam decode."""

from __future__ import annotations

import argparse
from typing import ClassVar

from apache_beam.options.pipeline_options import PipelineOptions

from dxbeam.commands.flags import flag_groups
from dxbeam.commands.flags.flag_groups import flag_group


class DecodeOptions(PipelineOptions):
    """Flags of dxbeam decode, besides those that it shares with dxbeam sanitize.

    Attributes:
      command: the launcher's name.
      needed: flags, without dashes, that must be given.
      shared: flags of dxbeam sanitize that it takes too.
      meanings: what some of them mean here.
    """

    command: ClassVar[str] = "decode"
    needed: ClassVar[tuple[str, ...]] = ("release", "vocabulary", "language_model", "output")
    shared: ClassVar[tuple[str, ...]] = (
        "--vocabulary",
        "--importance",
        "--decode",
        "--decode_loss",
        "--language_model",
        "--truecase",
        "--compression",
        "--num_shards",
    )
    meanings: ClassVar[dict[str, str]] = {
        "--vocabulary": "the vocabulary that the release was made with, local or gs://, or 'demo'",
        "--importance": "the file of word weights that the release was made with, if there was one "
        "(default: none)",
        "--decode": "context: the words of a sentence are read together (default). prior: each by "
        "itself, by the language model's frequencies",
        "--language_model": "what dxbeam build-language-model wrote for this vocabulary, local or "
        "gs://, or 'demo' with the demo vocabulary. It must be public: one made from the private "
        "corpus voids the guarantee",
        "--decode_loss": "which candidate is written: the most probable 'word' (default), or by "
        "'distance' the one nearest to the mean of all, weighted by their probability",
        "--truecase": "put capitals into the decoded text as public text has them, by "
        "--language_model and the decoded words only",
        "--num_shards": "number of output files (default: as the workers happen to write)",
    }

    @classmethod
    def _add_argparse_args(cls, parser: argparse.ArgumentParser) -> None:
        flag_group(parser, flag_groups.CORPUS).add_argument(
            "--release",
            metavar="DIR",
            help="the release to decode, what --output of dxbeam sanitize named; the flag's name "
            "may be left out where it is the first argument",
        )
