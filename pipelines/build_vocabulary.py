r"""Turns an embedding file into a vocabulary artifact.

    dxbeam build-vocabulary --embeddings glove.840B.300d.zip --lowercase \
        --output vocabularies/glove

reads GloVe text, word2vec text or binary, or fastText .vec; plain, .gz or in a .zip; local or
gs://. It stores the vectors, computes for each word its nearest neighbours and the radius within
which a released word counts as close, and writes manifest.json last. Neighbours are computed as a
Beam pipeline, so --runner and its flags spread a large vocabulary over workers; these must then be
able to read and write --output. Their time grows with the square of the number of words. Before it
starts, the command says about how long it will take, and meanwhile how much of that is left.

    --max_words 100000            keep the first words of the file, usually the most frequent;
                                  docs/guides/vocabulary-size.md says how many are enough
    --index_factory IVF256,Flat --index_parameters nprobe=32
                                  search approximately; see the recall in the manifest
    --vector_dtype float16        half the size
    --neighbors 0                 no neighbours: to measure a large vocabulary without waiting
    --clusters 20 --orders 1      what custext and diffractor draw from, so that no process makes it
    --table_pieces DIR            so that a build that was stopped goes on where it was

The embedding file must be public: a vocabulary made from the private corpus voids the guarantee.
"""

from __future__ import annotations

import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import apache_beam as beam
import faiss
import numpy as np
from apache_beam.options.pipeline_options import PipelineOptions, TestOptions

from dxbeam import stopping, storage
from dxbeam.commands import launch, table_progress
from dxbeam.commands.flags.building import BuildVocabularyOptions
from dxbeam.commands.flags.output import OutputOptions
from dxbeam.commands.flags.registry import BUILD_VOCABULARY
from dxbeam.commands.options import parse, require
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
from dxbeam.space.vocabulary.remarks import remarks
from dxbeam.space.vocabulary.word_order import word_orders
from dxbeam.transforms.neighbor_table import WriteNeighborTable


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


def build(options: PipelineOptions, shape: WordsAndVectors, pieces: str) -> beam.Pipeline:
    """Assembles the computation of the neighbour table; nothing runs yet."""
    pipeline = launch.new_pipeline(options)
    pipeline | "WriteNeighborTable" >> WriteNeighborTable(
        options.view_as(OutputOptions).output,
        shape,
        options.view_as(BuildVocabularyOptions).neighbors,
        pieces,
        launch.search_threads(options),
        launch.backend(options),
    )
    return pipeline


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


def check(options: PipelineOptions) -> str:
    """Refuses everything that can be known to be wrong before a run; writes nothing.

    A dry run and a real one both begin with it.

    Returns:
      the plan as a person reads it.

    Raises:
      DxbeamError: says what it is.
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


def store_table(options: PipelineOptions, shape: WordsAndVectors) -> None:
    """Computes the neighbour table, says how long that takes, and writes it to the output."""
    flags, output = options.view_as(BuildVocabularyOptions), options.view_as(OutputOptions).output
    parent = flags.table_pieces or storage.join(output, artifact_manifest.PIECES)
    pieces = table_pieces.folder_of(parent, shape, flags.neighbors)
    print(_estimate(options, output, shape, pieces), flush=True)
    with table_progress.reported(pieces, shape.words, flags.neighbors):
        launch.run(build(options, shape, pieces))


def _estimate(options: PipelineOptions, output: str, shape: WordsAndVectors, pieces: str) -> str:
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


def _delete_pieces(flags: BuildVocabularyOptions, output: str, shape: WordsAndVectors) -> None:
    storage.delete(storage.join(output, artifact_manifest.PIECES))
    if flags.table_pieces:
        storage.delete(table_pieces.folder_of(flags.table_pieces, shape, flags.neighbors))


def build_vocabulary(argv: Sequence[str]) -> None:
    """Reads, stores, computes, and says what was written."""
    options = parse(argv, BUILD_VOCABULARY, __doc__ or "")
    planned = check(options)
    if options.view_as(TestOptions).dry_run:
        print(planned)
        return
    flags, output = options.view_as(BuildVocabularyOptions), options.view_as(OutputOptions).output
    started, run = time.monotonic(), uuid.uuid4().hex
    report = ReadingReport()

    def abandon(stop_writers: stopping.StopWriters) -> None:
        if claim.holds(output, run):
            stop_writers()
            artifact.abandon(output)
            claim.let_go(output)

    with stopping.undone_on_failure(abandon):
        claim.take_fresh(output, run)
        shape = store_words(flags, output, report)
        print(f"Read {shape.words:,} words in {shape.dimensions} dimensions")
        if flags.neighbors:
            store_table(options, shape)
        store_places(flags, output, shape)
        index = store_index(output, shape, flags.index_factory, flags.index_parameters)
        source = {
            "name": report.source,
            "format": report.file_format,
            "sha256": storage.sha256(flags.embeddings.partition(".zip!")[0] + ".zip")[0]
            if ".zip!" in flags.embeddings
            else storage.sha256(flags.embeddings)[0],
            "duplicates": report.duplicates,
            "undecodable": report.undecodable,
            "unusable": report.unusable,
            "max_words": flags.max_words,
        }
        handle = artifact.write_manifest(
            output, shape, flags.lowercase, source, table=flags.neighbors > 0, **index
        )
        _delete_pieces(flags, output, shape)
        claim.let_go(output)
    print(
        f"Wrote a vocabulary of {handle.words:,} words to {output} in "
        f"{time.monotonic() - started:.0f} seconds; left out: {report.duplicates:,} duplicates, "
        f"{report.undecodable:,} words that are not UTF-8, {report.unusable:,} with white space or "
        "control characters"
    )
    if storage.is_local(output):  # elsewhere it would be copied here
        for remark in remarks(artifact.open_vocabulary(output)):
            print(f"Warning: {remark}")


if __name__ == "__main__":
    launch.main(build_vocabulary)
