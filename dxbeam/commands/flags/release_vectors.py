"""Flags of dxbeam release-vectors."""

from __future__ import annotations

import argparse
from typing import ClassVar

from apache_beam.options.pipeline_options import PipelineOptions

from dxbeam.commands.flags import flag_groups
from dxbeam.commands.flags.arguments import count, number
from dxbeam.commands.flags.flag_groups import flag_group
from dxbeam.vectors.configuration import UNITS
from dxbeam.vectors.projections import DEFAULT_SEED, KINDS


class ReleaseVectorsOptions(PipelineOptions):
    """Flags of dxbeam release-vectors, besides those that it shares with dxbeam sanitize.

    Attributes:
      command: the launcher's name.
      needed: flags, without dashes, that must be given.
      shared: flags of dxbeam sanitize that it takes too.
      refused: flags of every other launcher that it does not take.
    """

    command: ClassVar[str] = "release-vectors"
    needed: ClassVar[tuple[str, ...]] = ("input", "epsilon", "output")
    shared: ClassVar[tuple[str, ...]] = (
        "--input",
        "--input_format",
        "--document_per",
        "--text_field",
        "--id_field",
        "--encoding",
        "--delimiter",
        "--quotes",
        "--columns",
        "--keep_fields",
        "--column_types",
        "--largest_document",
        "--allow_unreadable_files",
        "--max_dead_letters",
        "--vocabulary",
        "--epsilon",
        "--key_uri",
        "--num_shards",
        "--metrics_output",
    )
    refused: ClassVar[tuple[str, ...]] = ("--search",)  # it looks for no nearest words

    @classmethod
    def _add_argparse_args(cls, parser: argparse.ArgumentParser) -> None:
        group = flag_group(parser, flag_groups.VECTORS)
        group.add_argument(
            "--unit",
            default="text",
            metavar="UNIT",
            help="what a released vector stands for (default text). "
            + "; ".join(f"{name}: {what}" for name, what in UNITS.items())
            + ". --vocabulary is needed for word and text",
        )
        group.add_argument(
            "--vector_field",
            default="vector",
            metavar="FIELD",
            help="with --unit vector, the field or column that holds the vector (default vector)",
        )
        group.add_argument(
            "--dimensions",
            type=count,
            metavar="N",
            help="with --unit vector, how many numbers a vector has (default: as many as the "
            "vocabulary's)",
        )
        group.add_argument(
            "--projection",
            default="pca",
            metavar="KIND",
            help="how dimensions are reduced (default pca). "
            + "; ".join(f"{name}: {what}" for name, what in KINDS.items()),
        )
        group.add_argument(
            "--projected_dimensions",
            type=count,
            default=50,
            metavar="M",
            help="dimensions of a released vector (default 50; with --projection none, all)",
        )
        group.add_argument(
            "--projection_seed",
            default=DEFAULT_SEED,
            metavar="TEXT",
            help=f"public seed of a random projection (default {DEFAULT_SEED}); the same seed "
            "gives the same projection, and it is released",
        )
        group.add_argument(
            "--sensitivity",
            metavar="METHOD",
            help="bound on how much the projection stretches distances. exact: over all pairs of "
            "words (default for words); spectral: for all vectors (default for texts and vectors); "
            "published: 1 + beta with probability 1 - delta (PrivEmb)",
        )
        group.add_argument(
            "--projection_delta",
            type=number,
            default=1e-6,
            metavar="DELTA",
            help="delta of --sensitivity published (default 1e-6)",
        )
