"""What ``dxbeam build-vocabulary`` is asked for, and what of a vocabulary needs no Beam."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import faiss
import numpy as np
from apache_beam.options.pipeline_options import PipelineOptions

from dxbeam import storage
from dxbeam.commands import launch, table_progress
from dxbeam.commands.flags.building import BuildVocabularyOptions
from dxbeam.commands.flags.output import OutputOptions
from dxbeam.commands.options import require
from dxbeam.errors import ConfigurationError
from dxbeam.mechanisms.sampling.cluster_choice import checked_cluster_size
from dxbeam.mechanisms.sampling.index_recall import measure_recall
from dxbeam.mechanisms.sampling.order_choice import checked_orders
from dxbeam.release import claim
from dxbeam.space.artifact import artifact, table_pieces
from dxbeam.space.artifact import manifest as artifact_manifest
from dxbeam.space.artifact.artifact import WordsAndVectors
from dxbeam.space.embeddings.reader import ReadingReport, read_embeddings
from dxbeam.space.search.backends.approximate_index import EXACT, build_index, check_index
from dxbeam.space.vocabulary.clusters import clusters
from dxbeam.space.vocabulary.word_order import word_orders


def check(options: PipelineOptions) -> str:
    """The plan as a person reads it; refuses all that can be known to be wrong before a run.

    A dry run and a real one both begin with it.
    """
    flags, output = options.view_as(BuildVocabularyOptions), options.view_as(OutputOptions).output
    require(flags, "embeddings")
    require(options.view_as(OutputOptions), "output")
    claim.check_empty(output)
    if flags.table_pieces and storage.join(flags.table_pieces, "").startswith(
        storage.join(output, "")
    ):
        raise ConfigurationError(
            f"`table_pieces` {flags.table_pieces} is in `output`, which must be empty when the "
            "build is started again; choose a place next to it"
        )
    if flags.clusters is not None:
        checked_cluster_size(flags.clusters)
    if flags.orders is not None:
        checked_orders(flags.orders)
    report = ReadingReport()
    first = next(
        read_embeddings(
            flags.embeddings, file_format=flags.embeddings_format, max_words=1, report=report
        )
    )
    dimensions = first.vectors.shape[1]
    check_index(flags.index_factory, flags.index_parameters, dimensions)
    return (
        f"Plan\n  read   {report.source}: {report.file_format}, {dimensions} dimensions\n"
        f"  index  {flags.index_factory}\n  write  {output}\nNothing was written (--dry_run)."
    )


def store_words(
    options: BuildVocabularyOptions, output: str, report: ReadingReport
) -> WordsAndVectors:
    """Streams words and vectors from the embedding file to ``output``."""
    dtype = np.float16 if options.vector_dtype == "float16" else np.float32
    largest = np.finfo(dtype).max

    def chunks() -> Iterator[tuple[list[str], Any]]:
        reading = read_embeddings(
            options.embeddings,
            file_format=options.embeddings_format,
            max_words=options.max_words,
            lowercase=options.lowercase,
            report=report,
        )
        for chunk in reading:
            if (np.abs(chunk.vectors) > largest).any():
                raise ConfigurationError(
                    f"--vector_dtype {options.vector_dtype} holds values up to {largest:,.0f}, and "
                    f"{options.embeddings} has larger ones; leave it out"
                )
            yield chunk.words, chunk.vectors

    if storage.is_local(output):
        return artifact.write_words_and_vectors(chunks(), Path(output), dtype)
    with tempfile.TemporaryDirectory() as local:
        shape = artifact.write_words_and_vectors(chunks(), Path(local), dtype)
        for path in Path(local).iterdir():
            storage.copy(str(path), storage.join(output, path.name))
    return shape


def store_index(
    output: str, shape: WordsAndVectors, factory: str, parameters: str
) -> dict[str, Any]:
    """Builds the FAISS index that was asked for; what the manifest should say of it."""
    if factory == EXACT:
        return {"index": {"factory": EXACT, "exact": True}}
    vocabulary = artifact.open_draft(output, shape.digest)
    index = build_index(vocabulary, factory, parameters)
    with tempfile.TemporaryDirectory() as local:
        path = str(Path(local) / artifact_manifest.INDEX)
        faiss.write_index(index, path)
        storage.copy(path, storage.join(output, artifact_manifest.INDEX))
    recall = measure_recall(vocabulary, index)
    facts = {"factory": factory, "parameters": parameters, "exact": False}
    return {"index": {**facts, "recall_by_epsilon": recall}}


def store_places(flags: BuildVocabularyOptions, output: str, shape: WordsAndVectors) -> None:
    """Makes the clusters and orders that were asked for."""
    tables: dict[str, Any] = {}
    if flags.clusters or flags.orders:
        print("Now their clusters and orders", flush=True)
        vocabulary = artifact.open_draft(output, shape.digest)
    if flags.clusters:
        tables[artifact_manifest.CLUSTERS] = clusters(vocabulary, flags.clusters)
    if flags.orders:
        tables[artifact_manifest.ORDERS] = word_orders(vocabulary, flags.orders)
    with tempfile.TemporaryDirectory() as local:
        for name, array in tables.items():
            np.save(Path(local) / name, array)
            storage.copy(str(Path(local) / name), storage.join(output, name))


def estimate(options: PipelineOptions, output: str, shape: WordsAndVectors, pieces: str) -> str:
    """How long the neighbour table will take, and which smaller sizes may serve."""
    if shape.words < table_progress.FEW_WORDS:
        return "Now their neighbours"
    depth = options.view_as(BuildVocabularyOptions).neighbors
    return table_progress.estimate(
        output,
        shape,
        depth,
        launch.search_threads(options),
        launch.local_workers(options),
        launch.backend(options),
        table_progress.words_done(pieces, shape.words, depth),
    ).sentence


def delete_pieces(flags: BuildVocabularyOptions, output: str, shape: WordsAndVectors) -> None:
    """Deletes the pieces of the neighbour table, wherever they are."""
    storage.delete(storage.join(output, artifact_manifest.PIECES))
    if flags.table_pieces:
        storage.delete(table_pieces.folder_of(flags.table_pieces, shape, flags.neighbors))
