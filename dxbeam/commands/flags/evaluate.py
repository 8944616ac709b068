"""Flags of dxbeam evaluate."""

from __future__ import annotations

import argparse
from typing import ClassVar

from apache_beam.options.pipeline_options import PipelineOptions

from dxbeam.commands.flags import flag_groups
from dxbeam.commands.flags.arguments import count
from dxbeam.commands.flags.flag_groups import flag_group


class EvaluateOptions(PipelineOptions):
    """Flags of dxbeam evaluate, besides those that it shares with dxbeam sanitize.

    Attributes:
      command: the launcher's name.
      needed: flags, without dashes, that must be given.
      shared: flags of dxbeam sanitize that it takes too.
      refused: flags of every other launcher that it does not take.
      meanings: what some of those that it shares mean here.
    """

    command: ClassVar[str] = "evaluate"
    needed: ClassVar[tuple[str, ...]] = ("original", "released", "output")
    shared: ClassVar[tuple[str, ...]] = (
        "--input_format",
        "--document_per",
        "--text_field",
        "--id_field",
        "--encoding",
        "--delimiter",
        "--quotes",
        "--columns",
        "--group_by",
        "--largest_document",
        "--allow_unreadable_files",
        "--vocabulary",
        "--language_model",
        "--key_uri",
    )
    refused: ClassVar[tuple[str, ...]] = ("--search",)  # it looks for no nearest words
    meanings: ClassVar[dict[str, str]] = {
        "--language_model": "what dxbeam build-language-model wrote for this vocabulary, local or "
        "gs://, or 'demo' with the demo vocabulary: by its frequencies rare words are counted "
        "separately, and texts get a perplexity (default: neither). Take another than a decoder "
        "read with, as text is likely under the model that chose it",
    }

    @classmethod
    def _add_argparse_args(cls, parser: argparse.ArgumentParser) -> None:
        group = flag_group(parser, flag_groups.EVALUATION)
        group.add_argument(
            "--original",
            metavar="GLOB",
            help="files of the corpus as it was, what --input of dxbeam sanitize named",
        )
        group.add_argument(
            "--released",
            metavar="DIR",
            help="the release, what --output of dxbeam sanitize named; or several releases of the "
            "corpus, separated by commas or as a glob of their directories, which are compared "
            "side by side",
        )
        group.add_argument(
            "--task",
            metavar="FIELD",
            help="a field of the corpus with a class label: how well do classifiers learn it from "
            "the released text (default: none)",
        )
        group.add_argument(
            "--attack",
            metavar="FIELD",
            help="a field of the corpus with what the release should hide, such as the author: how "
            "well do classifiers tell it from the released text (default: none)",
        )
        group.add_argument(
            "--reidentify",
            type=count,
            metavar="N",
            help="look up each of N released documents among the N originals, and among the texts "
            "of the release before it in the list; all documents where there are fewer. One worker "
            "holds some 20 kilobytes a document and takes time in the square of N (default: do "
            "not)",
        )
        group.add_argument(
            "--entities",
            metavar="FIELD",
            help="a field of the corpus, a string with the JSON of a list of [start, end, class] "
            "in characters of the text, such as names that a tagger marked: how many stay as they "
            "were (default: none)",
        )
