"""Flags of dxbeam build-vocabulary."""

from __future__ import annotations

import argparse
from typing import ClassVar

from apache_beam.options.pipeline_options import PipelineOptions

from dxbeam.commands.flags import flag_groups
from dxbeam.commands.flags.arguments import count, count_or_none
from dxbeam.commands.flags.flag_groups import flag_group
from dxbeam.space.embeddings import reader as embeddings


class BuildVocabularyOptions(PipelineOptions):
    """Flags of dxbeam build-vocabulary.

    Attributes:
      command: the launcher's name.
      needed: flags, without dashes, that must be given.
    """

    command: ClassVar[str] = "build-vocabulary"
    needed: ClassVar[tuple[str, ...]] = ("embeddings", "output")

    @classmethod
    def _add_argparse_args(cls, parser: argparse.ArgumentParser) -> None:
        group = flag_group(parser, flag_groups.EMBEDDINGS)
        group.add_argument(
            "--embeddings",
            metavar="FILE",
            help="GloVe, word2vec or fastText file, local or gs://; plain, .gz, FILE.zip or "
            "FILE.zip!MEMBER",
        )
        group.add_argument(
            "--embeddings_format",
            default="auto",
            metavar="FORMAT",
            help=f"{', '.join(embeddings.FORMATS)}, or auto to find out (default auto)",
        )
        group.add_argument(
            "--max_words",
            type=count,
            metavar="N",
            help="keep the first N words of the file (default: all)",
        )
        group.add_argument(
            "--lowercase",
            action="store_true",
            help="lower-case the words, and later all text; of words that become equal the first "
            "is kept (default: words and text stay as they are)",
        )
        group = flag_group(parser, flag_groups.INDEX)
        group.add_argument(
            "--index_factory",
            default="Flat",
            metavar="FACTORY",
            help="FAISS factory string of the search index. Flat (default) searches exactly; an "
            "approximate index keeps the privacy but changes which words are released, and its "
            "recall goes into the manifest",
        )
        group.add_argument(
            "--index_parameters",
            default="",
            metavar="NAME=VALUE,…",
            help="FAISS search parameters of the index, such as nprobe=32 (default: FAISS's own, "
            "which are fast and miss many nearest words)",
        )
        group.add_argument(
            "--neighbors",
            type=count_or_none,
            default=256,
            metavar="K",
            help="neighbours stored per word, for rank resampling (default 256); deeper ranks are "
            "searched when they are drawn. 0 stores none and no close radii: quick to build, "
            "and searched for when needed",
        )
        group.add_argument(
            "--clusters",
            type=count,
            metavar="K",
            help="store the public clusters of K words that custext and cluster_response with "
            "cluster_size=K draw from (default: each process that needs them makes them)",
        )
        group.add_argument(
            "--orders",
            type=count,
            metavar="K",
            help="store the K public orders of the words that diffractor and diffractor_tem with "
            "orders=K draw from; not the order of a language model, which is --order of "
            "build-language-model (default: each process that needs them makes them)",
        )
        group = flag_group(parser, flag_groups.OUTPUT)
        group.add_argument(
            "--table_pieces",
            metavar="DIR",
            help="keep finished parts of the neighbour table below this directory or gs:// prefix, "
            "so that a build that was stopped goes on from them when it is started again; they "
            "are deleted once the vocabulary is complete (default: a stopped build starts anew)",
        )
        group.add_argument(
            "--vector_dtype",
            default="float32",
            choices=["float32", "float16"],
            help="how vectors are stored: float32 (default); or float16, which halves the files "
            "and is read into memory instead of mapped",
        )
